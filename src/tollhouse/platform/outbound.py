"""HTTP requests to untrusted servers: IPv4 only, from one source address, never into private networks, within ten seconds.

The result is an `Outcome`, never an exception. The address of every connection is checked when it is opened. A connection
is reused for the next request to the same host within seconds. If it turns out to be closed, the request is sent again
on a new one, so that a receiver that closes idle connections costs no attempt.
"""

import asyncio
import math
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any, Literal, Self
from weakref import WeakSet

import aiohttp
import idna
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct
from yarl import URL

from tollhouse.kernel import clock
from tollhouse.kernel.limits import DELIVERY_BODY_BYTES_MAX, DELIVERY_DEADLINE_S, URL_CHARS_MAX
from tollhouse.platform.config import Settings
from tollhouse.platform.log import log
from tollhouse.platform.response_limits import Connector

LookUp = Callable[[str, int, socket.AddressFamily, socket.SocketKind], list[Any]]
"""As `socket.getaddrinfo`: host, port, family, kind."""
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
IP_BIND_ADDRESS_NO_PORT = 24
NAME_LOOKUPS_AT_ONCE = 32
CONNECT_WITHIN_S = DELIVERY_DEADLINE_S - 0.25
IDLE_TIMEOUT_S = 4  # shorter than the keep-alive timeout of common servers
IDLE_CONNECTIONS_MAX = 256  # the maximum number of idle connections
CONNECTION_LOST = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)
RETRY_AFTER_ABSURD_S = 30 * 86_400
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class InvalidTargetError(Exception):
    """The URL must not be called; the message is a sentence for its owner."""


class BlockedAddressError(OSError):
    """The name resolves to a network that is never called."""


class NewConnectionFlag:
    """Whether a call has opened a connection."""

    __slots__ = ("is_new",)

    def __init__(self) -> None:
        self.is_new = False


_dialled: ContextVar[NewConnectionFlag] = ContextVar("dialled")


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

    @property
    def url(self) -> URL:
        """The URL to call. Path and query are sent byte for byte: an empty query keeps its question mark."""
        return URL.build(scheme=self.scheme, host=self.host, port=self.port, path=self.target or "/", encoded=True)


class Outcome(Struct, frozen=True):
    """The result of one request. `error` is None on success: a complete head with a 2xx status in time."""

    error: str | None
    http_status: int | None
    duration_ms: int
    retry_after_s: float | None = None
    body: bytes = b""

    @property
    def succeeded(self) -> bool:
        """Whether the receiver accepted it."""
        return self.error is None


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

    def errors(self, address: IPv4Address) -> bool:
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


