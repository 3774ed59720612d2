"""Device authorization (RFC 8628): a device gets a code, which a merchant enters in a browser elsewhere.

The request is an authorization request like any other, decided on the consent page. It ends in the approval of its device
code, which is stored as the digest of an authorization code is, and redeemed once at the token endpoint.
"""

import hashlib
import secrets
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import client as client_guard
from tollhouse.accounts.identity.throttle import record_failure
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import POLL_INTERVAL_S, USER_CODE_CHARS
from tollhouse.kernel.scopes import WRITES
from tollhouse.oauth import client_auth, client_documents, clients_store, requests_store
from tollhouse.oauth.authorization_details_model import InvalidAuthorizationDetails
from tollhouse.oauth.authorize import AWAITS_APPROVAL, address_limits, require_not_full
from tollhouse.oauth.client_auth import ClientParameters
from tollhouse.oauth.device_errors import TooManyDevices, UnauthorizedClient
from tollhouse.oauth.model import (
    DEVICE_CODE_GRANT,
    InvalidClient,
    InvalidScope,
    RegisteredClient,
    TooManyFailures,
    TooManyOpen,
)
from tollhouse.oauth.request_rules import (
    SentParameters,
    require_authorization_details,
    require_mode,
    require_resource,
    require_scope,
)
from tollhouse.oauth.requests_model import DeviceRequest
from tollhouse.oauth.resources import InvalidTarget

OPERATIONS = Operations(PROTOCOL)
PARAMETERS = (*client_auth.PARAMETERS, "scope", "mode", "authorization_details")
USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no code is a word, and nothing that looks like a digit."""
AGENT_CHARS_KEPT = 200


class DeviceForm(ClientParameters, frozen=True, kw_only=True):
    """The parameters: what is requested, and the client's credentials."""

    scope: Annotated[str, example("payments:read offline_access")]
    """Scopes separated by spaces, at least one besides offline_access."""
    mode: Mode | UnsetType = UNSET
    resource: str | UnsetType = UNSET
    """What the tokens will open: URL of the Integration API, the default, or of `/mcp`."""
    authorization_details: str | UnsetType = UNSET
    """Limits to ask for (RFC 9396): JSON array of one `tollhouse_limits` object."""


class DeviceAuthorization(Struct, frozen=True):
    """The codes of a device (RFC 8628 section 3.2)."""

    device_code: Annotated[str, example("thdc_…")]
    """Secret code with which the device polls the token endpoint."""
    user_code: Annotated[str, example("WDJB-MJHT")]
    """Code that the device shows. The merchant enters it, in capitals or not, with or without the dash."""
    verification_uri: Annotated[str, example("https://pay.example/device")]
    """Page on which the merchant enters the code."""
    verification_uri_complete: Annotated[str, example("https://pay.example/device?user_code=WDJB-MJHT")]
    """URL of that page with the code filled in, for a QR code or a link."""
    expires_in: Annotated[int, example(600)]
    """Seconds until both codes expire."""
    interval: Annotated[int, example(5)]
    """Seconds to wait between two polls. Each `slow_down` adds 5."""


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/device_authorization",
    guard=client_guard,
    errors=(
        InvalidRequest,
        InvalidClient,
        TooManyFailures,
        TooManyDevices,
        TooManyOpen,
        UnauthorizedClient,
        InvalidScope,
        InvalidTarget,
        InvalidAuthorizationDetails,
    ),
    reads=DeviceForm,
    responses=DeviceAuthorization,
)
async def authorize_device(request: Request) -> Response:
    """Authorize a device. It shows the code, and polls the token endpoint until the merchant has answered."""
    form = request.form()
    form.require_no_repeats(PARAMETERS)
    await client_documents.prepare(request, form.one("client_id"), form.one("mode"))
    verified = await client_auth.authenticate(request, form)
    client = await clients_store.find_registered(request.services.db, verified.client_id)
    if client is None or client.status != "enabled":
        raise InvalidClient(detail="paused")
    sent = SentParameters(form, client, request.services.settings.base_url, request.services.catalogue)
    _require_allowed(client, sent, review=request.services.settings.review_applications)
    await _count(request)
    await require_not_full(request, client.client_id)
    # Nothing below this line may refuse.
    settings, keys = request.services.settings, request.services.keys
    expires_at = request.now + clock.seconds(settings.authorization_request_ttl)
    device_code = tokens.mint(tokens.DEVICE_CODE_PREFIX)
    while True:
        user_code = "".join(secrets.choice(USER_CODE_ALPHABET) for _ in range(USER_CODE_CHARS))
        new = _device_request(request, client, sent, device_code, user_code)
        if await requests_store.insert_of_device(request.services.db, new, keys.in_use, request.now, expires_at):
            break
    shown, page = shown_code(user_code), f"{settings.base_url}/device"
    complete = f"{page}?user_code={shown}"
    lifetime = settings.authorization_request_ttl
    return json_response(DeviceAuthorization(device_code, shown, page, complete, lifetime, POLL_INTERVAL_S))


def shown_code(user_code: str) -> str:
    """A user code as people read it, XXXX-XXXX."""
    return f"{user_code[: USER_CODE_CHARS // 2]}-{user_code[USER_CODE_CHARS // 2 :]}"


def read_code(entered: str) -> str | None:
    """The user code that somebody entered, in any case, with dashes and spaces or without; None if it is none."""
    code = "".join(entered.replace("-", "").split()).upper()
    return code if len(code) == USER_CODE_CHARS and all(char in USER_CODE_ALPHABET for char in code) else None


def request_id_of(user_code: str, device_code_hash: bytes) -> str:
    """The id of the request in the address of its consent page. Only the device and the database know what it is made of."""
    return tokens.base62_of(hashlib.sha256(user_code.encode() + device_code_hash).digest(), tokens.BODY_CHARS)


def _require_allowed(client: RegisteredClient, sent: SentParameters, *, review: bool) -> None:
    if DEVICE_CODE_GRANT not in client.grant_types:
        raise UnauthorizedClient
    require_scope(sent)
    require_mode(sent)
    require_resource(sent)
    require_authorization_details(sent)
    writes = sent.mode == "live" and bool(sent.scopes and sent.scopes & WRITES)
    if writes and review and not client.approved:
        raise InvalidScope(AWAITS_APPROVAL)
    if writes and not client.device_writes_allowed:
        raise InvalidScope(
            "Devices of this application must not request permissions that write in live mode, until an operator allows it."
        )


async def _count(request: Request) -> None:
    """Count a request of this address. Raises `TooManyDevices`."""
    wait = await record_failure(request.services.db, address_limits(request, "device from"), request.now)
    if wait is not None:
        raise TooManyDevices(wait)


def _device_request(
    request: Request, client: RegisteredClient, sent: SentParameters, device_code: str, user_code: str
) -> DeviceRequest:
    device_code_hash = tokens.digest(device_code)
    return DeviceRequest(
        id_hash=tokens.digest(request_id_of(user_code, device_code_hash)),
        client_id=client.client_id,
        auth_epoch=client.auth_epoch,
        scopes=sent.scopes or scopes.Scopes(0),
        mode="test" if sent.mode == "test" else "live",
        resource=sent.resource,
        limits=sent.limits.stored,
        device_code_hash=device_code_hash,
        user_code=user_code,
        address=request.address,
        agent=(request.headers.get("user-agent") or "")[:AGENT_CHARS_KEPT].replace("\0", ""),
    )
