"""How many connections a web process keeps, in total and for one address, and who goes when there are too many.

A connection whose request is not complete yet can be closed without harm; the one that waited longest goes first. So idle
and slow connections make room for new ones, and only requests that are being answered can fill the process.
"""

import asyncio
import sys
from collections import Counter
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from tollhouse.kernel.errors import ApiError, TemporarilyUnavailable, TooManyConnections
from tollhouse.kernel.limits import LINGER_S, LINGERING_CONNECTIONS_MAX
from tollhouse.platform.config import Settings
from tollhouse.platform.log import log

SWEEP_EVERY_S = 0.05
SWEEP_PART, SWEEP_PART_MIN = 20, 50
"""Of each sweep: a twentieth of all connections, so that no request waits while thousands are looked at."""
TELL_EVERY_S = 1.0
FILES_KEPT_FREE = 128
"""Descriptors for everything that is no connection of a client: the database, logs, templates."""
IPV6_NETWORK_BYTES = 8


class Connection(Protocol):
    """What the limits need to know of a connection."""

    def check(self, now: float) -> None:
        """End it if one of its deadlines is over."""
        ...

    def abort(self) -> None:
        """Drop it at once."""
        ...


class ConnectionLimits:
    """The open connections of one web process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._connections_max = max(1, min(settings.connections_max, _files_max() - FILES_KEPT_FREE))
        self._open: dict[Connection, str | None] = {}
        self._per_address: Counter[str] = Counter()
        self._interruptible: dict[Connection, None] = {}
        self._lingering: dict[Connection, float] = {}
        self._turned_away: Counter[str] = Counter()
        self._sweep: asyncio.TimerHandle | None = None
        self._to_check: list[Connection] = []
        self._tell_at = 0.0

    def admit(self, connection: Connection, address: str) -> ApiError | None:
        """Count a new connection, or say why there is no place for it."""
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
        """As what an address is counted; None for a proxy of ours, behind which there are many clients."""
        try:
            one = ip_address(address)
        except ValueError:
            return address
        if isinstance(one, IPv6Address) and one.ipv4_mapped is not None:
            one = one.ipv4_mapped
        return None if any(one in network for network in self.settings.trusted_proxies) else _network_of(one)

    def leave(self, connection: Connection) -> None:
        """Stop counting a connection. It may have left already."""
        counted_as = self._open.pop(connection, None)
        self._interruptible.pop(connection, None)
        self._lingering.pop(connection, None)
        if counted_as is not None:
            self._per_address[counted_as] -= 1
            if not self._per_address[counted_as]:
                del self._per_address[counted_as]

    def waits(self, connection: Connection) -> None:
        """Note that it has no complete request that is not answered: from now on it may be closed."""
        if connection in self._open:
            self._interruptible[connection] = None

    def works(self, connection: Connection) -> None:
        """Note that its request is complete: it is not closed before the response is sent."""
        self._interruptible.pop(connection, None)

    def linger(self, connection: Connection) -> None:
        """Let a refused connection read its response for a moment: closed at once, the client might never see it."""
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
        """Hold some connections against their deadlines. One timer for all costs less than one for each request."""
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


def _network_of(one: IPv4Address | IPv6Address) -> str:
    """An IPv4 address is itself; of IPv6, whoever has one address has its whole /64."""
    return str(one) if isinstance(one, IPv4Address) else one.packed[:IPV6_NETWORK_BYTES].hex()


def _files_max() -> int:
    """How many files this process may have open, after asking for as many as it may ask for."""
    if sys.platform == "win32":
        return 512
    import resource  # noqa: PLC0415 - not to be had everywhere

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return soft
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize
