"""The guards that operations declare: a permission, any credential, a session, or nobody in particular."""

from tollhouse.audit import author
from tollhouse.audit.author import SYSTEM, Author
from tollhouse.callers import stepup, store
from tollhouse.callers.model import (
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
from tollhouse.callers.sessions import person_of
from tollhouse.callers.throttle import Meter
from tollhouse.kernel import scopes, tokens
from tollhouse.kernel.refusals import AuthenticationRequired, InvalidRequest
from tollhouse.web import cookies
from tollhouse.web.ask import Ask

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

    async def admit(self, ask: Ask) -> Caller:
        """Authentication 401, then too many requests 429, then suspension 403, then scope 403."""
        caller, suspension = await _credential(ask)
        ask.caller = caller
        author.asked_by(_author(ask, caller))
        _meter(ask, caller)
        if suspension is not None:
            raise suspension
        if self._wanted and not self._wanted & caller.scopes:
            raise MissingScope(self._any_of[0])
        return caller

    async def note_use(self, ask: Ask, caller: Caller) -> None:
        """The time of last successful use, at most once a minute."""
        if caller.use_is_stale:
            await store.note_use(ask.house.db, caller, ask.now)


class TestCredential(Credential):
    """The same of the test environment: for what the simulator does."""

    async def admit(self, ask: Ask) -> Caller:
        """As ever, and then 403 for live."""
        caller = await super().admit(ask)
        if caller.env.livemode:
            raise TestModeOnly
        return caller


class ApplicationCredential(Credential):
    """An access token. `confidential`: of a confidential client, because a public client's is in the hands of the payer."""

    def __init__(self, *any_of: str, confidential: bool = False) -> None:
        super().__init__(*any_of)
        self._confidential = confidential

    async def admit(self, ask: Ask) -> Caller:
        """As ever, and then 403 for an API key and, where that is asked for, for a public client."""
        caller = await super().admit(ask)
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

    async def admit(self, ask: Ask) -> Person:
        """Session 401 (or 303), then cross-origin 403, then suspension 403, then the content type 415."""
        if self._page:
            cookies.refuse_other_host(ask)
        person = await person_of(ask)
        if person is None:
            if self._page:
                raise SignInFirst
            raise AuthenticationRequired
        cookies.refuse_cross_origin(ask)
        if person.suspended and not self.while_suspended and ask.method not in cookies.SAFE:
            raise AccountSuspended
        return person

    async def reauthenticate(self, ask: Ask, caller: Person) -> Person:
        """The person, who authenticated recently: 403 for JSON, a page that asks for the password otherwise."""
        if self._page:
            return await stepup.reauthenticate(ask, caller)
        stepup.require_recent(caller, ask.now)
        return caller

    async def note_use(self, ask: Ask, caller: Person) -> None:
        """Nothing: the session itself notes when it was seen."""


class Anyone:
    """Nobody in particular. `own_forms` refuses what another site's form posts, cookie or not."""

    def __init__(self, label: str = "anyone", *, own_forms: bool = False, cookie: bool = False) -> None:
        self.label = label
        self._own_forms = own_forms
        self._cookie = cookie

    async def admit(self, ask: Ask) -> None:
        """Only the rules of host and origin, where cookies count at all."""
        if self._own_forms:
            cookies.refuse_other_host(ask)
        if self._own_forms or (self._cookie and cookies.session_id(ask) is not None):
            cookies.refuse_cross_origin(ask)

    async def note_use(self, ask: Ask, caller: None) -> None:
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


def _author(ask: Ask, caller: Caller) -> Author:
    """Whose deeds the request does."""
    if caller.client_id is not None:
        return author.application(ask, caller.client_id)
    return author.api_key(ask, caller.api_key_id) if caller.api_key_id is not None else SYSTEM


def _meter(ask: Ask, caller: Caller) -> None:
    """One more request of this key or connection."""
    settings = ask.house.settings
    credential = caller.grant_id or caller.api_key_id
    if settings.rate_limits and settings.rate_api_per_min and credential is not None:
        REQUESTS.take(credential, settings.rate_api_per_min, ask.now)


async def _credential(ask: Ask) -> tuple[Caller, store.Suspension | None]:
    bearer = ask.headers.getlist("authorization")
    keys = ask.headers.getlist("x-api-key")
    if len(bearer) > 1 or len(keys) > 1 or (bearer and keys):
        raise InvalidRequest("Send one credential: an API key or an Authorization header, once.")
    if keys:
        prefix = "th_live" if keys[0].startswith("th_live") else "th_test"
        found = (
            await store.by_api_key(ask.house.db, tokens.digest(keys[0]), ask.now) if tokens.intact(prefix, keys[0]) else None
        )
        if found is None:
            raise InvalidApiKey
        return found
    kind, _, token = bearer[0].partition(" ") if bearer else ("", "", "")
    if kind.lower() != "bearer":
        raise NoCredential
    token = token.strip(" ")
    found = await store.by_bearer(ask.house.db, tokens.digest(token), ask.now) if tokens.intact("that", token) else None
    if found is None:
        raise InvalidToken
    return found
