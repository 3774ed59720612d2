"""What a person at the dashboard wants reported: which days, by the clocks of the merchant's time zone, cut how."""

from datetime import datetime, tzinfo
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.periods import BY_DAY_MAX, Days, PeriodName, period
from tollhouse.reports.model import GroupBy, Interval

DAYS_SHOWN_MAX = 93
"""A page or a printed report shows more days than these by month. The files for calculating have each day."""
FIELDS = ("from", "to", "project_id")


class Chosen(Struct, frozen=True, kw_only=True):
    """A report: its days, the same as an interval, and what it is cut into."""

    days: Days
    interval: Interval
    group_by: GroupBy
    zone: tzinfo
    project_id: UUID | None

    @property
    def periods(self) -> list[Interval]:
        """Its days or months."""
        return self.interval.periods(self.group_by, self.zone)

    @property
    def count(self) -> int:
        """How many days it covers."""
        return (self.days.last - self.days.first).days + 1

    @property
    def too_long(self) -> bool:
        """Whether it has more days than are shown one by one."""
        return self.group_by == "day" and self.count > DAYS_SHOWN_MAX

    def shown(self) -> "Chosen":
        """The report as it is looked at."""
        return msgspec.structs.replace(self, group_by="month") if self.too_long else self


class ReportsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?period=&from=&to=&currency=&project_id=&group_by=`. The days count for a custom period alone. Empty: the usual."""

    period: PeriodName = "30d"
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    currency: str = ""
    project_id: str = ""
    group_by: Literal["", "day", "month"] = ""

    def chosen(self, now: datetime, zone: tzinfo) -> Chosen:
        """What is meant. Raises `ValidationFailed`."""
        days, span = (asked := period(self.period, self.since, self.until, now, zone)).days, asked.now
        project_id = parse_id(self.project_id)
        if self.project_id and project_id is None:
            raise ValidationFailed(FieldError("project_id", "invalid_project", messages.A_PROJECT))
        count = (days.last - days.first).days + 1
        return Chosen(
            days=days,
            interval=Interval(span.starts[0], span.end),
            group_by=self.group_by or ("day" if count <= BY_DAY_MAX else "month"),
            zone=zone,
            project_id=project_id,
        )

    def address(self, **others: str) -> str:
        """The same report, but for these members; empty where everything is as usual."""
        usual, current = msgspec.to_builtins(ReportsQuery()), msgspec.to_builtins(self) | others
        asked = {name: value for name, value in current.items() if value != usual[name]}
        return "?" + urlencode(asked) if asked else ""
