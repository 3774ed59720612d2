"""HTTP requests to untrusted servers: IPv4 only, from one source address, never into private networks, within ten seconds.

The result is an `Outcome`, never an exception. The address of every connection is checked when it is opened. A connection
is reused for the next request to the same host within seconds. If it turns out to be closed, the request is sent again
on a new one, so that a receiver that closes idle connections costs no attempt.
"""

import asyncio
import math
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from ipaddress import IPv4Address
from typing import Any, Self
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct
from yarl import URL

from tollhouse.kernel import clock
from tollhouse.kernel.limits import DELIVERY_BODY_BYTES_MAX, DELIVERY_DEADLINE_S
from tollhouse.platform.config import Settings
from tollhouse.platform.log import log
from tollhouse.platform.response_limits import Connector
from tollhouse.platform.targets import AddressPolicy, InvalidTargetError, parse_target

LookUp = Callable[[str, int, socket.AddressFamily, socket.SocketKind], list[Any]]
"""As `socket.getaddrinfo`: host, port, family, kind."""
IP_BIND_ADDRESS_NO_PORT = 24
NAME_LOOKUPS_AT_ONCE = 32
CONNECT_WITHIN_S = DELIVERY_DEADLINE_S - 0.25
IDLE_TIMEOUT_S = 4  # shorter than the keep-alive timeout of common servers
IDLE_CONNECTIONS_MAX = 256  # the maximum number of idle connections
CONNECTION_LOST = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)
RETRY_AFTER_ABSURD_S = 30 * 86_400
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class BlockedAddressError(OSError):
    """The name resolves to a network that is never called."""


class NewConnectionFlag:
    """Whether a call has opened a connection."""

    __slots__ = ("is_new",)

    def __init__(self) -> None:
        self.is_new = False


_dialled: ContextVar[NewConnectionFlag] = ContextVar("dialled")


class Outcome(Struct, frozen=True):
    """The result of one request. `error` is None on success: a complete head with a 2xx status in time.

    `headers` and `body` are those of the response, if they were to be kept.
    """

    error: str | None
    http_status: int | None
    duration_ms: int
    retry_after_s: float | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the receiver accepted it."""
        return self.error is None


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

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, kept_bytes: int = 0) -> Outcome:
        """Send `body` once. Redirects are not followed; at most 16 KiB of the response body are read.

        The headers and the first `kept_bytes` of the body are kept.
        """
        started = time.monotonic()
        response = _Answer(kept_bytes)
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
        kept = (bytes(response.body), response.headers)
        return Outcome(error, response.status, took_ms, response.retry_after_s, *kept)

    async def _exchange(
        self, session: aiohttp.ClientSession, target: URL, body: bytes, headers: Mapping[str, str], response: "_Answer"
    ) -> None:
        """Send, and record the head of the response. A connection that was not read completely is closed."""
        async with session.post(target, data=body, headers=headers, allow_redirects=False) as received:
            response.status = received.status
            response.retry_after_s = _retry_after_s(received.headers)
            if response.kept_bytes:
                response.headers = tuple(received.headers.items())
            await _drain(received.content, response)
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
        if literal is not None and self._gate.blocks(literal):
            raise BlockedAddressError
        return read

    def _gated_socket(self, found: tuple[Any, ...]) -> socket.socket:
        """The last check: an IP address in a URL does not reach the resolver, so every socket checks."""
        family, address = found[0], IPv4Address(found[4][0])
        if family != socket.AF_INET or self._gate.blocks(address):
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
    """The head of a response, if there was one, and what is kept of it."""

    __slots__ = ("body", "headers", "kept_bytes", "retry_after_s", "status")

    def __init__(self, kept_bytes: int) -> None:
        self.kept_bytes = kept_bytes
        self.body = bytearray()
        self.headers: tuple[tuple[str, str], ...] = ()
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
        if any(self._gate.blocks(IPv4Address(address)) for address in addresses):
            raise BlockedAddressError
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


async def _drain(content: aiohttp.StreamReader, response: _Answer) -> None:
    left = DELIVERY_BODY_BYTES_MAX
    while left > 0 and (read := await content.read(left)):
        left -= len(read)
        response.body += read[: response.kept_bytes - len(response.body)]


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
