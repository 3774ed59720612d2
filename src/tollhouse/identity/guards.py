"""The guards that operations declare: a permission, any credential, a session, or nobody in particular."""

from tollhouse.audit import author
from tollhouse.audit.author import SYSTEM, Author
from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.identity import stepup, store
from tollhouse.identity.model import (
    AccountSuspended,
    ApplicationRequired,
    Caller,
    ConfidentialClientRequired,
    InvalidApiKey,
    InvalidToken,
    MissingScope,
    NoCredential,
    Person,
    SignInFirst,
    TestModeOnly,
)
from tollhouse.identity.sessions import person_of
from tollhouse.identity.throttle import Meter
from tollhouse.kernel import scopes, tokens
from tollhouse.kernel.errors import AuthenticationRequired, InvalidRequest

REQUESTS = Meter()


class Credential:
    """An API key or an access token that holds one of the scopes (any credential, when none is named)."""

    def __init__(self, *any_of: str) -> None:
        wanted = scopes.parse(any_of)
        if wanted is None:
            raise ValueError(f"{any_of} names no scope")
        self._any_of = any_of
        self._wanted = wanted
        self.label = " or ".join(any_of) or "any credential"

    async def admit(self, request: Request) -> Caller:
        """Authentication 401, then too many requests 429, then suspension 403, then scope 403."""
        caller, suspension = await _credential(request)
        request.caller = caller
        author.asked_by(_author(request, caller))
        _meter(request, caller)
        if suspension is not None:
            raise suspension
        if self._wanted and not self._wanted & caller.scopes:
            raise MissingScope(self._any_of[0])
        return caller

    async def record_use(self, request: Request, caller: Caller) -> None:
        """The time of last successful use, at most once a minute."""
        if caller.use_is_stale:
            await store.record_use(request.services.db, caller, request.now)


class TestCredential(Credential):
    """The same of the test environment: for what the simulator does."""

    async def admit(self, request: Request) -> Caller:
        """As ever, and then 403 for live."""
        caller = await super().admit(request)
        if caller.env.livemode:
            raise TestModeOnly
        return caller


class ApplicationCredential(Credential):
    """An access token. `confidential`: of a confidential client, because a public client's is in the hands of the payer."""

    def __init__(self, *any_of: str, confidential: bool = False) -> None:
        super().__init__(*any_of)
        self._confidential = confidential

    async def admit(self, request: Request) -> Caller:
        """As ever, and then 403 for an API key and, where that is asked for, for a public client."""
        caller = await super().admit(request)
        if caller.client_id is None:
            raise ApplicationRequired
        if self._confidential and caller.client_is_public:
            raise ConfidentialClientRequired
        return caller


class Session:
    """A person with a session. `page` sends others to sign in; JSON answers 401.

    A suspended merchant's people read, and change nothing. `while_suspended` marks the exceptions: ending sessions, revoking
    keys and grants, changing password or second factor.
    """

    def __init__(self, *, page: bool, while_suspended: bool = False) -> None:
        self._page = page
        self.while_suspended = while_suspended
        self.label = "session, suspended too" if while_suspended else "session"

    async def admit(self, request: Request) -> Person:
        """Session 401 (or 303), then cross-origin 403, then suspension 403, then the content type 415."""
        if self._page:
            cookies.require_own_host(request)
        person = await person_of(request)
        if person is None:
            if self._page:
                raise SignInFirst
            raise AuthenticationRequired
        cookies.require_same_origin(request)
        if person.suspended and not self.while_suspended and request.method not in cookies.SAFE:
            raise AccountSuspended
        return person

    async def reauthenticate(self, request: Request, caller: Person) -> Person:
        """The person, who authenticated recently: 403 for JSON, a page that asks for the password otherwise."""
        if self._page:
            return await stepup.reauthenticate(request, caller)
        stepup.require_recent(caller, request.now)
        return caller

    async def record_use(self, request: Request, caller: Person) -> None:
        """Nothing: the session itself notes when it was seen."""


class Anyone:
    """Nobody in particular. `own_forms` refuses what another site's form posts, cookie or not."""

    def __init__(self, label: str = "anyone", *, own_forms: bool = False, cookie: bool = False) -> None:
        self.label = label
        self._own_forms = own_forms
        self._cookie = cookie

    async def admit(self, request: Request) -> None:
        """Only the rules of host and origin, where cookies count at all."""
        if self._own_forms:
            cookies.require_own_host(request)
        if self._own_forms or (self._cookie and cookies.session_id(request) is not None):
            cookies.require_same_origin(request)

    async def record_use(self, request: Request, caller: None) -> None:
        """Nothing."""


def scope(*any_of: str) -> Credential:
    """A credential with one of these permissions; the first is the one a refusal names."""
    return Credential(*any_of)


any_credential = Credential()
signed_in = Session(page=False)
signed_in_page = Session(page=True)
signed_in_while_suspended = Session(page=False, while_suspended=True)
signed_in_page_while_suspended = Session(page=True, while_suspended=True)
anyone = Anyone()
"""Cookies do not count here: metadata, permissions, health, the checkout page."""
anyone_with_cookie = Anyone(cookie=True)
"""Sign-up, sign-in and sign-out by JSON: a cookie that comes along must come from our own pages."""
visitor = Anyone(own_forms=True)
"""Forms of pages for people without a session."""
client = Anyone("client authentication")
"""The token and revoke endpoints, which authenticate the application themselves, in the protocol's own order."""


def _author(request: Request, caller: Caller) -> Author:
    """Whose deeds the request does."""
    if caller.client_id is not None:
        return author.application(request, caller.client_id)
    return author.api_key(request, caller.api_key_id) if caller.api_key_id is not None else SYSTEM


def _meter(request: Request, caller: Caller) -> None:
    """One more request of this key or connection."""
    settings = request.services.settings
    credential = caller.grant_id or caller.api_key_id
    if settings.rate_limits and settings.rate_api_per_min and credential is not None:
        REQUESTS.take(credential, settings.rate_api_per_min, request.now)


async def _credential(request: Request) -> tuple[Caller, store.Suspension | None]:
    bearer = request.headers.getlist("authorization")
    keys = request.headers.getlist("x-api-key")
    if len(bearer) > 1 or len(keys) > 1 or (bearer and keys):
        raise InvalidRequest("Send one credential: an API key or an Authorization header, once.")
    if keys:
        prefix = "th_live" if keys[0].startswith("th_live") else "th_test"
        found = (
            await store.by_api_key(request.services.db, tokens.digest(keys[0]), request.now)
            if tokens.is_well_formed(prefix, keys[0])
            else None
        )
        if found is None:
            raise InvalidApiKey
        return found
    kind, _, token = bearer[0].partition(" ") if bearer else ("", "", "")
    if kind.lower() != "bearer":
        raise NoCredential
    token = token.strip(" ")
    found = (
        await store.by_bearer(request.services.db, tokens.digest(token), request.now)
        if tokens.is_well_formed("that", token)
        else None
    )
    if found is None:
        raise InvalidToken
    return found
