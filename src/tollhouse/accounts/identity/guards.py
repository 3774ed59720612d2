"""The guards of operations: an API credential with a scope, a session, or public access."""

from functools import partial

from msgspec import structs

from tollhouse.accounts.identity import dpop, members_store, operators, stepup, store
from tollhouse.accounts.identity.dashboard_mode import mode_of, remember_mode
from tollhouse.accounts.identity.jose import JoseError
from tollhouse.accounts.identity.model import (
    MODES,
    AccountSuspended,
    ApplicationRequired,
    Caller,
    ConfidentialClientRequired,
    InvalidApiKey,
    InvalidDpopToken,
    InvalidProof,
    InvalidToken,
    MissingScope,
    NetworkNotAllowed,
    NoCredential,
    Person,
    ProposalRequired,
    RoleForbidden,
    SecondFactorMissing,
    SignInFirst,
    TestModeOnly,
)
from tollhouse.accounts.identity.sessions import current_person, require_same_merchant
from tollhouse.accounts.identity.stepup import DASHBOARD
from tollhouse.accounts.identity.throttle import RateLimited, RequestMeter, RequestsLeft, limit_headers
from tollhouse.accounts.notifications import store as notifications
from tollhouse.accounts.notifications.model import inbox_of
from tollhouse.http import cookies
from tollhouse.http.request import ErrorLayout, Request
from tollhouse.kernel import clock, resources, scopes, tokens
from tollhouse.kernel.actor import Actor, ActorKind
from tollhouse.kernel.errors import AuthenticationRequired, InvalidRequest, MisdirectedRequest
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.roles import Permission, who_may
from tollhouse.platform.database.pool import Tx

REQUESTS = RequestMeter()


class CredentialGuard:
    """An API key or an access token of the resource with one of the scopes; any credential if none is named."""

    def __init__(self, *any_of: str, resource: Resource = "api") -> None:
        required = scopes.parse(any_of)
        if required is None:
            raise ValueError(f"{any_of} names no scope")
        self._any_of = any_of
        self._required = required
        self._resource: Resource = resource
        self.label = " or ".join(any_of) or "any credential"

    async def admit(self, request: Request) -> Caller:
        """Authentication 401, then rate limit 429, then network 403, then suspension 403, then scope 403."""
        caller, suspension = await _authenticate(request, self._resource)
        request.caller = caller
        request.actor = _actor_of(request, caller)
        _count_request(request, caller)
        return self._require(request, caller, suspension)

    async def admit_again(self, request: Request) -> Caller:
        """Check the credential of a request that takes long, at the time of now. It is not counted again."""
        request.now = clock.now()
        return self._require(request, *await _authenticate(request, self._resource))

    def _require(self, request: Request, caller: Caller, suspension: store.Suspension | None) -> Caller:
        if not caller.is_allowed_from(request.address):
            raise NetworkNotAllowed
        if suspension is not None:
            raise suspension
        if self._required and not self._required & caller.scopes:
            raise MissingScope(caller, self._any_of[0], *self._any_of)
        return caller

    async def record_use(self, request: Request, caller: Caller) -> None:
        """Record the last use, at most once a minute."""
        if caller.use_is_stale:
            await store.record_use(request.services.db, caller, request.now)


class SpendingGuard(CredentialGuard):
    """A credential that may spend by itself: not one that may only propose to the merchant what it spends."""

    async def admit(self, request: Request) -> Caller:
        """Admit what `CredentialGuard` admits, then 403 for one that may only propose."""
        caller = await super().admit(request)
        if caller.proposals_only:
            raise ProposalRequired
        return caller


class TestCredentialGuard(CredentialGuard):
    """A credential of the test environment, for the simulator."""

    async def admit(self, request: Request) -> Caller:
        """Admit what `CredentialGuard` admits, then 403 for a live credential."""
        caller = await super().admit(request)
        if caller.env.livemode:
            raise TestModeOnly
        return caller


class ApplicationGuard(CredentialGuard):
    """An access token. `confidential` excludes public clients, whose tokens are on devices of their users."""

    def __init__(self, *any_of: str, confidential: bool = False) -> None:
        super().__init__(*any_of)
        self.confidential = confidential

    async def admit(self, request: Request) -> Caller:
        """Admit what `CredentialGuard` does, then 403 for an API key and, if `confidential`, for a public client."""
        caller = await super().admit(request)
        if caller.client_id is None:
            raise ApplicationRequired
        if self.confidential and caller.client_is_public:
            raise ConfidentialClientRequired
        return caller


