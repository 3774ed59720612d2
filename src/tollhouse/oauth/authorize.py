"""The authorization endpoint (RFC 6749 section 4.1.1): validate a request and show the consent page.

Errors of the client or the redirect URI are shown to the browser and never redirected (RFC 6749 section 4.1.2.1); all
others are sent to the redirect URI.
"""

import re
from typing import Annotated, Literal, cast

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity import sessions, throttle
from tollhouse.accounts.identity.guards import anyone
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited, network_of
from tollhouse.http.forms import parse_form
from tollhouse.http.operations import AUTHORIZE, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.errors import ApiError, InvalidRequest, ServerError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, Mode
from tollhouse.kernel.limits import AUTHORIZATION_REQUEST_S, CHALLENGE_CHARS, OPEN_RETRY_S, STATE_CHARS_MAX
from tollhouse.oauth import client_documents, clients_store, redirect_uris, requests_store
from tollhouse.oauth.model import (
    RegisteredClient,
    TooManyOpen,
    UnknownApplication,
    stored_id,
)
from tollhouse.oauth.request_rules import (
    BEFORE_REDIRECT,
    BY_REDIRECT,
    SentParameters,
    authorization_request,
    require_client_id,
    require_enabled_client,
    require_pushed,
)
from tollhouse.platform.log.events import log

OPERATIONS = Operations(AUTHORIZE)
AWAITS_APPROVAL = (
    "This application must not request permissions that write in live mode, until an operator approves it for them."
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
    dpop_jkt: Annotated[
        str | UnsetType, Meta(description="Thumbprint of the key that will exchange the code with a DPoP proof (RFC 9449).")
    ] = UNSET


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
    sent = SentParameters(form, None, base_url, catalogue)
    client_id = sent.one("client_id")
    if sent.one("request_uri") is None:
        await client_documents.prepare(request, client_id, sent.one("mode"))
    client = await clients_store.find_registered(request.services.db, stored_id(client_id)) if client_id else None
    return SentParameters(form, client, base_url, catalogue)


def _error_redirect(request: Request, sent: SentParameters, error: ApiError) -> Response:
    redirect_uri = cast("str", sent.one("redirect_uri"))
    return redirect_to_client(request, redirect_uri, sent.state, error=error.code, error_description=str(error.message))
