"""Limits of a web process's connections, in total and per address, and which one is closed when there are too many.

A connection without a complete request can be closed safely; the one that has waited longest is closed first. So idle
and slow connections make room for new ones, and only requests in progress can fill the process.
"""

import asyncio
import sys
from collections import Counter
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from tollhouse.kernel.errors import ApiError, TemporarilyUnavailable, TooManyConnections
from tollhouse.kernel.limits import LINGER_S, LINGERING_CONNECTIONS_MAX
from tollhouse.platform.log.events import log
from tollhouse.platform.settings.config import Settings

SWEEP_EVERY_S = 0.05
SWEEP_PART, SWEEP_PART_MIN = 20, 50
"""Each sweep checks a twentieth of all connections, so that no request waits while thousands are checked."""
TELL_EVERY_S = 1.0
FILES_RESERVED = 128
"""File descriptors for everything except client connections: database, logs, templates."""
IPV6_NETWORK_BYTES = 8


class Connection(Protocol):
    """The interface of a connection for the limits."""

    def check(self, now: float) -> None:
        """Close it if one of its deadlines has passed."""
        ...

    def abort(self) -> None:
        """Close it immediately."""
        ...


class ConnectionLimits:
    """The open connections per web process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._connections_max = max(1, min(settings.connections_max, _files_max() - FILES_RESERVED))
        self._open: dict[Connection, str | None] = {}
        self._per_address: Counter[str] = Counter()
        self._interruptible: dict[Connection, None] = {}
        self._lingering: dict[Connection, float] = {}
        self._turned_away: Counter[str] = Counter()
        self._sweep: asyncio.TimerHandle | None = None
        self._to_check: list[Connection] = []
        self._tell_at = 0.0

    def admit(self, connection: Connection, address: str) -> ApiError | None:
        """Count a new connection, or return why it is rejected."""
        counted_as = self.counted_as(address)
        if counted_as is not None and self._per_address[counted_as] >= self.settings.connections_per_address_max > 0:
            return self._refused(TooManyConnections())
        if len(self._open) >= self._connections_max:
            longest = next(iter(self._interruptible), None)
            if longest is None:
                return self._refused(TemporarilyUnavailable())
            self._turned_away["evicted"] += 1
            self.leave(longest)
            longest.abort()
        self._open[connection] = counted_as
        if counted_as is not None:
            self._per_address[counted_as] += 1
        self._interruptible[connection] = None
        self._sweep_soon()
        return None

    def counted_as(self, address: str) -> str | None:
        """The address that is counted; None for a trusted proxy, which has many clients."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return address
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        return None if any(parsed in network for network in self.settings.trusted_proxies) else _network_of(parsed)

    def leave(self, connection: Connection) -> None:
        """Stop counting a connection. It may be removed already."""
        counted_as = self._open.pop(connection, None)
        self._interruptible.pop(connection, None)
        self._lingering.pop(connection, None)
        if counted_as is not None:
            self._per_address[counted_as] -= 1
            if not self._per_address[counted_as]:
                del self._per_address[counted_as]

    def waits(self, connection: Connection) -> None:
        """Mark it as without a complete unanswered request: it may be closed."""
        if connection in self._open:
            self._interruptible[connection] = None

    def works(self, connection: Connection) -> None:
        """Mark its request as complete: it is not closed before the response is sent."""
        self._interruptible.pop(connection, None)

    def linger(self, connection: Connection) -> None:
        """Keep a rejected connection open for a moment, so that the client can read its response."""
        self.leave(connection)
        if len(self._lingering) >= LINGERING_CONNECTIONS_MAX:
            next(iter(self._lingering)).abort()
        self._lingering[connection] = asyncio.get_running_loop().time() + LINGER_S
        self._sweep_soon()

    def _refused(self, error: ApiError) -> ApiError:
        self._turned_away[error.code] += 1
        self._sweep_soon()
        return error

    def _sweep_soon(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_EVERY_S, self._look)

    def _look(self) -> None:
        """Check the deadlines of some connections. One timer for all costs less than one per request."""
        self._sweep = None
        now = asyncio.get_running_loop().time()
        if not self._to_check:
            self._to_check = list(self._open)
        for _ in range(min(len(self._to_check), max(SWEEP_PART_MIN, len(self._open) // SWEEP_PART))):
            connection = self._to_check.pop()
            if connection in self._open:
                connection.check(now)
        for connection, until in tuple(self._lingering.items()):
            if now >= until:
                connection.abort()
                self.leave(connection)
        if self._turned_away and now >= self._tell_at:
            for reason, count in self._turned_away.items():
                log.warning("connections_refused", reason=reason, count=count)
            self._turned_away.clear()
            self._tell_at = now + TELL_EVERY_S
        if self._open or self._lingering or self._turned_away:
            self._sweep_soon()


def _network_of(address: IPv4Address | IPv6Address) -> str:
    """The IPv4 address, or the /64 network of an IPv6 address."""
    return str(address) if isinstance(address, IPv4Address) else address.packed[:IPV6_NETWORK_BYTES].hex()


def _files_max() -> int:
    """How many files this process may have open, after raising the limit as far as allowed."""
    if sys.platform == "win32":
        return 512
    import resource  # noqa: PLC0415 - not to be had everywhere

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return soft
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize
