"""Parsing the values of settings. Each raises `ValueError` with the rule of the value."""

import base64
import binascii
import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Network, NetmaskValueError, ip_address, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from tollhouse.kernel import bank_codes, limits

T = TypeVar("T")
TIMEOUT_S_MIN, TIMEOUT_S_MAX = 0.1, 3_600
TOKEN_CHARS_MIN = 32
KEY_BYTES = 32
PORT_MAX, IPV6 = 65_535, 6
ACCOUNT_CODE, ACCOUNT_NUMBER = re.compile(r"[a-z_]+(:[a-z0-9_]+)?"), re.compile(r"[0-9]{4,9}")

BASE_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
"""No segment starts with a dot: browsers would resolve it."""


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
USER_INFORMATION = re.compile(r"(?<=://)\S*@")
PARAMETER = re.compile(r"(?P<name>[?&;#][^=&;#\s]*=)[^&;#\s]*|\?[^=&;#\s]+(?=$|[&;#])")
HIDDEN = "***"


def without_secrets(text: str) -> str:
    """The text to print of any setting: user names, passwords and the values of query parameters in URLs are hidden."""
    return URL.sub(lambda found: _without_secrets(found[0]), text)


def _without_secrets(url: str) -> str:
    shown = USER_INFORMATION.sub(f"{HIDDEN}@", url)
    return PARAMETER.sub(lambda found: f"{found['name'] or '?'}{HIDDEN}", shown)


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isascii() or not text.isdigit():
        raise ValueError("must be a whole number, 0 or more")
    return int(text)


def between(least: int, most: int, unit: str) -> Callable[[str], int]:
    """A whole number in a range."""

    def read(text: str) -> int:
        number = count(text)
        if not least <= number <= most:
            raise ValueError(f"must be between {least} and {most} {unit}")
        return number

    return read


def at_most(ceiling: int) -> Callable[[str], int]:
    """Seconds up to a maximum."""
    return between(1, ceiling, "seconds: it may be shortened, never lengthened")


def parsed(parse: Callable[[str], T | None], rule: str) -> Callable[[str], T]:
    """What `parse` makes of the text, unless it is None."""

    def read(text: str) -> T:
        value = parse(text)
        if value is None:
            raise ValueError(rule)
        return value

    return read


def account_numbers(text: str) -> tuple[tuple[str, str], ...]:
    """Codes or kinds of accounts, each once, and their numbers of 4 to 9 digits."""
    parts = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    numbers = {code: number for code, _, number in parts}
    if len(numbers) < len(parts) or not all(map(ACCOUNT_CODE.fullmatch, numbers)):
        raise ValueError("must be codes or kinds of accounts with a number each, such as bank=1800,merchants=1700")
    if not all(map(ACCOUNT_NUMBER.fullmatch, numbers.values())):
        raise ValueError("must have numbers of 4 to 9 digits")
    return tuple(numbers.items())


def address(text: str) -> IPv4Address:
    """An IPv4 address."""
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise ValueError("must be an IPv4 address") from None


def networks(text: str) -> tuple[IPv4Network, ...]:
    """IPv4 networks, separated by commas."""
    try:
        return tuple(IPv4Network(part.strip()) for part in text.split(",") if part.strip())
    except (AddressValueError, NetmaskValueError, ValueError):
        raise ValueError("must be IPv4 networks such as 127.0.0.0/8, separated by commas") from None


