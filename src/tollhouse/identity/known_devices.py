"""Browsers that signed in to an account before: a cookie under our MAC tells, for 90 days and each account.

Failures of a known device are counted for itself. So whoever fails at an account from elsewhere locks out strangers alone.
"""

from secrets import token_hex

from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.kernel.limits import KNOWN_DEVICE_S
from tollhouse.kernel.tokens import digest
from tollhouse.platform.encryption import MAC_BYTES

PURPOSE = b"known device:"
NONCE_BYTES = 16
NAME_BYTES = 8


def known_device(request: Request, what: str, account: str) -> str | None:
    """By which name this browser is known at the account; None for a stranger. `what` is the kind of sign-in."""
    nonce, _, proof = (cookies.cookie_value(request, _name(request, what, account)) or "").partition(".")
    try:
        mac = bytes.fromhex(proof)
    except ValueError:
        return None
    vouched = len(mac) == MAC_BYTES and request.services.keys.vouches(_bound(what, account, nonce), mac)
    return nonce if vouched else None


def remember_device(request: Request, what: str, account: str) -> None:
    """The account was signed in to: from now on, and for as long again, this browser is known there."""
    nonce = known_device(request, what, account) or token_hex(NONCE_BYTES)
    proof = request.services.keys.mac(_bound(what, account, nonce)).hex()
    request.cookies_to_set.append((_name(request, what, account), f"{nonce}.{proof}", KNOWN_DEVICE_S))


def _name(request: Request, what: str, account: str) -> str:
    """A cookie for each account: several people may sit at one browser."""
    held = digest(f"{what}\0{account}")[:NAME_BYTES].hex()
    return cookies.prefixed_cookie_name(request.services.settings, f"device_{held}")


def _bound(what: str, account: str, nonce: str) -> bytes:
    return PURPOSE + f"{what}\0{account}\0{nonce}".encode()
