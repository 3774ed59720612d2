"""HTTP requests to untrusted servers: IPv4 only, from one source address, never into private networks, within ten seconds.

The result is an `Outcome`, never an exception. The address of every connection is checked when it is opened. A connection
is reused for the next request to the same host within seconds. If it turns out to be closed, the request is sent again
on a new one, so that a receiver that closes idle connections costs no attempt.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from ipaddress import IPv4Address
from typing import Any, Literal, Self

from msgspec import Struct

from tollhouse.kernel import clock
from tollhouse.kernel.limits import DELIVERY_DEADLINE_S
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.client_connection import ClientConnection, ConnectionPool, Origin, Response, ResponseError
from tollhouse.platform.outgoing.targets import AddressPolicy, InvalidTargetError, parse_target
from tollhouse.platform.settings.config import Settings

LookUp = Callable[[str, int, socket.AddressFamily, socket.SocketKind], list[Any]]
"""`socket.getaddrinfo`, or a test's own: host, port, family, kind."""
Method = Literal["GET", "POST"]
IP_BIND_ADDRESS_NO_PORT = 24
NAME_LOOKUPS_AT_ONCE = 32
CONNECT_WITHIN_S = DELIVERY_DEADLINE_S - 0.25
CONNECTION_LOST = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
RETRY_AFTER_ABSURD_S = 30 * 86_400
REDIRECTS = frozenset({301, 302, 303, 307, 308})
DEFAULT_PORTS = {"http": 80, "https": 443}


class BlockedAddressError(Exception):
    """The name resolves to a network that is never called."""


class NameLookUpError(Exception):
    """The name has no address."""


class ConnectError(Exception):
    """The connection could not be opened: refused, or unreachable."""


class ConnectTimeoutError(Exception):
    """The connection was not opened in time."""


