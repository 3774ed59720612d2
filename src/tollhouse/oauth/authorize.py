"""The start of an authorization: what an application asks for, checked in the documented order.

As long as it is not certain who asks and where the answer may go, nothing is ever redirected. After that, every field_error
goes to the callback, where the application's developers will find it.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Literal, cast

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from tollhouse.http.forms import Form, parse_form
from tollhouse.http.operations import AUTHORIZE, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity import sessions, throttle
from tollhouse.identity.guards import anyone
from tollhouse.identity.throttle import FailureLimit, RateLimited, network_of
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.errors import ApiError, InvalidRequest, ServerError
from tollhouse.kernel.ids import ClientId, Mode
from tollhouse.kernel.limits import CHALLENGE_CHARS, STATE_CHARS_MAX
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import clients_store, pkce, redirect_uris, requests_store
from tollhouse.oauth.model import (
    AuthorizationRequest,
    InvalidScope,
    RegisteredClient,
    UnknownApplication,
    UnsupportedResponseType,
)
from tollhouse.platform.log import log

OPERATIONS = Operations(AUTHORIZE)
ONCE = ("response_type", "scope", "state", "code_challenge", "code_challenge_method", "mode")
REQUEST_ID = re.compile(rf"[0-9A-Za-z]{{{tokens.BODY_CHARS}}}")


class AuthorizeQuery(Struct, frozen=True, kw_only=True):
    """The parameters of an authorize call."""

    response_type: Literal["code"]
    client_id: str
    redirect_uri: str
    scope: Annotated[str, Meta(description="Separated by spaces; at least one beside offline_access.")]
    state: Annotated[str, Meta(min_length=1, max_length=STATE_CHARS_MAX)]
    code_challenge: Annotated[str, Meta(pattern=f"^[A-Za-z0-9_-]{{{CHALLENGE_CHARS}}}$")]
    code_challenge_method: Literal["S256"]
    mode: Mode | UnsetType = UNSET


class Asked(Struct, frozen=True):
    """The parameters of an authorize call, and the application that their client_id names."""

    form: Form
    client: RegisteredClient | None

    def one(self, name: str) -> str | None:
        """A parameter's value, where it was sent once; sent empty it counts as not sent."""
        values = self.form.all(name)
        return (values[0] or None) if len(values) == 1 else None

    @property
    def scopes(self) -> Scopes | None:
        """The set of scopes that is asked for; None where a name is no scope."""
        return scopes.parse(name for name in (self.one("scope") or "").split(" ") if name)

    @property
    def state(self) -> str | None:
        """The state, where it is one that can be sent back."""
        state = self.one("state")
        return state if state and len(state) <= STATE_CHARS_MAX and not _has_control(state) else None

    @property
    def mode(self) -> str:
        """The environment."""
        return self.one("mode") or "live"


def one_client_id(asked: Asked) -> None:
    """client_id is sent, once."""
    client_id = asked.one("client_id")
    if client_id is None or _has_control(client_id):
        raise InvalidRequest("Send client_id, once.")


def known_client(asked: Asked) -> None:
    """There is such an application."""
    if asked.client is None:
        raise UnknownApplication


def enabled_client(asked: Asked) -> None:
    """It is neither paused, revoked nor suspended."""
    if asked.client is None or asked.client.status != "enabled" or asked.client.suspended:
        raise UnknownApplication


def one_callback(asked: Asked) -> None:
    """redirect_uri is sent, once."""
    if asked.one("redirect_uri") is None:
        raise InvalidRequest("Send redirect_uri, once.")


def registered_callback(asked: Asked) -> None:
    """redirect_uri is, character by character, one that is registered."""
    if asked.client is None or asked.one("redirect_uri") not in asked.client.redirect_uris:
        raise InvalidRequest("The redirect_uri is not a registered callback of this application.")


def nothing_repeated(asked: Asked) -> None:
    """Every parameter that we know is sent once at most."""
    repeated = asked.form.repeated(ONCE)
    if repeated:
        raise InvalidRequest(f"The parameter {repeated} must not be repeated.")


def response_type(asked: Asked) -> None:
    """response_type is `code`."""
    sent = asked.one("response_type")
    if sent is None:
        raise InvalidRequest("Send response_type=code.")
    if sent != "code":
        raise UnsupportedResponseType


def scope(asked: Asked) -> None:
    """The scope names registered permissions, one beside offline_access at least."""
    wanted = asked.scopes
    if wanted is None:
        raise InvalidScope("The scope holds a name that is no permission.")
    if not wanted.has_api:
        raise InvalidScope("The scope needs at least one permission beside offline_access.")
    if asked.client is None or not wanted.within(asked.client.scopes):
        raise InvalidScope("The scope goes beyond what the application has registered.")