class SessionGuard:
    """A user with a session whose role has the permission. A `page` redirects others to sign-in; JSON answers 401.

    The permission is needed in the mode that the path names, else in live mode. `of_object`: in any mode, and the handler
    asks again (`Person.require`) when it knows the mode.

    Users of a suspended merchant can only read, except where `while_suspended`: ending sessions, revoking keys and grants,
    changing password or second factor.
    """

    def __init__(
        self, permission: Permission, *, page: bool, while_suspended: bool = False, of_object: bool = False
    ) -> None:
        self.permission: Permission = permission
        self.of_object = of_object
        self._page = page
        self.while_suspended = while_suspended
        self.label = f"session:{permission}" + ", suspended too" * while_suspended

    async def admit(self, request: Request) -> Person:
        """Host 421, session 401 (or 303), then cross-origin 403, suspension 403, role 403; the content type later (415)."""
        cookies.require_own_host(request)
        person = await current_person(request)
        if person is None:
            if self._page:
                raise SignInFirst(DASHBOARD.sign_in_path(request))
            raise AuthenticationRequired
        cookies.require_same_origin(request)
        if person.suspended and not self.while_suspended and request.method not in cookies.SAFE:
            raise AccountSuspended
        if self._page:
            person = await _with_navigation(request, person)
            require_same_merchant(request)
        mode = self._mode(request)
        person.require(self.permission, mode)
        if person.lacks_factor and self.permission != "own":
            raise SecondFactorMissing
        # Actions of the team lock it, and read the roles after that.
        if request.method not in cookies.SAFE and self.permission not in {"own", "team"}:
            request.before_action = lambda tx: _hold_role(tx, person, self.permission, mode)
        return person

    def _mode(self, request: Request) -> Mode | None:
        if self.of_object:
            return None
        return "live" if request.is_of_both_modes else MODES.get(request.params.get("mode", ""), "live")

    async def reauthenticate(self, request: Request, caller: Person) -> Person:
        """The user, recently authenticated; otherwise 403 for JSON, and the confirmation page for pages."""
        if self._page:
            return await stepup.reauthenticate(request, caller)
        stepup.require_recent(caller, request.now)
        return caller

    async def record_use(self, request: Request, caller: Person) -> None:
        """Remember the mode of the page. Sessions record their last use themselves."""
        if self._page:
            await remember_mode(request, caller)


class PublicGuard:
    """No authentication. `own_forms` refuses forms of other sites; `cookie` does so for requests with a session cookie.

    `home` is where error pages lead: nowhere for customers, who have no account here.
    """

    def __init__(
        self, label: str = "anyone", *, own_forms: bool = False, cookie: bool = False, home: str = ErrorLayout().home
    ) -> None:
        self.label = label
        self._error_layout = ErrorLayout(home=home)
        self._own_forms = own_forms
        self._cookie = cookie

    async def admit(self, request: Request) -> None:
        """Check host and origin where cookies are used."""
        request.error_layout = self._error_layout
        if self._own_forms or self._cookie:
            cookies.require_own_host(request)
        if self._own_forms or (self._cookie and cookies.session_id(request) is not None):
            cookies.require_same_origin(request)

    async def record_use(self, request: Request, caller: None) -> None:
        """There is no credential."""


class MeteredGuard(PublicGuard):
    """No authentication, for pages that cost processor time: at most so many requests of a network in a minute."""

    def __init__(self, per_min: int) -> None:
        super().__init__(f"anyone, {per_min} a minute")
        self._per_min = per_min
        self._requests = RequestMeter(places=4_096)

    async def admit(self, request: Request) -> None:
        """Admit what `PublicGuard` admits, then 429."""
        await super().admit(request)
        if request.services.settings.rate_limits:
            self._requests.count_network(request.address, self._per_min, request.now)


def scope(*any_of: str) -> CredentialGuard:
    """A credential with one of these scopes. `missing_scope` names the first one, and its challenge all of them."""
    return CredentialGuard(*any_of)


def spending(*any_of: str) -> SpendingGuard:
    """A credential with one of these scopes that may spend without the merchant's approval."""
    return SpendingGuard(*any_of)


signed_in = partial(SessionGuard, page=False)
"""A session of the dashboard API whose role has the permission."""
signed_in_page = partial(SessionGuard, page=True)
signed_in_while_suspended = partial(SessionGuard, page=False, while_suspended=True)
signed_in_page_while_suspended = partial(SessionGuard, page=True, while_suspended=True)
any_credential = CredentialGuard()
anyone = PublicGuard()
"""No cookie is used: metadata, permissions, health, the checkout page."""
anyone_with_cookie = PublicGuard(cookie=True)
"""JSON sign-up, sign-in and sign-out: a request with a session cookie must come from our own pages."""
visitor = PublicGuard(own_forms=True)
"""Forms of pages for users without a session."""
payer = PublicGuard(home="")
"""The checkout: customers, who have no account."""
payer_form = PublicGuard(own_forms=True, home="")
"""Forms of the checkout."""
client = PublicGuard("client authentication")
"""The token and revocation endpoints, which authenticate the client themselves, in the order of the protocol."""


async def _hold_role(tx: Tx, person: Person, permission: Permission, mode: Mode | None) -> None:
    """Lock the role until the action is committed: a change of the role or a removal is seen here, or waits for it."""
    role = await members_store.lock_role(tx, person.merchant_id, person.user_id)
    if role is None:
        raise AuthenticationRequired
    if role != person.role:
        raise RoleForbidden(role, who_may(permission, mode))


