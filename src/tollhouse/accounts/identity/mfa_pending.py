"""The state between password and code at sign-in: a MAC-protected cookie, valid for ten minutes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from starlette.responses import Response

from tollhouse.http import cookies
from tollhouse.http.cookies import Kind
from tollhouse.http.request import Request
from tollhouse.kernel.limits import SIGN_IN_CODE_S
from tollhouse.platform.encryption import MAC_BYTES

PURPOSE = b"password proved:"
PARTS = 3
LIFETIME = timedelta(seconds=SIGN_IN_CODE_S)
EPOCH, MILLISECOND = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)


def set_cookie(request: Request, response: Response, kind: Kind, account_id: UUID) -> Response:
    """Record that the password of this account was verified now."""
    expires_ms = (request.now + LIFETIME - EPOCH) // MILLISECOND
    payload = f"{account_id.hex}.{expires_ms}"
    value = f"{payload}.{request.services.keys.mac(_mac_input(kind, payload)).hex()}"
    cookies.set_session_cookie(response, request.services.settings, value, SIGN_IN_CODE_S, kind)
    return response


def account_id(request: Request, kind: Kind) -> UUID | None:
    """The account whose password this browser verified within ten minutes; None if there is none."""
    account, *rest = (cookies.session_id(request, kind) or "").split(".")
    if len(rest) != PARTS - 1:
        return None
    expires_ms, mac_hex = rest
    try:
        mac = bytes.fromhex(mac_hex)
        is_valid = len(mac) == MAC_BYTES and request.services.keys.verify_mac(
            _mac_input(kind, f"{account}.{expires_ms}"), mac
        )
        return UUID(account) if is_valid and request.now < _time(expires_ms) else None
    except (ValueError, OverflowError):
        return None


def password_verified_at(request: Request, kind: Kind) -> datetime:
    """When the password was verified, for a request with an `account_id`."""
    return _time((cookies.session_id(request, kind) or "").split(".")[1]) - LIFETIME


def clear_cookie(request: Request, response: Response, kind: Kind) -> Response:
    """Clear the state after the code was accepted."""
    cookies.clear_session_cookie(response, request.services.settings, kind)
    return response


def _mac_input(kind: Kind, payload: str) -> bytes:
    return PURPOSE + f"{kind}.{payload}".encode()


def _time(expires_ms: str) -> datetime:
    return EPOCH + int(expires_ms) * MILLISECOND
