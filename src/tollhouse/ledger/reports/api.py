"""The reports of the Integration API."""

from datetime import datetime

from starlette.responses import Response

from tollhouse.accounts.environments import store as projects
from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.csv_table import MEDIA_TYPE, attachment
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.ledger.reports.model import FinancialReport, SummaryQuery
from tollhouse.ledger.reports.summary import as_csv, report, summaries

INTEGRATION_OPERATIONS = Operations(INTEGRATION)


@INTEGRATION_OPERATIONS.add(
    "GET",
    "/reports/financial-summary",
    guard=scope("reports:read"),
    errors=(ValidationFailed,),
    responses=FinancialReport,
    formats=("text/csv",),
)
async def financial_summary(
    caller: Caller, query: SummaryQuery, services: Services, now: datetime
) -> FinancialReport | Response:
    """Retrieve a financial summary. It shows what changed the balances in a period, by currency, as JSON or CSV."""
    catalogue = services.catalogue
    interval = query.interval(now, catalogue)
    db = await services.reports_db()
    if query.project_id is not None and await projects.status_of(db, caller.env, query.project_id) is None:
        raise ValidationFailed(FieldError("project_id", "invalid_project", messages.A_PROJECT))
    found = await summaries(db, caller.env, interval, query.group_by, query.currency, query.project_id)
    if query.format == "csv":
        name = f"financial-summary-{interval.start:%Y%m%d}-{interval.end:%Y%m%d}.csv"
        return Response(as_csv(found, catalogue), 200, attachment(name), media_type=MEDIA_TYPE)
    return report(found, caller.env, interval, query.group_by, catalogue)
