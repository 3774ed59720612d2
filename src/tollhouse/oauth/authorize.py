"""The authorization endpoint (RFC 6749 section 4.1.1): validate a request and show the consent page.

Errors of the client or the redirect URI are shown to the browser and never redirected (RFC 6749 section 4.1.2.1); all
others are sent to the redirect URI.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Literal, cast

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity import sessions, throttle
from tollhouse.accounts.identity.guards import anyone
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited, network_of
from tollhouse.accounts.spending.model import Limits
from tollhouse.http.forms import Form, parse_form
from tollhouse.http.operations import AUTHORIZE, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import ApiError, InvalidRequest, ServerError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, Mode
from tollhouse.kernel.limits import AUTHORIZATION_REQUEST_S, CHALLENGE_CHARS, OPEN_RETRY_S, STATE_CHARS_MAX
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import authorization_details_model, client_auth, clients_store, redirect_uris, requests_store, resources
from tollhouse.oauth.model import (
    AuthorizationRequest,
    InvalidScope,
    RegisteredClient,
    TooManyOpen,
    UnknownApplication,
    UnsupportedResponseType,
)
from tollhouse.platform.log.events import log

OPERATIONS = Operations(AUTHORIZE)
AWAITS_APPROVAL = (
    "This application must not request permissions that write in live mode, until an operator approves it for them."
)
SINGLE_PARAMETERS = (
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "mode",
    "authorization_details",
)
REQUEST_URI_PREFIX = "urn:ietf:params:oauth:request_uri:"
REQUEST_ID = re.compile(rf"[0-9A-Za-z]{{{tokens.BODY_CHARS}}}")


class InvalidRequestUri(ApiError):
    """400: the pushed request is unknown, of another application, expired or decided, or the settings have changed since."""

    code, message = "invalid_request_uri", "`request_uri` is unknown, expired or used. Start again in the application."
    solution = "Push the request again, and send the browser with the new `request_uri` at once."


class AuthorizeQuery(Struct, frozen=True, kw_only=True):
    """The parameters of an authorization request."""

    response_type: Literal["code"]
    """Always `code`."""
    client_id: str
    redirect_uri: Annotated[str, example("https://app.example/callback")]
    scope: Annotated[
        str,
        Meta(description="Scopes separated by spaces, at least one besides offline_access."),
        example("payments:read offline_access"),
    ]
    state: Annotated[str, Meta(min_length=1, max_length=STATE_CHARS_MAX), example("af0ifjsldkj")]
    """A random value that is returned unchanged. Verify it."""
    code_challenge: Annotated[
        str,
        Meta(pattern=f"^[A-Za-z0-9_-]{{{CHALLENGE_CHARS}}}$"),
        example("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
    ]
    """SHA-256 hash of the `code_verifier`, in base64url without padding."""
    code_challenge_method: Literal["S256"]
    """Always `S256`."""
    mode: Mode | UnsetType = UNSET
    resource: Annotated[
        str | UnsetType,
        Meta(description="What the tokens will open: URL of the Integration API, the default, or of `/mcp`."),
    ] = UNSET
    authorization_details: Annotated[
        str | UnsetType, Meta(description="Limits to ask for (RFC 9396): JSON array of one `tollhouse_limits` object.")
    ] = UNSET


class SentParameters(Struct, frozen=True):
    """The parameters as sent, not validated, and the application of their `client_id`."""

    form: Form
    client: RegisteredClient | None
    base_url: str
    catalogue: Catalogue

    def one(self, name: str) -> str | None:
        """The value of a parameter that was sent once; None if it is missing, empty or repeated."""
        values = self.form.all(name)
        return (values[0] or None) if len(values) == 1 else None

    @property
    def scopes(self) -> Scopes | None:
        """The requested scopes; None if one is unknown."""
        return scopes.parse(name for name in (self.one("scope") or "").split(" ") if name)

    @property
    def state(self) -> str | None:
        """The state; None if it cannot be returned to the client."""
        state = self.one("state")
        return state if state and len(state) <= STATE_CHARS_MAX and not _has_control(state) else None

    @property
    def mode(self) -> str:
        """The mode, live by default."""
        return self.one("mode") or "live"

    @property
    def limits(self) -> Limits:
        """The requested limits. Raises `InvalidAuthorizationDetails`."""
        return authorization_details_model.parse(self.one("authorization_details"), self.catalogue)

    @property
    def resource(self) -> Resource:
        """What the tokens will open, the Integration API by default. Raises `InvalidTarget`."""
        return resources.requested(self.form, self.base_url) or "api"


def require_client_id(sent: SentParameters) -> None:
    """`client_id` is sent once."""
    client_id = sent.one("client_id")
    if client_id is None or _has_control(client_id):
        raise InvalidRequest("`client_id` is required, exactly once.")


def require_enabled_client(sent: SentParameters) -> None:
    """The application exists and is neither paused, revoked nor suspended."""
    if sent.client is None or sent.client.status != "enabled" or sent.client.suspended:
        raise UnknownApplication


def require_redirect_uri(sent: SentParameters) -> None:
    """`redirect_uri` is sent once."""
    if sent.one("redirect_uri") is None:
        raise InvalidRequest("`redirect_uri` is required, exactly once.")


def require_registered_redirect_uri(sent: SentParameters) -> None:
    """`redirect_uri` is registered, compared character by character (RFC 9700 section 2.1)."""
    if sent.client is None or sent.one("redirect_uri") not in sent.client.redirect_uris:
        raise InvalidRequest(
            "`redirect_uri` must be exactly one of the redirect URIs that are registered for this application."
        )


def require_single_parameters(sent: SentParameters) -> None:
    """No known parameter is repeated."""
    sent.form.require_no_repeats(SINGLE_PARAMETERS)


def require_response_type(sent: SentParameters) -> None:
    """`response_type` is `code`."""
    value = sent.one("response_type")
    if value is None:
        raise InvalidRequest("`response_type` is required.")
    if value != "code":
        raise UnsupportedResponseType


def require_scope(sent: SentParameters) -> None:
    """`scope` has registered scopes, at least one besides `offline_access`."""
    if sent.scopes is None:
        raise InvalidScope("`scope` contains an unknown scope.")
    if not sent.scopes.has_api:
        raise InvalidScope("`scope` must contain at least one scope besides offline_access.")
    if sent.client is None or not sent.scopes.within(sent.client.scopes):
        raise InvalidScope("`scope` must contain only scopes that are registered for this application.")


def require_state(sent: SentParameters) -> None:
    """`state` can be returned unchanged."""
    if sent.state is None:
        raise InvalidRequest(f"`state` must be 1 to {STATE_CHARS_MAX} characters long, without control characters.")


def require_code_challenge(sent: SentParameters) -> None:
    """`code_challenge` is an unpadded base64url SHA-256."""
    if client_auth.parse_challenge(sent.one("code_challenge") or "") is None:
        raise InvalidRequest(
            "`code_challenge` must be the SHA-256 of the verifier in base64url without padding, 43 characters."
        )


def require_code_challenge_method(sent: SentParameters) -> None:
    """`code_challenge_method` is S256. It is required, as its default is plain (RFC 7636 section 4.3)."""
    if sent.one("code_challenge_method") != "S256":
        raise InvalidRequest("`code_challenge_method` must be S256.")


def require_mode(sent: SentParameters) -> None:
    """`mode` is live or test."""
    if sent.mode not in {"live", "test"}:
        raise InvalidRequest("`mode` must be live or test.")


def require_resource(sent: SentParameters) -> None:
    """`resource` names one resource of this server, if it is sent (RFC 8707)."""
    _ = sent.resource


def require_pushed(sent: SentParameters) -> None:
    """The settings of the application do not require that its requests are pushed (RFC 9126 section 5)."""
    if sent.client is not None and sent.client.require_par:
        raise InvalidRequest("This application must push its authorization requests. Its settings require it.")


def require_authorization_details(sent: SentParameters) -> None:
    """`authorization_details` has valid limits."""
    _ = sent.limits


Rule = Callable[[SentParameters], None]
BEFORE_REDIRECT: tuple[Rule, ...] = (
    require_client_id,
    require_enabled_client,
    require_redirect_uri,
    require_registered_redirect_uri,
)
BY_REDIRECT: tuple[Rule, ...] = (
    require_single_parameters,
    require_response_type,
    require_scope,
    require_state,
    require_code_challenge,
    require_code_challenge_method,
    require_mode,
    require_resource,
    require_authorization_details,
)


@OPERATIONS.add(
    "GET",
    "/api/v2/oauth/authorize",
    guard=anyone,
    status=303,
    errors=(InvalidRequest, InvalidRequestUri, UnknownApplication, RateLimited),
    reads=AuthorizeQuery,
)
async def start(request: Request) -> Response:
    """Start an authorization request. It is valid for ten minutes, and redirects the browser to the consent page.

    With the `request_uri` of a pushed request, `client_id` is the only other parameter that counts.
    """
    sent = await _read_parameters(request)
    if sent.form.all("request_uri") not in ([], [""]):
        return await _open_pushed(request, sent)
    for rule in BEFORE_REDIRECT:
        rule(sent)
    try:
        for rule in (require_pushed, *BY_REDIRECT):
            rule(sent)
    except ApiError as error:
        return _error_redirect(request, sent, error)
    try:
        await _count(request, ClientId(cast("RegisteredClient", sent.client).client_id))
    except TooManyOpen as error:
        return _error_redirect(request, sent, error)
    # Nothing below this line may refuse.
    request_id = tokens.random_base62(tokens.BODY_CHARS)
    expires_at = request.now + clock.seconds(request.services.settings.authorization_request_ttl)
    id_hash, mac_key_id = tokens.digest(request_id), request.services.keys.in_use
    try:
        await requests_store.insert(
            request.services.db, id_hash, authorization_request(sent), mac_key_id, request.now, expires_at
        )
    except Exception as error:  # noqa: BLE001 - every error is redirected to the client
        log.error("failed", code=ServerError.code, exc_info=error)
        return _error_redirect(request, sent, ServerError())
    return see_other(f"/oauth/consent/{request_id}")


def redirect_to_client(request: Request, redirect_uri: str, state: str | None, **parameters: str) -> Response:
    """The authorization response (RFC 6749 section 4.1.2), with `iss` (RFC 9207)."""
    issuer = request.services.settings.base_url
    return see_other(redirect_uris.redirect_url(redirect_uri, **parameters, state=state, iss=issuer))


def address_limits(request: Request, name: str) -> tuple[FailureLimit, ...]:
    """The limit of requests without a session that start an authorization, for the address of this one."""
    settings = request.services.settings
    limit = settings.rate_authorize_address_per_min * settings.rate_limits
    return (FailureLimit(name, network_of(request.address), limit, throttle.MINUTE),)


async def _open_pushed(request: Request, sent: SentParameters) -> Response:
    """The consent page of a pushed request. Nothing is redirected before it is found: its redirect URI is not known."""
    require_client_id(sent)
    require_enabled_client(sent)
    client, request_uri = cast("RegisteredClient", sent.client), sent.one("request_uri")
    if request_uri is None:
        raise InvalidRequest("`request_uri` must not be repeated.")
    request_id = request_uri.removeprefix(REQUEST_URI_PREFIX)
    if request_id == request_uri or REQUEST_ID.fullmatch(request_id) is None:
        raise InvalidRequestUri
    await _count(request)
    now = request.now
    expires_at = now + clock.seconds(request.services.settings.authorization_request_ttl)
    db, id_hash = request.services.db, tokens.digest(request_id)
    if not await requests_store.open_pushed(db, id_hash, client.client_id, now, expires_at):
        raise InvalidRequestUri
    return see_other(f"/oauth/consent/{request_id}")


async def _count(request: Request, client_id: ClientId | None = None) -> None:
    """Count a request: of the user, or of the address and the application. Raises `RateLimited` and `TooManyOpen`.

    Without `client_id` it is stored already.
    Strangers who fill the table for an application do not keep those out who are signed in.
    """
    settings, db = request.services.settings, request.services.db
    if not settings.rate_limits:
        return
    person = await sessions.current_person(request)
    if person is not None:
        most, span = settings.rate_authorize_person_per_10_min, clock.seconds(AUTHORIZATION_REQUEST_S)
        await throttle.count_attempt(db, (FailureLimit("authorize by", str(person.user_id), most, span),), request.now)
        return
    await throttle.count_attempt(db, address_limits(request, "authorize from"), request.now)
    if client_id is not None:
        await require_not_full(request, client_id)


async def require_not_full(request: Request, client_id: ClientId) -> None:
    """Raises `TooManyOpen` if too many requests of the application wait for an answer."""
    settings = request.services.settings
    limit = settings.rate_open_authorizations * settings.rate_limits
    if await requests_store.is_full(request.services.db, client_id, request.now, limit):
        raise TooManyOpen(clock.seconds(OPEN_RETRY_S))


async def _read_parameters(request: Request) -> SentParameters:
    # A NUL becomes another control character, so that the rule of its parameter rejects it.
    form = parse_form(request.query.replace(b"%00", b"%01"))
    base_url, catalogue = request.services.settings.base_url, request.services.catalogue
    client_id = SentParameters(form, None, base_url, catalogue).one("client_id")
    client = await clients_store.find_registered(request.services.db, client_id) if client_id else None
    return SentParameters(form, client, base_url, catalogue)


def _error_redirect(request: Request, sent: SentParameters, error: ApiError) -> Response:
    redirect_uri = cast("str", sent.one("redirect_uri"))
    return redirect_to_client(request, redirect_uri, sent.state, error=error.code, error_description=str(error.message))


def authorization_request(sent: SentParameters) -> AuthorizationRequest:
    """The request, after its rules."""
    client = cast("RegisteredClient", sent.client)
    return AuthorizationRequest(
        client_id=ClientId(client.client_id),
        auth_epoch=client.auth_epoch,
        redirect_uri=cast("str", sent.one("redirect_uri")),
        scopes=cast("Scopes", sent.scopes),
        state=cast("str", sent.state),
        challenge=cast("bytes", client_auth.parse_challenge(sent.one("code_challenge") or "")),
        mode=cast("Mode", sent.mode),
        resource=sent.resource,
        limits=sent.limits.stored,
    )


def _has_control(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" for char in text)