class Outbound:
    """`async with Outbound(settings) as outbound`: sends requests, as many at once as the caller starts."""

    def __init__(
        self, settings: Settings, *, deadline_s: float = DELIVERY_DEADLINE_S, look_up: LookUp = socket.getaddrinfo
    ) -> None:
        self._gate = AddressPolicy(settings)
        self._look_up = look_up
        self._source = settings.webhook_source_ip
        self._ca_file = settings.webhook_ca_file
        self._deadline_s = deadline_s

    async def __aenter__(self) -> Self:
        """Raises `OSError` if the source address is not one of this host: at the start rather than per request."""
        self._socket().close()
        tls = ssl.create_default_context()
        if self._ca_file is not None:
            tls.load_verify_locations(self._ca_file)
        self._names = ThreadPoolExecutor(NAME_LOOKUPS_AT_ONCE, "names")
        self.sockets: WeakSet[socket.socket] = WeakSet()
        self._with_reuse, self._without_reuse = self._session(tls, force_close=False), self._session(tls, force_close=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._with_reuse.close()
        await self._without_reuse.close()
        self._names.shutdown(wait=False, cancel_futures=True)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, keep_body: bool = False) -> Outcome:
        """Send `body` once. Redirects are not followed; at most 16 KiB of the response body are read and discarded.

        Only requests to trusted servers keep them.
        """
        started = time.monotonic()
        response = _Answer(keep_body=keep_body)
        error: str | None = None
        dialled = NewConnectionFlag()
        _dialled.set(dialled)
        try:
            async with asyncio.timeout(self._deadline_s):
                target = self._checked(url)
                try:
                    await self._exchange(self._with_reuse, target, body, headers, response)
                except CONNECTION_LOST as exc:
                    if dialled.is_new or response.status is not None or isinstance(exc, aiohttp.ClientConnectorError):
                        raise
                    await self._exchange(self._without_reuse, target, body, headers, response)
        except Exception as exc:  # noqa: BLE001 - whatever a receiver does is its answer
            error = _error_of(exc) if response.status is None else None
        if response.status is not None and not 200 <= response.status <= 299:  # noqa: PLR2004 - what 2xx means
            error = "redirect_not_followed" if response.status in REDIRECTS else f"http_{response.status}"
        took_ms = round((time.monotonic() - started) * 1000)
        return Outcome(error, response.status, took_ms, response.retry_after_s, bytes(response.body or b""))

    async def _exchange(
        self, session: aiohttp.ClientSession, target: URL, body: bytes, headers: Mapping[str, str], response: "_Answer"
    ) -> None:
        """Send, and record the head of the response. A connection that was not read completely is closed."""
        async with session.post(target, data=body, headers=headers, allow_redirects=False) as received:
            response.status = received.status
            response.retry_after_s = _retry_after_s(received.headers)
            await _drain(received.content, response.body)
            if len(self.sockets) > IDLE_CONNECTIONS_MAX:
                received.close()

    def _session(self, tls: ssl.SSLContext, *, force_close: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=Connector(
                resolver=_CheckedNames(self._gate, self._names, self._look_up),
                use_dns_cache=False,
                family=socket.AF_INET,
                happy_eyeballs_delay=None,
                socket_factory=self._gated_socket,
                ssl=tls,
                limit=0,
                force_close=force_close,
                keepalive_timeout=None if force_close else IDLE_TIMEOUT_S,  # aiohttp rejects both together
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN_S, ceil_threshold=math.inf),
            auto_decompress=False,
            read_bufsize=DELIVERY_BODY_BYTES_MAX // 2,
            skip_auto_headers=("Accept-Encoding",),
        )

    def _checked(self, url: str) -> URL:
        """IP addresses in URLs are checked here, names by the resolver."""
        literal, read = _read(url)
        if literal is not None and self._gate.errors(literal):
            raise BlockedAddressError
        return read

    def _gated_socket(self, found: tuple[Any, ...]) -> socket.socket:
        """The last check: an IP address in a URL does not reach the resolver, so every socket checks."""
        family, address = found[0], IPv4Address(found[4][0])
        if family != socket.AF_INET or self._gate.errors(address):
            raise BlockedAddressError
        _dialled.get().is_new = True
        opened = self._socket()
        self.sockets.add(opened)
        return opened

    def _socket(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            if self._source is not None:
                # Without this bind() picks the port before the destination is known, and the whole host shares 28,000.
                sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
                sock.bind((str(self._source), 0))
        except OSError:
            sock.close()
            raise
        return sock


@lru_cache(maxsize=1_024)
def _read(url: str) -> tuple[IPv4Address | None, URL]:
    """The parts of this URL; cached, as events are sent to the same URLs."""
    target = parse_target(url)
    return target.literal, target.url


class _Answer:
    """The head of a response, if there was one, and its body if it is kept."""

    __slots__ = ("body", "retry_after_s", "status")

    def __init__(self, *, keep_body: bool) -> None:
        self.body = bytearray() if keep_body else None
        self.status: int | None = None
        self.retry_after_s: float | None = None


class _CheckedNames(AbstractResolver):
    """A records only. One blocked address rejects the name; only checked addresses are connected to."""

    def __init__(self, gate: AddressPolicy, threads: ThreadPoolExecutor, look_up: LookUp) -> None:
        self._gate = gate
        self._threads = threads
        self._look_up = look_up

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        look_up = partial(self._look_up, host, port, socket.AF_INET, socket.SOCK_STREAM)
        found = [entry[4][0] for entry in await asyncio.get_running_loop().run_in_executor(self._threads, look_up)]
        addresses = [str(address) for address in found]
        if any(self._gate.errors(IPv4Address(address)) for address in addresses):
            raise BlockedAddressError
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


async def _drain(content: aiohttp.StreamReader, kept: bytearray | None) -> None:
    left = DELIVERY_BODY_BYTES_MAX
    while left > 0 and (read := await content.read(left)):
        left -= len(read)
        if kept is not None:
            kept += read


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


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a number or a date; None if invalid. A date is compared with the receiver's clock."""
    if not (text := headers.get("Retry-After", "").strip()):
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:  # noqa: PLR2004 - more digits are absurd anyway
        wait_s = float(text)
    else:
        try:
            wait_s = (parsedate_to_datetime(text) - _date(headers)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return wait_s if 0 < wait_s <= RETRY_AFTER_ABSURD_S else None


def _date(headers: Mapping[str, str]) -> datetime:
    try:
        return parsedate_to_datetime(headers["Date"])
    except (KeyError, ValueError):
        return clock.now()


def _error_of(exc: Exception) -> str:  # noqa: PLR0911 - the closed list of errors, in order of precedence
    cause = exc.os_error if isinstance(exc, aiohttp.ClientConnectorError) else exc
    if isinstance(cause, BlockedAddressError | InvalidTargetError):
        return "blocked_destination"
    if isinstance(exc, aiohttp.ClientSSLError | ssl.SSLError) or isinstance(cause, ssl.SSLError):
        return "tls_error"
    if isinstance(exc, aiohttp.ClientConnectorDNSError):
        return "dns_error"
    if isinstance(cause, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):  # also while connecting
        return "connection_reset"
    if isinstance(exc, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return "connect_timeout" if isinstance(cause, TimeoutError) else "connection_refused"
    if isinstance(exc, TimeoutError):
        return "timeout"
    if isinstance(exc, CONNECTION_LOST):
        return "connection_reset"
    if not isinstance(exc, aiohttp.ClientError | ValueError):
        log.error("call failed", exc_info=exc)
    return "bad_response"
