"""How the house is, as operators see it. Times are moments; how long ago they were is said beside them."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from tollhouse.events.status import COUNT_MAX, DeliveryStatus

HEARTBEAT_EVERY_S = 15
SILENT_AFTER = timedelta(seconds=4 * HEARTBEAT_EVERY_S)
LATE_AFTER = timedelta(seconds=60)
"""What is due goes out within a second or two; after so long something is wrong."""
STALE_AFTER = timedelta(hours=1)
"""The invariants are looked at four times in this time."""
SUCCEEDED = "succeeded"
Tone = Literal["ok", "warn", "danger", ""]
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class WorkerHeartbeat(Struct, frozen=True):
    """A worker's last sign of life."""

    host: str
    pid: int
    version: str
    first_seen_at: datetime
    last_seen_at: datetime


class Watch(Struct, frozen=True):
    """What the last check of the invariants found that came to its end, and why one since then did not."""

    looked_at: datetime | None
    broken: list[str]
    failed_at: datetime | None = None
    failure: str | None = None


class Finding(Struct, frozen=True):
    """One thing of the house in a few words, and whether it is well."""

    words: str
    tone: Tone
    more: str


class Overview(Struct, frozen=True, kw_only=True):
    """The house at the moment `now`."""

    version: str
    database_version: str
    database_bytes: int
    migration: str
    workers: list[WorkerHeartbeat]
    watch: Watch | None
    deliveries: DeliveryStatus
    oldest_undelivered: datetime | None
    projects_in_review: int
    withdrawals_in_review: int
    refunds_in_review: int
    refunds_waiting: int
    transfers_waiting: int
    payouts_waiting: int
    now: datetime

    def at_work(self, worker: WorkerHeartbeat) -> bool:
        """Whether this worker gave a sign just now."""
        return self.now - worker.last_seen_at <= SILENT_AFTER

    @property
    def work(self) -> Finding:
        """Whether there is a worker: without one nothing is delivered, expired or looked after."""
        count = sum(map(self.at_work, self.workers))
        if count:
            return Finding(f"{count} at work", "ok", f"Last sign {span(self.now - self.workers[0].last_seen_at)} ago.")
        ago = (
            f"The last sign came {span(self.now - self.workers[0].last_seen_at)} ago." if self.workers else "None ever came."
        )
        return Finding("None at work", "danger", ago)

    @property
    def books(self) -> Finding:
        """Whether the invariants of ledger, payments and events hold."""
        if self.watch is None:
            return Finding("Not looked at", "warn", "The worker has yet to look for the first time.")
        finished_at, failed_at = self.watch.looked_at, self.watch.failed_at
        ago = "No check has finished." if finished_at is None else f"Last check finished {span(self.now - finished_at)} ago."
        if self.watch.broken:
            return Finding(f"{len(self.watch.broken)} broken", "danger", ago)
        if failed_at is not None:
            return Finding("Could not finish", "warn", ago)
        stale = finished_at is None or self.now - finished_at > STALE_AFTER
        return Finding("All hold", "warn" if stale else "ok", ago)

    @property
    def delivery(self) -> Finding:
        """Whether what is due goes out."""
        oldest_ms = max(lane.oldest_ms for lane in self.deliveries.lanes)
        waits = timedelta(milliseconds=oldest_ms)
        late = f"The first for {span(waits)}." if oldest_ms else "Nothing waits."
        return Finding(f"{many(self.deliveries.ready)} due", "warn" if waits > LATE_AFTER else "ok", late)

    @property
    def attempts(self) -> str:
        """How attempts for the events of the last minutes ended."""
        failed = sum(count for result, count in self.deliveries.results.items() if result != SUCCEEDED)
        return f"{self.deliveries.results.get(SUCCEEDED, 0):,} arrived, {failed:,} failed"

    @property
    def undelivered(self) -> str:
        """How old the oldest event is that its receiver has not got."""
        return "none" if self.oldest_undelivered is None else span(self.now - self.oldest_undelivered)


def many(count: int) -> str:
    """`1,000`; what is counted no further is more."""
    return f"more than {COUNT_MAX:,}" if count > COUNT_MAX else f"{count:,}"


def span(time: timedelta) -> str:
    """`3 minutes`: in the largest unit of which there is one."""
    seconds = max(0, int(time.total_seconds()))
    length, unit = next(((length, unit) for length, unit in UNITS if seconds >= length), UNITS[-1])
    count = seconds // length
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def size(count_bytes: int) -> str:
    """`12 MB`."""
    return f"{count_bytes / 10**9:.1f} GB" if count_bytes >= 10**9 else f"{count_bytes // 10**6} MB"
