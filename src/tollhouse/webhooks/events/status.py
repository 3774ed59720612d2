"""The delivery status: the age of the oldest undelivered event in each lane, the backlog, and recent results."""

import time
from datetime import timedelta

from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.webhooks.events import delivery_store, status_store
from tollhouse.webhooks.events.bulkheads import Lane

COUNT_MAX = 1_000
RESULTS_WINDOW = timedelta(minutes=5)
LOG_EVERY_S = 60
OVERDUE_MS = 60_000
"""A delivery overdue for longer is logged as a warning."""


class LaneStatus(Struct, frozen=True):
    """A lane: destinations with due deliveries, and for how long the oldest has been due."""

    lane: str
    destinations: int
    oldest_ms: int


class DeliveryStatus(Struct, frozen=True):
    """Counts stop at 1,001. `results` are of events of the last five minutes; `claim_ms` is how long a walk takes."""

    lanes: list[LaneStatus]
    ready: int
    later: int
    held: int
    claim_ms: int
    results: dict[str, int]


async def read_status(db: Pool) -> DeliveryStatus:
    """Read the current status."""
    lanes = await db.fetch(status_store.LANES)
    backlog = await db.fetchrow(status_store.BACKLOG)
    results = await db.fetch(status_store.RESULTS, RESULTS_WINDOW)
    started = time.monotonic()
    await db.fetch(delivery_store.WALK, Lane.FIRST, -1, COUNT_MAX)
    claim_ms = round((time.monotonic() - started) * 1000)
    if backlog is None:
        raise AssertionError("count returns one row")
    return DeliveryStatus(
        [LaneStatus(Lane(row["lane"]).name.lower(), row["destinations"], row["oldest_ms"]) for row in lanes],
        backlog["ready"],
        backlog["later"],
        backlog["held"],
        claim_ms,
        {row["result"]: row["count"] for row in results},
    )


async def log_status(services: Services) -> None:
    """Log the status; as a warning while a delivery is overdue."""
    current = await read_status(services.db)
    oldest_ms = max(lane.oldest_ms for lane in current.lanes)
    write = log.warning if oldest_ms > OVERDUE_MS else log.info
    lanes = ", ".join(f"{lane.lane} {lane.oldest_ms} ms" for lane in current.lanes)
    results = ", ".join(f"{name} {count}" for name, count in current.results.items())
    write(
        "deliveries_checked",
        count=current.ready,
        duration_ms=current.claim_ms,
        detail=f"oldest: {lanes}; attempts: {results or 'none'}",
    )
