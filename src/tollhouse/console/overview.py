"""The state of the service as operators see it: workers, invariants, webhook delivery and what is to do."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from tollhouse.events.status import COUNT_MAX, DeliveryStatus

HEARTBEAT_EVERY_S = 15
SILENT_AFTER = timedelta(seconds=4 * HEARTBEAT_EVERY_S)
LATE_AFTER = timedelta(seconds=60)
"""Due events are normally sent within two seconds."""
STALE_AFTER = timedelta(hours=1)
"""The invariants are checked four times an hour."""
SUCCEEDED = "succeeded"
Tone = Literal["ok", "warn", "danger", ""]
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class WorkerHeartbeat(Struct, frozen=True):
    """The last heartbeat of a worker."""

    host: str
    pid: int
    version: str
    first_seen_at: datetime
    last_seen_at: datetime


class CheckResult(Struct, frozen=True):
    """The result of the last finished check of the invariants, and the failure of a later one."""

    looked_at: datetime | None
    broken: list[str]
    failed_at: datetime | None = None
    failure: str | None = None


class Indicator(Struct, frozen=True):
    """The state of one part of the service: its value, severity and detail."""

    value: str
    tone: Tone
    detail: str


class Overview(Struct, frozen=True, kw_only=True):
    """The state of the service at `now`."""

    version: str
    database_version: str
    database_bytes: int
    migration: str
    workers: list[WorkerHeartbeat]
    last_check: CheckResult | None
    deliveries: DeliveryStatus
    oldest_undelivered: datetime | None
    projects_in_review: int
    withdrawals_in_review: int
    refunds_in_review: int
    refunds_waiting: int
    transfers_waiting: int
    payouts_waiting: int
    now: datetime

    def is_running(self, worker: WorkerHeartbeat) -> bool:
        """Whether the worker's last heartbeat is recent."""
        return self.now - worker.last_seen_at <= SILENT_AFTER

    @property
    def worker_status(self) -> Indicator:
        """Whether a worker is running."""
        running = sum(map(self.is_running, self.workers))
        detail = "No heartbeat yet."
        if self.workers:
            ago = span(self.now - self.workers[0].last_seen_at)
            detail = f"Last heartbeat {ago} ago."
        if running:
            return Indicator(f"{running} running", "ok", detail)
        return Indicator("None running", "danger", detail)

    @property
    def ledger_status(self) -> Indicator:
        """Whether the invariants of ledger, payments and events hold."""
        if self.last_check is None:
            return Indicator("Not checked yet", "warn", "The worker checks the invariants every 15 minutes.")
        finished_at, failed_at = self.last_check.looked_at, self.last_check.failed_at
        ago = "No check has finished." if finished_at is None else f"Last check finished {span(self.now - finished_at)} ago."
        if self.last_check.broken:
            return Indicator(f"{len(self.last_check.broken)} broken", "danger", ago)
        if failed_at is not None:
            return Indicator("Could not finish", "warn", ago)
        stale = finished_at is None or self.now - finished_at > STALE_AFTER
        return Indicator("No errors", "warn" if stale else "ok", ago)

    @property
    def delivery_status(self) -> Indicator:
        """Whether due events are sent in time."""
        oldest_ms = max(lane.oldest_ms for lane in self.deliveries.lanes)
        waits = timedelta(milliseconds=oldest_ms)
        late = f"Oldest waiting for {span(waits)}." if oldest_ms else "No events are waiting."
        return Indicator(f"{many(self.deliveries.ready)} due", "warn" if waits > LATE_AFTER else "ok", late)

    @property
    def attempts(self) -> str:
        """The results of attempts for events of the last five minutes."""
        failed = sum(count for result, count in self.deliveries.results.items() if result != SUCCEEDED)
        return f"{self.deliveries.results.get(SUCCEEDED, 0):,} succeeded, {failed:,} failed"

    @property
    def undelivered(self) -> str:
        """The age of the oldest undelivered event."""
        return "none" if self.oldest_undelivered is None else span(self.now - self.oldest_undelivered)


def many(count: int) -> str:
    """`1,000`, or `more than …` at the limit up to which rows are counted."""
    return f"more than {COUNT_MAX:,}" if count > COUNT_MAX else f"{count:,}"


def span(time: timedelta) -> str:
    """`3 minutes`: in the largest unit that fits."""
    seconds = max(0, int(time.total_seconds()))
    length, unit = next(((length, unit) for length, unit in UNITS if seconds >= length), UNITS[-1])
    count = seconds // length
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def size(count_bytes: int) -> str:
    """`12 MB`."""
    return f"{count_bytes / 10**9:.1f} GB" if count_bytes >= 10**9 else f"{count_bytes // 10**6} MB"