class RequestLine(Struct, frozen=True):
    """What the requests to a URL have in common: where they go, and the first lines of their heads."""

    origin: Origin
    literal: IPv4Address | None
    lines: str


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
        self.connections = ConnectionPool()

    async def __aenter__(self) -> Self:
        """Raises `OSError` if the source address is not one of this host: at the start rather than per request."""
        self._socket().close()
        self._tls = ssl.create_default_context()
        if self._ca_file is not None:
            self._tls.load_verify_locations(self._ca_file)
        self._names = ThreadPoolExecutor(NAME_LOOKUPS_AT_ONCE, "names")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connections.close()
        self._names.shutdown(wait=False, cancel_futures=True)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, kept_bytes: int = 0) -> Outcome:
        """Send `body` once. Redirects are not followed; at most 16 KiB of the response body are read.

        The headers and the first `kept_bytes` of the body are kept.
        """
        return await self._call("POST", url, body, headers, Response(kept_bytes))

    async def get(self, url: str, headers: Mapping[str, str], *, kept_bytes: int) -> Outcome:
        """Request a resource once. Redirects are not followed; at most `kept_bytes` of the response body are read."""
        return await self._call("GET", url, b"", headers, Response(kept_bytes, kept_bytes))

    async def _call(self, method: Method, url: str, body: bytes, headers: Mapping[str, str], response: Response) -> Outcome:
        started = time.monotonic()
        kept_bytes = response.kept_bytes
        error: str | None = None
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._exchange(_request_line(url, method), body, headers, response)
        except Exception as exc:  # noqa: BLE001 - whatever a receiver does is its answer
            error = _error_of(exc) if response.status is None else None
        took_ms = round((time.monotonic() - started) * 1000)
        if response.status is None:
            return Outcome(error, None, took_ms)
        retry_after_s = None
        if not 200 <= response.status <= 299:  # noqa: PLR2004 - what 2xx means
            error = "redirect_not_followed" if response.status in REDIRECTS else f"http_{response.status}"
            retry_after_s = _retry_after_s(_decoded(response.headers))
        kept = _decoded(response.headers) if kept_bytes else ()
        return Outcome(error, response.status, took_ms, retry_after_s, response.body, kept)

    async def _exchange(self, line: RequestLine, body: bytes, headers: Mapping[str, str], response: Response) -> None:
        """Send on a kept connection, else on a new one. A kept one that was closed before it answered is replaced."""
        request = _encode(line, body, headers)
        connection = self.connections.take(line.origin)
        if connection is not None:
            try:
                await connection.exchange(request, response)
            except CONNECTION_LOST:
                if response.has_begun:
                    raise
                connection = None
        if connection is None:
            connection = await self._connect(line)
            await connection.exchange(request, response)
        self.connections.put(line.origin, connection)

    async def _connect(self, line: RequestLine) -> ClientConnection:
        """Open a connection to one of the host's addresses, tried in their order. One blocked address rejects the name."""
        scheme, host, port = line.origin
        addresses = [line.literal] if line.literal is not None else await self._resolve(host, port)
        if any(self._gate.blocks(address) for address in addresses):
            raise BlockedAddressError
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                opened = await self._dial(addresses, port)
        except CONNECTION_LOST:
            raise
        except TimeoutError:
            raise ConnectTimeoutError from None
        except OSError as error:
            raise ConnectError from error
        connection = self.connections.create()
        loop = asyncio.get_running_loop()
        tls, name = (self._tls, host) if scheme == "https" else (None, None)
        try:
            await loop.create_connection(lambda: connection, sock=opened, ssl=tls, server_hostname=name)
        except BaseException:
            self.connections.open.discard(connection)
            raise
        finally:
            if not isinstance(loop, asyncio.BaseEventLoop):
                opened.detach()  # uvloop closes the descriptor by itself; closed a second time it may be another's
            elif not connection.is_open:
                opened.close()
        return connection

    async def _resolve(self, host: str, port: int) -> list[IPv4Address]:
        """The addresses of the A records of a name."""
        look_up = partial(self._look_up, host, port, socket.AF_INET, socket.SOCK_STREAM)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._names, look_up)
        except (OSError, UnicodeError) as error:
            raise NameLookUpError from error
        return [IPv4Address(entry[4][0]) for entry in found]

    async def _dial(self, addresses: Iterable[IPv4Address], port: int) -> socket.socket:
        """A socket that is connected to the first of these addresses that answers. Raises the last one's `OSError`."""
        failed = OSError("no address")
        for address in addresses:
            opened = self._socket()
            try:
                await asyncio.get_running_loop().sock_connect(opened, (str(address), port))
            except OSError as error:
                opened.close()
                failed = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise failed

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
def _request_line(url: str, method: Method) -> RequestLine:
    """Cached, as events are sent to the same URLs. Raises `InvalidTargetError`."""
    target = parse_target(url)
    authority = target.host if target.port == DEFAULT_PORTS[target.scheme] else f"{target.host}:{target.port}"
    lines = f"{method} {target.target or '/'} HTTP/1.1\r\nHost: {authority}\r\nAccept: */*\r\n"
    return RequestLine((target.scheme, target.host, target.port), target.literal, lines)


def _encode(line: RequestLine, body: bytes, headers: Mapping[str, str]) -> bytes:
    """A request. Raises `ValueError` for a header that is not printable ASCII: it could contain other headers."""
    text = "".join(headers.values())
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a header is not printable ASCII")
    more = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"{line.lines}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple([(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in headers])


def _retry_after_s(headers: Iterable[tuple[str, str]]) -> float | None:
    """Seconds, from a number or a date; None if invalid. A date is compared with the receiver's clock."""
    first = {name.lower(): value for name, value in reversed(tuple(headers))}
    if not (text := first.get("retry-after", "").strip()):
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:  # noqa: PLR2004 - more digits are absurd anyway
        wait_s = float(text)
    else:
        try:
            wait_s = (parsedate_to_datetime(text) - _date(first)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return wait_s if 0 < wait_s <= RETRY_AFTER_ABSURD_S else None


def _date(headers: Mapping[str, str]) -> datetime:
    try:
        return parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError):
        return clock.now()


ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((BlockedAddressError, InvalidTargetError), "blocked_destination"),
    (ssl.SSLError, "tls_error"),
    (NameLookUpError, "dns_error"),
    (CONNECTION_LOST, "connection_reset"),
    (ConnectError, "connection_refused"),
    (ConnectTimeoutError, "connect_timeout"),
    (TimeoutError, "timeout"),
    (OSError, "connection_reset"),
    ((ResponseError, ValueError), "bad_response"),
)
"""The closed list of errors, in order of precedence."""


def _error_of(exc: Exception) -> str:
    for types, error in ERRORS:
        if isinstance(exc, types):
            return error
    log.error("call failed", exc_info=exc)
    return "bad_response"
