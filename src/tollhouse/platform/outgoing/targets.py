"""Which addresses may be called: the syntax of a URL, and the networks that are never called."""

import re
import socket
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Literal

import idna
from msgspec import Struct

from tollhouse.kernel.limits import URL_CHARS_MAX
from tollhouse.platform.settings.config import Settings

BLOCKED = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
"""Listed explicitly: `ipaddress.is_global` includes multicast and a few others."""
BAD_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)
"""Ports from 1024 on that browsers block too: other protocols could be attacked through them."""
LOWEST_FREE_PORT = 1024
LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa", ".onion")
PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>(?:[/?][!-\[\]-~]*)?)", re.IGNORECASE)
AUTHORITY = re.compile(r"(?P<host>[^:]+)(?::(?P<port>[0-9]{1,5}))?")
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
HOST_CHARS_MAX = 253

PRIVATE = (
    "This must not be a private, local or reserved address, unless the server's setting TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS "
    "allows it."
)
LOCAL = (
    "This must have a public host name, unless the server's setting TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS allows addresses of "
    "its own machine."
)


class InvalidTargetError(Exception):
    """The URL must not be called; the message is a sentence for its owner."""


class Target(Struct, frozen=True):
    """The parts of a valid URL: the host in lower-case ASCII without trailing dots, the rest unchanged."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str

    @property
    def literal(self) -> IPv4Address | None:
        """The host if it is an IP address."""
        return IPv4Address(self.host) if NUMBER.fullmatch(self.host.rpartition(".")[2]) else None


class AddressPolicy:
    """The addresses that may be called."""

    def __init__(self, settings: Settings) -> None:
        self._allowed = settings.webhook_allowed_networks
        self._ingress = settings.ingress_ip
        self._source = settings.webhook_source_ip

    @property
    def allows_local_names(self) -> bool:
        """In a test setup with allowed networks the address decides, not the name."""
        return bool(self._allowed)

    def blocks(self, address: IPv4Address) -> bool:
        """Whether this address is never called. No setting allows the ingress."""
        if address == self._ingress:
            return True
        if any(address in network for network in self._allowed):
            return False
        return address == self._source or any(address in network for network in BLOCKED) or is_this_host(address)


def parse_target(url: str) -> Target:
    """Parse a URL, when it is saved and when it is called. Raises `InvalidTargetError`."""
    if len(url) > URL_CHARS_MAX:
        raise InvalidTargetError(f"This must be at most {URL_CHARS_MAX:,} characters long.")
    if "#" in url:
        raise InvalidTargetError("This must not have a fragment.")
    parts = PARTS.fullmatch(url)
    if parts is None:
        raise InvalidTargetError(
            "This must be an http or https URL, percent-encoded, without spaces, backslashes and control characters."
        )
    if "@" in parts["authority"]:
        raise InvalidTargetError("This must not contain a user name or password.")
    authority = AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise InvalidTargetError("This must have a host name or IPv4 address, with nothing but a port number after it.")
    scheme: Literal["http", "https"] = "https" if parts["scheme"].lower() == "https" else "http"
    port = int(authority["port"] or (443 if scheme == "https" else 80))
    if port not in {80, 443} and (not LOWEST_FREE_PORT <= port < 1 << 16 or port in BAD_PORTS):
        raise InvalidTargetError("This must have port 80, 443, or 1,024 to 65,535, and not one of another protocol.")
    target = parts["target"]
    return Target(scheme, _host(authority["host"]), port, f"/{target}" if target.startswith("?") else target)


def url_error(url: str, settings: Settings, *, if_http: str | None) -> str | None:
    """Why a URL must not be called, as a sentence for its owner: `if_http` if it is not https. None if it may."""
    try:
        target = parse_target(url)
    except InvalidTargetError as refused:
        return str(refused)
    if if_http is not None and target.scheme != "https":
        return if_http
    policy = AddressPolicy(settings)
    if target.literal is not None:
        return PRIVATE if policy.blocks(target.literal) else None
    return LOCAL if is_local_name(target.host) and not policy.allows_local_names else None


def is_local_name(host: str) -> bool:
    """Whether this name is local: a single label, or a reserved suffix."""
    return "." not in host or f".{host}".endswith(LOCAL_SUFFIXES)


def is_this_host(address: IPv4Address) -> bool:
    """Whether the kernel would use that address as its own source. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))
        except OSError:
            return False
        return bool(probe.getsockname()[0] == str(address))


def _host(text: str) -> str:
    host = text.lower()
    if not text.isascii() or "xn--" in host:
        try:
            host = idna.encode(host, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            raise InvalidTargetError("This must have a valid host name.") from None
    host = host.rstrip(".")
    if len(host) > HOST_CHARS_MAX or not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise InvalidTargetError("This must have a valid host name.")
    if NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            IPv4Address(host)
        except AddressValueError:
            raise InvalidTargetError("This must have an IP address written as four decimal numbers.") from None
    return host
