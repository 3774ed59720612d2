"""Between the password and the code: a browser carries for ten minutes, under our MAC, whose password was right."""

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
LASTS = timedelta(seconds=SIGN_IN_CODE_S)
EPOCH, MILLISECOND = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)


def give(request: Request, response: Response, kind: Kind, holder_id: UUID) -> Response:
    """Let the browser go on to the page that asks for the code."""
    until = (request.now + LASTS - EPOCH) // MILLISECOND
    said = f"{holder_id.hex}.{until}"
    proof = f"{said}.{request.services.keys.mac(_bound(kind, said)).hex()}"
    cookies.set_session_cookie(response, request.services.settings, proof, SIGN_IN_CODE_S, kind)
    return response


def holder_of(request: Request, kind: Kind) -> UUID | None:
    """Whose password this browser knew, of late; None where it did not."""
    holder, *rest = (cookies.session_id(request, kind) or "").split(".")
    if len(rest) != PARTS - 1:
        return None
    until, mac = rest
    try:
        proof = bytes.fromhex(mac)
        vouched = len(proof) == MAC_BYTES and request.services.keys.vouches(_bound(kind, f"{holder}.{until}"), proof)
        return UUID(holder) if vouched and request.now < _moment(until) else None
    except (ValueError, OverflowError):
        return None


def began_at(request: Request, kind: Kind) -> datetime:
    """When the password was right, of a browser that has a holder."""
    return _moment((cookies.session_id(request, kind) or "").split(".")[1]) - LASTS


def drop(request: Request, response: Response, kind: Kind) -> Response:
    """It was used, or given up."""
    cookies.clear_session_cookie(response, request.services.settings, kind)
    return response


def _bound(kind: Kind, said: str) -> bytes:
    return PURPOSE + f"{kind}.{said}".encode()


def _moment(until: str) -> datetime:
    return EPOCH + int(until) * MILLISECOND
