"""Known browsers, and the names of browsers and systems for display.

A known browser has a MAC-protected cookie per account, valid for 90 days after each sign-in. Its failed attempts are counted
separately, so that attacks from elsewhere do not lock out the owner, and a session can stay open in it. The User-Agent
header is trusted for no decision.
"""

import re
from secrets import token_hex

from tollhouse.accounts.identity.throttle import network_of
from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.kernel.limits import KNOWN_DEVICE_S
from tollhouse.kernel.tokens import digest
from tollhouse.platform.encryption import MAC_BYTES

PURPOSE = b"known device:"
NONCE_BYTES = 16
NAME_BYTES = 8

BROWSERS = (
    ("Edge", "Edg/"),
    ("Opera", "OPR/"),
    ("Samsung Internet", "SamsungBrowser/"),
    ("Firefox", "Firefox/"),
    ("Firefox", "FxiOS/"),
    ("Chrome", "CriOS/"),
    ("Chrome", "Chrome/"),
    ("Safari", "Safari/"),
)
"""The first match counts: each browser also names those below it."""
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("ChromeOS", "CrOS"),
    ("Windows", "Windows"),
    ("Mac", "Mac OS X"),
    ("Linux", "Linux"),
)
PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}(?=/|\s|$)")


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


def sent_devices(request: Request) -> frozenset[bytes]:
    """The digests of the device IDs that this browser has, of whatever account. An ID is as secret as a session."""
    return frozenset(_digest_of(value) for value in cookies.values_by_prefix(request, "device_"))


def remembered_device(request: Request) -> bytes | None:
    """The digest of the device ID that the response sets, after `remember_device`."""
    prefix = cookies.prefixed_cookie_name(request.services.settings, "device_")
    return next((_digest_of(value) for name, value, _ in request.cookies_to_set if name.startswith(prefix)), None)


def _digest_of(cookie: str) -> bytes:
    return digest(cookie.partition(".")[0])


def _cookie_name(request: Request, kind: str, account: str) -> str:
    """One cookie per account: several users may share a browser."""
    name = digest(f"{kind}\0{account}")[:NAME_BYTES].hex()
    return cookies.prefixed_cookie_name(request.services.settings, f"device_{name}")


def _mac_input(kind: str, account: str, nonce: str) -> bytes:
    return PURPOSE + f"{kind}\0{account}\0{nonce}".encode()


def user_agent_of(request: Request) -> str:
    """The User-Agent header, empty if missing."""
    return request.headers.get("user-agent") or ""


def browser_of(user_agent: str) -> str:
    """The browser, such as `Firefox`, or the name of another program; empty if there is none."""
    found = next((name for name, token in BROWSERS if token in user_agent), "")
    program = PROGRAM.match(user_agent)
    return found or (program[0] if program and program[0] != "Mozilla" else "")


def system_of(user_agent: str) -> str:
    """The operating system, such as `Android`; empty if unknown."""
    return next((name for name, token in SYSTEMS if token in user_agent), "")


def device_hash(request: Request) -> bytes:
    """The identity of a device: browser, system and network. The browser's version does not matter."""
    agent = user_agent_of(request)
    return digest(f"{browser_of(agent)}\0{system_of(agent)}\0{network_of(request.address)}")
