"""The state of the service as operators see it: workers, invariants, webhook delivery and what is to do."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from tollhouse.http.labels import span
from tollhouse.kernel.limits import WORKER_SILENT_AFTER_S
from tollhouse.kernel.text import Text, Translatable
from tollhouse.webhooks.delivery.jobs import COUNT_MAX, DeliveryStatus

SILENT_AFTER = timedelta(seconds=WORKER_SILENT_AFTER_S)
LATE_AFTER = timedelta(seconds=60)
"""Due events are normally sent within two seconds."""
STALE_AFTER = timedelta(hours=1)
"""The invariants are checked four times an hour."""
SUCCEEDED = "succeeded"
Tone = Literal["ok", "warn", "danger", ""]


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

    value: Translatable
    tone: Tone
    detail: Translatable


class ToDo(Struct, frozen=True, kw_only=True):
    """The number of objects of each kind that wait for an operator, and since when the oldest review waits."""

    projects: int
    withdrawals: int
    refunds: int
    transfers: int
    payouts: int
    oldest_project_at: datetime | None
    oldest_withdrawal_at: datetime | None
    oldest_refund_at: datetime | None


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
    refunds_in_progress: int
    now: datetime

    def is_running(self, worker: WorkerHeartbeat) -> bool:
        """Whether the worker's last heartbeat is recent."""
        return self.now - worker.last_seen_at <= SILENT_AFTER

    @property
    def worker_status(self) -> Indicator:
        """Whether a worker is running."""
        running = sum(map(self.is_running, self.workers))
        detail: Translatable = "No heartbeat yet."
        if self.workers:
            detail = Text("Last heartbeat %(ago)s ago.", ago=span(self.now - self.workers[0].last_seen_at))
        if running:
            return Indicator(Text("%(count)s running", count=running), "ok", detail)
        return Indicator("None running", "danger", detail)

    @property
    def ledger_status(self) -> Indicator:
        """Whether the invariants of ledger, payments and events hold."""
        if self.last_check is None:
            return Indicator("Not checked yet", "warn", "The worker checks the invariants every 15 minutes.")
        finished_at, failed_at = self.last_check.looked_at, self.last_check.failed_at
        ago: Translatable = "No check has finished yet."
        if finished_at is not None:
            ago = Text("Last check finished %(ago)s ago.", ago=span(self.now - finished_at))
        if self.last_check.broken:
            return Indicator(Text("%(count)s broken", count=len(self.last_check.broken)), "danger", ago)
        if failed_at is not None:
            return Indicator("Could not finish", "warn", ago)
        stale = finished_at is None or self.now - finished_at > STALE_AFTER
        return Indicator("No errors", "warn" if stale else "ok", ago)

    @property
    def delivery_status(self) -> Indicator:
        """Whether due events are sent in time."""
        oldest_ms = max(lane.oldest_ms for lane in self.deliveries.lanes)
        waits = timedelta(milliseconds=oldest_ms)
        late = Text("Oldest waiting for %(waits)s.", waits=span(waits)) if oldest_ms else "No events are waiting."
        return Indicator(
            Text("%(count)s due", count=many(self.deliveries.ready)), "warn" if waits > LATE_AFTER else "ok", late
        )

    @property
    def attempts(self) -> Text:
        """The results of attempts for events of the last five minutes."""
        failed = sum(count for result, count in self.deliveries.results.items() if result != SUCCEEDED)
        return Text(
            "%(succeeded)s succeeded, %(failed)s failed", succeeded=self.deliveries.results.get(SUCCEEDED, 0), failed=failed
        )

    @property
    def undelivered(self) -> Translatable:
        """The age of the oldest undelivered event."""
        return "none" if self.oldest_undelivered is None else span(self.now - self.oldest_undelivered)


def many(count: int) -> Text:
    """`1,000`, or `more than …` at the limit up to which rows are counted."""
    return Text("more than %(count)s", count=COUNT_MAX) if count > COUNT_MAX else Text("%(count)s", count=count)


def size(count_bytes: int) -> str:
    """`12 MB`."""
    return f"{count_bytes / 10**9:.1f} GB" if count_bytes >= 10**9 else f"{count_bytes // 10**6} MB"
