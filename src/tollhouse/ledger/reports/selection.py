"""The selection and the header of a dashboard report: days in the merchant's time zone, grouping, project, business."""

from datetime import datetime, tzinfo
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.periods import BY_DAY_MAX, DateRange, PeriodName, period
from tollhouse.ledger.reports.model import GroupBy, Interval

DAYS_SHOWN_MAX = 93
"""The page and the PDF show longer periods by month. CSV and XLSX contain every day."""
FIELDS = ("from", "to", "project_id")


class ReportSelection(Struct, frozen=True, kw_only=True):
    """The days of a report, as dates and as an interval, its grouping and project."""

    days: DateRange
    interval: Interval
    group_by: GroupBy
    zone: tzinfo
    project_id: UUID | None

    @property
    def periods(self) -> list[Interval]:
        """The days or months of the report."""
        return self.interval.periods(self.group_by, self.zone)

    @property
    def count(self) -> int:
        """The number of days."""
        return (self.days.last - self.days.first).days + 1

    @property
    def too_long(self) -> bool:
        """Whether it has more days than the page shows."""
        return self.group_by == "day" and self.count > DAYS_SHOWN_MAX

    def shown(self) -> "ReportSelection":
        """The selection as the page and the PDF show it."""
        return msgspec.structs.replace(self, group_by="month") if self.too_long else self


class ReportsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?period=&from=&to=&currency=&project_id=&group_by=`. The days apply to a custom period. Empty: the default."""

    period: PeriodName = "30d"
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")
    currency: str = ""
    project_id: str = ""
    group_by: Literal["", "day", "month"] = ""

    def selection(self, now: datetime, zone: tzinfo) -> ReportSelection:
        """The selection. Raises `ValidationFailed`."""
        requested = period(self.period, self.since, self.until, now, zone)
        days, span = requested.days, requested.now
        project_id = parse_id(self.project_id)
        if self.project_id and project_id is None:
            raise ValidationFailed(FieldError("project_id", "invalid_project", messages.A_PROJECT))
        count = (days.last - days.first).days + 1
        return ReportSelection(
            days=days,
            interval=Interval(span.starts[0], span.end),
            group_by=self.group_by or ("day" if count <= BY_DAY_MAX else "month"),
            zone=zone,
            project_id=project_id,
        )

    def address(self, **others: str) -> str:
        """The query string with these changes; defaults are left out."""
        defaults, current = msgspec.to_builtins(ReportsQuery()), msgspec.to_builtins(self) | others
        query = {name: value for name, value in current.items() if value != defaults[name]}
        return "?" + urlencode(query) if query else ""


class ReportHeader(Struct, frozen=True, kw_only=True):
    """The header of a report. `project_name` is empty for all projects."""

    env: MerchantEnv
    business_name: str
    project_name: str
    time_zone: str
    selection: ReportSelection
    made_at: datetime
    language: str

    def file_name(self, ending: str) -> str:
        """`report-test-2026-11-01-to-2026-11-30.pdf`."""
        return f"report-{self.env.mode}-{self.selection.days.first}-to-{self.selection.days.last}.{ending}"

    def period_name(self, period: Interval) -> str:
        """`2026-11-21` or `2026-11`, in the merchant's time zone."""
        day = period.start.astimezone(self.selection.zone).date().isoformat()
        return day if self.selection.group_by == "day" else day[:7]
