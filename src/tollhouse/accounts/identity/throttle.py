"""Limits of failed attempts and of requests.

Failures are counted in the database, for all processes: they protect secrets and are rare. Requests are counted in the
memory that the processes of one `tollhouse serve` share, which must cost little.
"""

import asyncio
import math
import mmap
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import IPv6Address, IPv6Network
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity import store
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.pool import Pool, Tx

MINUTE = timedelta(minutes=1)
SHORTEST = timedelta(seconds=1)
NETWORK_BITS = 64
"""An IPv6 client usually controls a /64 network."""
NUMBER_BYTES = 8
NAME_MASK = 2**64 - 1
"""The random half of the ID of a credential."""
PLACES_TRIED = 8


class RateLimited(ApiError):
    """429: too many requests or failures. `Retry-After` has the seconds to wait."""

    code, status, message = "rate_limited", 429, "Too many requests. Try again later."
    solution = "Wait for the seconds in `Retry-After`. The header `RateLimit` says how many requests are left."

    def __init__(self, wait: timedelta) -> None:
        self.wait_s = max(1, math.ceil(wait.total_seconds()))
        super().__init__(headers={"Retry-After": str(self.wait_s)})


class FailureLimit(Struct, frozen=True):
    """At most `limit` failures of one kind and name within any `span`. 0 is no limit."""

    kind: str
    name: str
    limit: int
    span: timedelta

    @property
    def name_hash(self) -> bytes:
        """The key of the row. The table holds no names."""
        return digest(f"{self.kind}\0{self.name}")


async def retry_after(db: Pool | Tx, limits: Sequence[FailureLimit], now: datetime) -> timedelta | None:
    """The time to wait where a limit is reached; None where none is."""
    waits = [
        first + limit.span - now
        for limit in limits
        if limit.limit
        and (first := await store.oldest_failure(db, limit.name_hash, now, limit.span, limit.limit)) is not None
    ]
    return max(waits, default=None)


async def record_failure(db: Pool | Tx, limits: Sequence[FailureLimit], now: datetime) -> timedelta | None:
    """Count a failure for each limit, until one is reached; then the time to wait.

    A failure beyond one limit does not count for the following ones: errors of an account do not exhaust its address.
    """
    for limit in limits:
        if limit.limit and not await store.count_failure(db, limit.name_hash, now, limit.span, limit.limit):
            return await retry_after(db, limits, now) or SHORTEST
    return None


async def require_below(db: Pool | Tx, limits: Sequence[FailureLimit], now: datetime) -> None:
    """Raises `RateLimited` where a limit is reached."""
    wait = await retry_after(db, limits, now)
    if wait is not None:
        raise RateLimited(wait)


async def count_attempt(db: Pool | Tx, limits: Sequence[FailureLimit], now: datetime) -> None:
    """Count an attempt, whether it succeeds or not. Raises `RateLimited` where a limit is reached."""
    await require_below(db, limits, now)
    wait = await record_failure(db, limits, now)
    if wait is not None:
        raise RateLimited(wait)


def network_of(address: str) -> str:
    """The IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or IPv6Network((int(parsed), NETWORK_BITS), strict=False))


class ErrorDelay:
    """Delays error responses to slow down clients that retry at once; delays at most `limit` at the same time."""

    def __init__(self, span: timedelta, limit: int) -> None:
        self._span = span
        self._limit = limit
        self._waiting = 0

    async def wait(self) -> None:
        """Wait for `span`, unless `limit` others wait already."""
        if self._waiting < self._limit:
            self._waiting += 1
            try:
                await asyncio.sleep(self._span.total_seconds())
            finally:
                self._waiting -= 1


class RequestsLeft(NamedTuple):
    """The requests that are left, and the seconds until the count starts again."""

    number: int
    seconds: int


def limit_headers(limit: int, left: RequestsLeft) -> tuple[tuple[bytes, bytes], ...]:
    """The limit of requests and what is left of it, as headers (draft-ietf-httpapi-ratelimit-headers-11)."""
    return (
        (b"ratelimit-policy", b'"api";q=%d;w=%d' % (limit, MINUTE.seconds)),
        (b"ratelimit", b'"api";r=%d;t=%d' % left),
    )


class RequestMeter:
    """Requests per credential and minute, in memory that this process shares with its forks.

    The memory is fixed: `places` credentials in a minute, and beyond that the ones whose minute ends first are forgotten.
    Processes that count at the same moment may lose a request: this protects capacity, not a secret.
    A place has the name of a credential, the end of its minute in seconds since 1970, and its requests in it.
    """

    def __init__(self, places: int = 65_536) -> None:
        memory = memoryview(mmap.mmap(-1, 3 * NUMBER_BYTES * places))
        columns = (memory[first : first + NUMBER_BYTES * places] for first in range(0, len(memory), NUMBER_BYTES * places))
        names, ends_at, requests = columns
        self._names, self._ends_at, self._requests = names.cast("Q"), ends_at.cast("d"), requests.cast("Q")
        self._places = places

    def count(self, credential: UUID, limit: int, now: datetime) -> RequestsLeft:
        """Count a request. Raises `RateLimited` beyond `limit` requests in the minute that the first one began."""
        name, at = credential.int & NAME_MASK, now.timestamp()
        first = free = name % self._places
        for place in range(first, first + PLACES_TRIED):
            slot = place % self._places
            ends_at = self._ends_at[slot]
            if self._names[slot] == name and at < ends_at:
                if self._requests[slot] >= limit:
                    raise RateLimited(timedelta(seconds=round(ends_at - at, 6)))
                self._requests[slot] += 1
                return RequestsLeft(limit - self._requests[slot], math.ceil(ends_at - at))
            if ends_at < self._ends_at[free]:
                free = slot
        self._names[free], self._ends_at[free], self._requests[free] = name, at + MINUTE.total_seconds(), 1
        return RequestsLeft(limit - 1, MINUTE.seconds)

    def count_network(self, address: str, limit: int, now: datetime) -> None:
        """Count a request of the network of this address. Raises `RateLimited` as `count`."""
        self.count(UUID(bytes=digest(network_of(address))[:16]), limit, now)
