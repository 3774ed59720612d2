"""Bulk redelivery runs: filter, progress, failed events."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.records import Record, Selected

Hours = Literal["1", "6", "24", "72", "168"]
FAILED_RECENTLY = timedelta(days=7)
"""How far back failed events are found."""
GRACE = timedelta(hours=1)
"""How long a form may be open before it is sent."""
CHECKED_MAX = 10_000
"""A run checks this many failed events, oldest first."""


class FailureFilter(Struct, frozen=True):
    """Events that failed since this time; of one type, or of all if empty."""

    since: datetime
    type: str = ""


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?hours=&type=` of the form page."""

    hours: Hours = "24"
    type: str = ""

    def failure_filter(self, now: datetime) -> FailureFilter:
        """The filter at this time."""
        return FailureFilter(now - timedelta(hours=int(self.hours)), self.type)


class RedeliveryRun(Struct, frozen=True, kw_only=True):
    """A run. `skipped` counts events without a URL and events that were no longer failed."""

    id: UUID
    env: MerchantEnv
    failure_filter: FailureFilter
    until: datetime
    expected: int
    checked: Annotated[int, Selected("{row}.looked_at")]
    sent: int
    skipped: Annotated[int, Selected("{row}.passed_over")]
    cursor_at: Annotated[datetime, Selected("{row}.reached_at")]
    cursor_id: Annotated[UUID, Selected("{row}.reached_id")]
    created_at: datetime
    ended_at: datetime | None
    ended_reason: Annotated[str | None, Selected("{row}.ended_because")]

    @property
    def done(self) -> int:
        """Events that are done."""
        return self.sent + self.skipped

    @property
    def total(self) -> int:
        """The expected total, for the progress bar: at least one."""
        return max(self.expected, self.done, 1)


RUN = Record(RedeliveryRun, "webhook_redelivery_runs")


class FailedEvent(Struct, frozen=True):
    """An event that failed, and whether it still is. Type and destination are None if the event was dropped."""

    event_id: UUID
    failed_at: datetime
    type: str | None
    destination_source: str | None
    destination_url: str | None
    failed: bool
