"""A run that sends failed events again: what it is asked for, how far it is, and what it looks at."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv

Hours = Literal["1", "6", "24", "72", "168"]
FAILED_RECENTLY = timedelta(days=7)
"""So long it is known which events failed. A moment more is forgiven: the page was looked at before it was sent."""
FORGIVEN = timedelta(hours=1)
LOOKED_AT_MAX = 10_000
"""As many failures a run looks at, the oldest first. Then another one may be asked for."""


class Wanted(Struct, frozen=True):
    """Events that failed since this moment; of one type, where one is named."""

    since: datetime
    type: str = ""


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?hours=&type=` of the page that asks."""

    hours: Hours = "24"
    type: str = ""

    def wanted(self, now: datetime) -> Wanted:
        """What is meant at this moment."""
        return Wanted(now - timedelta(hours=int(self.hours)), self.type)


class Run(Struct, frozen=True, kw_only=True):
    """One run. `passed_over` counts what had no address any more, or was not failed any more when its turn came."""

    id: UUID
    env: MerchantEnv
    wanted: Wanted
    until: datetime
    expected: int
    looked_at: int
    sent: int
    passed_over: int
    reached_at: datetime
    reached_id: UUID
    created_at: datetime
    ended_at: datetime | None
    ended_reason: str | None

    @property
    def done(self) -> int:
        """How many events it is through with."""
        return self.sent + self.passed_over

    @property
    def whole(self) -> int:
        """How many it will be through with in the end, as far as is known. At least one, for a bar to be drawn."""
        return max(self.expected, self.done, 1)


class Failure(Struct, frozen=True):
    """An event that failed: where it would go, and whether it still is so. All of it is None where the event was dropped."""

    event_id: UUID
    failed_at: datetime
    type: str | None
    destination_source: str | None
    destination_url: str | None
    failed: bool
