"""What stands above a report that leaves the house as a file: whose it is, of which days, and how it is written."""

from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.reports.chosen import Chosen
from tollhouse.reports.model import Interval


class ReportHeader(Struct, frozen=True, kw_only=True):
    """A report's title. `project_name` is empty where it is of all projects."""

    env: MerchantEnv
    business_name: str
    project_name: str
    time_zone: str
    chosen: Chosen
    made_at: datetime
    language: str

    def file_name(self, ending: str) -> str:
        """`report-test-2026-11-01-to-2026-11-30.pdf`: plain ASCII."""
        return f"report-{self.env.mode}-{self.chosen.days.first}-to-{self.chosen.days.last}.{ending}"

    def day_or_month(self, period: Interval) -> str:
        """A period as `2026-11-21` or `2026-11`, by the clocks of the merchant."""
        begins = period.start.astimezone(self.chosen.zone).date().isoformat()
        return begins if self.chosen.group_by == "day" else begins[:7]
