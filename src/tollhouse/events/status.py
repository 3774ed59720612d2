"""How delivery is doing: the age of the oldest undelivered event in each lane, what waits, and how attempts ended."""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from msgspec import Struct

from tollhouse.events import delivery_store, status_store
from tollhouse.events.lanes import Lane
from tollhouse.http.services import Services
from tollhouse.platform.db import Pool
from tollhouse.platform.log import log

SHOWN_MAX = 1_000
LATELY = timedelta(minutes=5)
TOLD_EVERY_S = 60
OLD_MS = 60_000
"""Older than this and undelivered though its time has come: worth a warning in the log."""


class LaneStatus(Struct, frozen=True):
    """A lane: how many destinations have something due in it, and for how long the oldest of all that has been due."""

    lane: str
    destinations: int
    oldest_ms: int


class Status(Struct, frozen=True):
    """Counts end at 1,001, which stands for more. `results` are of the attempts for events of the last five minutes."""

    lanes: list[LaneStatus]
    ready: int
    later: int
    held: int
    claim_ms: int
    results: dict[str, int]


async def status(db: Pool) -> Status:
    """What the database shows at this moment. `claim_ms` is how long the first step of a claim took."""
    lanes = await db.fetch(status_store.LANES)
    waiting = await db.fetchrow(status_store.WAITING)
    results = await db.fetch(status_store.RESULTS, LATELY)
    began = time.monotonic()
    await db.fetch(delivery_store.WALK, Lane.FIRST, -1, SHOWN_MAX)
    claim_ms = round((time.monotonic() - began) * 1000)
    if waiting is None:
        raise AssertionError("a count is always one row")
    return Status(
        [LaneStatus(Lane(row["lane"]).name.lower(), row["destinations"], row["oldest_ms"]) for row in lanes],
        waiting["ready"],
        waiting["later"],
        waiting["held"],
        claim_ms,
        {row["result"]: row["count"] for row in results},
    )


async def notify(services: Services) -> None:
    """A line in the log; a warning while something has been due for a minute."""
    seen = await status(services.db)
    oldest_ms = max(lane.oldest_ms for lane in seen.lanes)
    say = log.warning if oldest_ms > OLD_MS else log.info
    lanes = ", ".join(f"{lane.lane} {lane.oldest_ms} ms" for lane in seen.lanes)
    results = ", ".join(f"{name} {count}" for name, count in seen.results.items())
    say("deliveries", count=seen.ready, duration_ms=seen.claim_ms, detail=f"oldest: {lanes}; attempts: {results or 'none'}")


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [(TOLD_EVERY_S, notify)]
"""Seconds between two runs, and what is done."""