def proxies(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """IP addresses or networks, separated by commas; `none` for none."""
    if text == "none":
        return ()
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError("must be IP addresses or networks such as 127.0.0.1 or 10.0.0.0/8, separated by commas") from None


def hosts(text: str) -> tuple[str, ...]:
    """Host names, separated by commas, in lower case."""
    found = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if any(urlsplit(f"https://{host}").hostname != host for host in found):
        raise ValueError("must be hosts separated by commas, such as agent.example")
    return found


def origins(text: str) -> tuple[str, ...]:
    """Origins, separated by commas: scheme, host and port, such as `https://agent.example`."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for origin in found:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or f"{parts.scheme}://{parts.netloc}" != origin or not parts.hostname:
            raise ValueError("must be origins separated by commas, such as https://agent.example")
    return found


def choice(yes: str, no: str) -> Callable[[str], bool]:
    """One of two words: whether it is the first one."""

    def read(text: str) -> bool:
        if text not in {yes, no}:
            raise ValueError(f"must be {yes} or {no}")
        return text == yes

    return read


on_or_off = choice("on", "off")
"""Whether it is on."""


def key_ring(text: str) -> tuple[tuple[str, bytes], ...]:
    """The keys of a key ring setting, the one in use first. Raises `ValueError`."""
    ring: list[tuple[str, bytes]] = []
    for part in text.split(",") if text else []:
        name, colon, encoded = part.strip().partition(":")
        try:
            key = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        except (binascii.Error, ValueError):
            key = b""
        if not name or not colon or len(key) != KEY_BYTES:
            raise ValueError("each key must be id:base64url of 32 bytes, separated by commas")
        ring.append((name, key))
    if len({name for name, _ in ring}) != len(ring):
        raise ValueError("key IDs must be unique")
    return tuple(ring)


def listen_address(text: str) -> tuple[str, int]:
    """An IP address and a port to listen on."""
    host, _, port = text.rpartition(":")
    try:
        found = ip_address(host.removeprefix("[").removesuffix("]")), int(port) if port.isascii() and port.isdigit() else 0
    except ValueError:
        found = None, 0
    if found[0] is None or not 1 <= found[1] <= PORT_MAX or (found[0].version == IPV6) != host.startswith("["):
        raise ValueError("must be an IP address and a port, such as 127.0.0.1:9464 or [::1]:9464")
    return str(found[0]), found[1]


def is_loopback(host: str) -> bool:
    """Whether only this host reaches this IP address."""
    return ip_address(host).is_loopback


def token(text: str) -> str:
    """A random token, as it is sent in a header."""
    if len(text) < TOKEN_CHARS_MIN or not all("!" <= char <= "~" for char in text):
        raise ValueError(f"must be at least {TOKEN_CHARS_MIN} visible ASCII characters")
    return text


def traces_url(text: str) -> str:
    """The address of a collector. What sends to it is an optional part of the installation."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError("must be an http or https URL without a user name")
    if importlib.util.find_spec("opentelemetry") is None:
        raise ValueError("requires the extra `otel`, which is not installed: run `scripts/install otel`")
    return text


def seconds(text: str) -> float:
    """A duration, from a tenth of a second to an hour."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not TIMEOUT_S_MIN <= seconds <= TIMEOUT_S_MAX:
        raise ValueError(f"must be between {TIMEOUT_S_MIN} and {TIMEOUT_S_MAX} seconds")
    return seconds


def schedule(text: str) -> tuple[float, ...]:
    """Seconds before each retry, separated by commas."""
    try:
        numbers = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError("must be numbers of seconds, separated by commas") from None
    if len(numbers) > limits.LIVE_RETRIES_MAX or any(not 0 <= number <= limits.GRANT_S for number in numbers):
        raise ValueError("must be at most eight numbers of seconds, 0 or more")
    return numbers


def _path(is_right: Callable[[Path], bool], what: str) -> Callable[[str], Path]:
    def read(text: str) -> Path:
        path = Path(text)
        if not is_right(path):
            raise ValueError(f"must be the {what}")
        return path

    return read


def _is_program(path: Path) -> bool:
    return path.is_absolute() and path.is_file() and os.access(path, os.X_OK)


file = _path(Path.is_file, "path of an existing file")
folder = _path(Path.is_dir, "path of an existing folder")
program = _path(_is_program, "absolute path of an executable file")


def small_text(path: Path, bytes_max: int) -> str:
    """The text of a file of at most this size. Raises `ValueError`."""
    try:
        with path.open("rb") as opened:
            data = opened.read(bytes_max + 1)
        if len(data) > bytes_max:
            raise ValueError(f"is larger than {bytes_max} bytes")
        return data.decode()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not valid UTF-8") from None


iban = parsed(bank_codes.parse_iban, "must be the IBAN of an account that accepts SEPA transfers")
bic = parsed(bank_codes.parse_bic, "must be a BIC of 8 or 11 characters")
postal_address = parsed(
    bank_codes.parse_address, "must be a street, postal code, city and country, such as: Main Street 7; 10115; Berlin; DE"
)


def holder(text: str) -> str:
    """The name of an account holder."""
    if len(text) > limits.ACCOUNT_HOLDER_CHARS_MAX or not text.isprintable():
        raise ValueError(f"must be a name of at most {limits.ACCOUNT_HOLDER_CHARS_MAX} characters")
    return text


def base_url(text: str) -> str:
    """The URL of the service for browsers and clients, without a trailing slash."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http or https URL")
    if text.endswith("/") or "?" in text or "#" in text or "@" in parts.netloc:
        raise ValueError("must not have a trailing slash, query, fragment or user name")
    if not BASE_PATH.fullmatch(parts.path) or " " in text:
        raise ValueError("must have no path, or a path of plain segments such as /pay")
    return text


def years(text: str) -> int:
    """The retention of audit logs in days."""
    number = count(text)
    if 0 < number < limits.AUDIT_DAYS_MIN:
        raise ValueError(f"must be 0, which keeps everything, or at least {limits.AUDIT_DAYS_MIN} days")
    return number


def bare_host(url: str) -> str:
    """Host and port of a URL in lower case, without the default port of the scheme."""
    parts = urlsplit(url.lower())
    return parts.netloc.removesuffix({"http": ":80", "https": ":443"}.get(parts.scheme, ":"))


def is_local_url(url: str) -> bool:
    """Whether the host of a URL is this machine."""
    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}


def is_local_origin(origin: str) -> bool:
    """Whether an Origin header names a page of this machine."""
    try:
        return urlsplit(origin).scheme in {"http", "https"} and is_local_url(origin)
    except ValueError:
        return False


def default_data_dir(environ: Mapping[str, str]) -> str:
    """`$XDG_DATA_HOME/tollhouse`, or `~/.local/share/tollhouse`."""
    home = environ.get("HOME") or str(Path.home())
    return str(Path(environ.get("XDG_DATA_HOME") or f"{home}/.local/share") / "tollhouse")
