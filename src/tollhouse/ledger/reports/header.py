"""The header of a report file: business, period, project, language."""

from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.reports.model import Interval
from tollhouse.ledger.reports.selection import ReportSelection


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
