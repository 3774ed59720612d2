"""How often one may fail, and how many requests a credential may make in a minute.

Failures are counted in the database, for all processes together: they protect secrets, and are rare. Requests are counted
in the memory of each process: that protects us from a client gone wild, and must cost next to nothing.
"""

import asyncio
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import IPv6Address, IPv6Network
from uuid import UUID

from msgspec import Struct

from tollhouse.identity import throttle_store
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.tokens import digest
from tollhouse.platform.db import Pool, Tx

MINUTE = timedelta(minutes=1)
SHORTEST = timedelta(seconds=1)
SITE_BITS = 64
"""Whoever has one IPv6 address has the 64 bits behind it as well."""


class RateLimited(ApiError):
    """429: too many in too short a time. `Retry-After` says when the next one may come."""

    code, status, message = "rate_limited", 429, "Too many requests. Try again later."

    def __init__(self, wait: timedelta) -> None:
        super().__init__(headers={"Retry-After": str(max(1, math.ceil(wait.total_seconds())))})


class Watch(Struct, frozen=True):
    """Failures of one kind under one name: at most `most` within any `span`. 0 is no limit."""

    kind: str
    name: str
    most: int
    span: timedelta

    @property
    def name_hash(self) -> bytes:
        """What the name is kept under: the table names nobody."""
        return digest(f"{self.kind}\0{self.name}")


async def wait_for(db: Pool | Tx, watches: Sequence[Watch], now: datetime) -> timedelta | None:
    """How long nothing more may be tried under these names; None while something may."""
    waits = [
        first + watch.span - now
        for watch in watches
        if watch.most
        and (first := await throttle_store.first_of_too_many(db, watch.name_hash, now, watch.span, watch.most)) is not None
    ]
    return max(waits, default=None)


async def count_failure(db: Pool | Tx, watches: Sequence[Watch], now: datetime) -> timedelta | None:
    """Count one failure under each of these names; how long to wait where that was one too many.

    One too many under a name is not counted under those behind it: what is refused for the account uses up no address.
    """
    for watch in watches:
        if watch.most and not await throttle_store.count(db, watch.name_hash, now, watch.span, watch.most):
            return await wait_for(db, watches, now) or SHORTEST
    return None


def source_of(address: str) -> str:
    """What one sender can send from: an IPv4 address, or the network of an IPv6 one."""
    try:
        found = IPv6Address(address)
    except ValueError:
        return address
    return str(found.ipv4_mapped or IPv6Network((int(found), SITE_BITS), strict=False))


class Delay:
    """Holds refusals back, so that whoever asks again and again on few connections asks slowly. At most so many at once."""

    def __init__(self, span: timedelta, most: int) -> None:
        self._span = span
        self._most = most
        self._held = 0

    async def wait(self) -> None:
        """Wait; not at all where as many wait as may."""
        if self._held < self._most:
            self._held += 1
            try:
                await asyncio.sleep(self._span.total_seconds())
            finally:
                self._held -= 1


class Meter:
    """How many requests each credential made in its minute, in the memory of this process."""

    def __init__(self) -> None:
        self._minutes: dict[UUID, _Minute] = {}
        self._tidy_at: datetime | None = None

    def __len__(self) -> int:
        """How many credentials it remembers."""
        return len(self._minutes)

    def take(self, credential: UUID, most: int, now: datetime) -> None:
        """Count one request. Raises `RateLimited` when the minute that the first one began has had `most`."""
        minute = self._minutes.get(credential)
        if minute is None or now >= minute.ends_at:
            self._forget_ended(now)
            self._minutes[credential] = _Minute(now + MINUTE)
        elif minute.taken >= most:
            raise RateLimited(minute.ends_at - now)
        else:
            minute.taken += 1

    def _forget_ended(self, now: datetime) -> None:
        if self._tidy_at is None or now >= self._tidy_at:
            self._minutes = {name: minute for name, minute in self._minutes.items() if now < minute.ends_at}
            self._tidy_at = now + MINUTE


class _Minute(Struct):
    """A credential's minute."""

    ends_at: datetime
    taken: int = 1