async def recognize(request: Request) -> None:
    """Keep the navigation on the error page of an unknown address, if the browser has a session."""
    try:
        cookies.require_own_host(request)
    except MisdirectedRequest:
        return
    operator = await operators.current_operator(request)
    if operator is not None:
        operators.show_navigation(request, operator)
        return
    person = await current_person(request)
    if person is not None:
        await _with_navigation(request, person)


async def current_reader(request: Request) -> Person | None:
    """The user who reads a public page; None without a session, and at an address that cookies are not for."""
    try:
        cookies.require_own_host(request)
    except MisdirectedRequest:
        return None
    return await current_person(request)


async def _with_navigation(request: Request, person: Person) -> Person:
    """Set the mode of the page, and the navigation of its errors. The user, with the count of unread notifications there."""
    request.mode = await mode_of(request, person)
    inbox = inbox_of(person.merchant_id, person.user_id, person.role, request.mode)
    unread = await notifications.count_unread(request.services.db, inbox)
    person = structs.replace(person, unread_notifications=unread)
    request.error_layout = ErrorLayout("http/shell.html", values={"person": person, "here": ""})
    return person


def _actor_of(request: Request, caller: Caller) -> Actor:
    kind: ActorKind = "api_key" if caller.client_id is None else "application"
    name = str(caller.client_id or caller.api_key_id)
    return Actor(kind, name, request.address, request.server_request_id, caller.credential_id, caller.is_limited)


def _count_request(request: Request, caller: Caller) -> None:
    settings = request.services.settings
    credential = caller.credential_id
    limit = settings.rate_api_per_min
    if settings.rate_limits and limit and credential is not None:
        try:
            left = REQUESTS.count(credential, limit, request.now)
        except RateLimited as error:
            request.headers_to_add = limit_headers(limit, RequestsLeft(0, error.wait_s))
            raise
        request.headers_to_add = limit_headers(limit, left)


async def _authenticate(request: Request, resource: Resource) -> tuple[Caller, store.Suspension | None]:
    if request.entry is not None:  # sent by the MCP server for its caller
        resource = "mcp"
    bearer = request.headers.getlist("authorization")
    keys = request.headers.getlist("x-api-key")
    if len(bearer) > 1 or len(keys) > 1 or (bearer and keys):
        raise InvalidRequest("Send one credential: an API key or an Authorization header, once.")
    if keys:
        prefix = tokens.LIVE_API_KEY_PREFIX if keys[0].startswith(tokens.LIVE_API_KEY_PREFIX) else tokens.TEST_API_KEY_PREFIX
        found = (
            await store.find_by_api_key(request.services.db, tokens.digest(keys[0]), request.now)
            if tokens.is_well_formed(prefix, keys[0])
            else None
        )
        if found is None:
            raise InvalidApiKey(_metadata_url(request, resource))
        caller, suspension = found
        # A key has no consent page that would say what its agent may do: in live mode, a person decides about money.
        is_proposing = caller.proposals_only or (resource == "mcp" and caller.env.livemode)
        return structs.replace(caller, proposals_only=is_proposing), suspension
    scheme, _, token = bearer[0].partition(" ") if bearer else ("", "", "")
    scheme, token = scheme.lower(), token.strip(" ")
    if scheme not in {"bearer", "dpop"}:
        raise NoCredential(_metadata_url(request, resource))
    token_hash, now = tokens.digest(token), request.now
    found = (
        await store.find_by_access_token(request.services.db, token_hash, resource, now)
        if tokens.is_well_formed(tokens.ACCESS_TOKEN_PREFIX, token)
        else None
    )
    if found is None:
        raise (InvalidToken if scheme == "bearer" else InvalidDpopToken)(_metadata_url(request, resource))
    if scheme == "dpop" or found.caller.dpop_jkt is not None:
        await _require_key(request, scheme, token, found.caller, _metadata_url(request, resource))
    if found.is_retryable:  # by whoever may use it, before the request has any effect
        await store.end_retries(request.services.db, token_hash, found.caller, now)
    return found.caller, found.suspension


async def _require_key(request: Request, scheme: str, token: str, caller: Caller, metadata_url: str) -> None:
    """Raises `InvalidDpopToken` or `InvalidProof`, unless the request proves the key that its token is bound to.

    The proof is for what came over the network: once for all checks of a request, and for the calls that it makes here.
    """
    if scheme != "dpop" or caller.dpop_jkt is None:
        raise InvalidDpopToken(metadata_url, detail="bound token as Bearer" if scheme == "bearer" else "not a bound token")
    proving = request.entry or request
    if proving.proven_key is None:
        try:
            proving.proven_key = await dpop.prove(proving, token)
        except JoseError as error:
            raise InvalidProof(metadata_url, detail=f"proof: {error}") from None
    if proving.proven_key != caller.dpop_jkt:
        raise InvalidDpopToken(metadata_url, detail="another key")


def _metadata_url(request: Request, resource: Resource) -> str:
    return resources.metadata_url(resource, request.services.settings.base_url)