def state(asked: Asked) -> None:
    """There is a state, short enough to be sent back as it is."""
    if asked.state is None:
        raise InvalidRequest(f"Send a state of 1 to {STATE_CHARS_MAX} characters without control characters.")


def code_challenge(asked: Asked) -> None:
    """code_challenge is an unpadded base64url SHA-256."""
    if pkce.read_challenge(asked.one("code_challenge") or "") is None:
        raise InvalidRequest("Send a code_challenge: the unpadded base64url SHA-256 of the verifier, 43 characters.")


def code_challenge_method(asked: Asked) -> None:
    """code_challenge_method is S256. Left out it would mean plain, which is refused."""
    if asked.one("code_challenge_method") != "S256":
        raise InvalidRequest("Send code_challenge_method=S256.")


def mode(asked: Asked) -> None:
    """The mode is live or test."""
    if asked.mode not in {"live", "test"}:
        raise InvalidRequest("The mode is live or test.")


Rule = Callable[[Asked], None]
BEFORE_REDIRECT: tuple[Rule, ...] = (one_client_id, known_client, enabled_client, one_callback, registered_callback)
BY_REDIRECT: tuple[Rule, ...] = (
    nothing_repeated,
    response_type,
    scope,
    state,
    code_challenge,
    code_challenge_method,
    mode,
)


@OPERATIONS.add(
    "GET",
    "/api/v2/oauth/authorize",
    guard=anyone,
    status=303,
    errors=(InvalidRequest, UnknownApplication, RateLimited),
    reads=AuthorizeQuery,
)
async def start(request: Request) -> Response:
    """Check what an application asks for, keep it for ten minutes, and send the browser to the consent page."""
    asked = await _read(request)
    for rule in BEFORE_REDIRECT:
        rule(asked)
    try:
        for rule in BY_REDIRECT:
            rule(asked)
    except ApiError as error:
        return _by_redirect(request, asked, error)
    await _count_anonymous(request)
    # Nothing below this line may refuse.
    request_id = tokens.random_base62(tokens.BODY_CHARS)
    expires_at = request.now + clock.seconds(request.services.settings.authorization_request_ttl)
    id_hash, mac_key_id = tokens.digest(request_id), request.services.keys.in_use
    try:
        await requests_store.insert(request.services.db, id_hash, _request(asked), mac_key_id, request.now, expires_at)
    except Exception as field_error:  # noqa: BLE001 - whatever it is, the application is told where it listens
        log.error("failed", code=ServerError.code, exc_info=field_error)
        return _by_redirect(request, asked, ServerError())
    return see_other(f"/oauth/consent/{request_id}")


async def _count_anonymous(request: Request) -> None:
    """Count a request without a session, before it is stored. Raises `RateLimited`."""
    settings = request.services.settings
    limit = settings.rate_authorize_address_per_min * settings.rate_limits
    if limit and await sessions.current_person(request) is None:
        limits = (FailureLimit("authorize from", network_of(request.address), limit, throttle.MINUTE),)
        await throttle.count_attempt(request.services.db, limits, request.now)


async def _read(request: Request) -> Asked:
    # A NUL is refused like any control character, by the rule of the parameter it is in.
    form = parse_form(request.query.replace(b"%00", b"%01"))
    asked = Asked(form, None)
    client_id = asked.one("client_id")
    return Asked(form, await clients_store.registered(request.services.db, client_id)) if client_id else asked


def _by_redirect(request: Request, asked: Asked, error: ApiError) -> Response:
    callback = cast("str", asked.one("redirect_uri"))
    return see_other(
        redirect_uris.redirect_url(
            callback,
            error=error.code,
            error_description=error.message,
            state=asked.state,
            iss=request.services.settings.base_url,
        )
    )


def _request(asked: Asked) -> AuthorizationRequest:
    client = cast("RegisteredClient", asked.client)
    return AuthorizationRequest(
        client_id=ClientId(client.client_id),
        auth_epoch=client.auth_epoch,
        redirect_uri=cast("str", asked.one("redirect_uri")),
        scopes=cast("Scopes", asked.scopes),
        state=cast("str", asked.state),
        challenge=cast("bytes", pkce.read_challenge(asked.one("code_challenge") or "")),
        mode=cast("Mode", asked.mode),
    )


def _has_control(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" for char in text)
