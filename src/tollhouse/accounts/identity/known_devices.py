"""Known browsers: a MAC-protected cookie per account, valid for 90 days after each sign-in.

Failed attempts of a known browser are counted separately, so that attacks from elsewhere do not lock out the owner.
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


def find_known_device(request: Request, kind: str, account: str) -> str | None:
    """The device ID of this browser for the account and kind of sign-in; None if it is unknown."""
    nonce, _, proof = (cookies.cookie_value(request, _cookie_name(request, kind, account)) or "").partition(".")
    try:
        mac = bytes.fromhex(proof)
    except ValueError:
        return None
    is_valid = len(mac) == MAC_BYTES and request.services.keys.verify_mac(_mac_input(kind, account, nonce), mac)
    return nonce if is_valid else None


def remember_device(request: Request, kind: str, account: str) -> None:
    """Set or renew the cookie of this browser after a sign-in."""
    nonce = find_known_device(request, kind, account) or token_hex(NONCE_BYTES)
    proof = request.services.keys.mac(_mac_input(kind, account, nonce)).hex()
    request.cookies_to_set.append((_cookie_name(request, kind, account), f"{nonce}.{proof}", KNOWN_DEVICE_S))


def _cookie_name(request: Request, kind: str, account: str) -> str:
    """One cookie per account: several users may share a browser."""
    name = digest(f"{kind}\0{account}")[:NAME_BYTES].hex()
    return cookies.prefixed_cookie_name(request.services.settings, f"device_{name}")


def _mac_input(kind: str, account: str, nonce: str) -> bytes:
    return PURPOSE + f"{kind}\0{account}\0{nonce}".encode()
