"""The dashboard's financial reports, as pages and files."""

import asyncio
from typing import Any

from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments import store as projects
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.charts import line_chart
from tollhouse.http.csv_table import MEDIA_TYPE, attachment
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import all_rows
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.periods import Unit
from tollhouse.kernel.text import Translatable
from tollhouse.ledger.reports import labels, tables
from tollhouse.ledger.reports.model import MethodSummary, ReportData, Summary
from tollhouse.ledger.reports.selection import DAYS_SHOWN_MAX, FIELDS, ReportHeader, ReportSelection, ReportsQuery
from tollhouse.ledger.reports.summary import as_csv, by_method, load_periods, load_report
from tollhouse.pages.dashboard.layout import render
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
PROJECTS_SHOWN = 100
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PDF = "application/pdf"


@OPERATIONS.add("GET", "/{mode}/reports", guard=signed_in_page("read"))
async def reports(request: Request, caller: Person, env: MerchantEnv, query: ReportsQuery) -> Response:
    """Show balance changes by currency, and one currency over time and by line."""
    db = await request.services.reports_db()
    choices = await projects.approved(db, env, all_rows(PROJECTS_SHOWN))
    selection, form_errors = await _selection_or_default(request, db, caller, env, query)
    shown = selection.shown()
    parts = tables.by_currency(await load_periods(db, env, shown))
    sums = {code: tables.whole(rows) for code, rows in parts.items()}
    usual = (await payment_settings.of(db, env)).default_currency
    code = query.currency if query.currency in sums else tables.choose_currency(sums, usual)
    return render(
        request,
        caller,
        "reports/reports",
        here="reports",
        query=query,
        form_errors=form_errors,
        selection=selection,
        shown=shown,
        days_max=DAYS_SHOWN_MAX,
        group_by=selection.group_by,
        projects=[(str(project.id), project.name) for project in choices],
        currencies=[(code, code) for code in sums],
        currency=code,
        sums=[(code, _amounts(row, request.services.catalogue)) for code, row in sums.items()],
        picture=None
        if code not in parts
        else _charts(
            parts[code], shown, request.services.catalogue.currencies[code], formats_of(request), request.services.catalogue
        ),
        files=[(kind.upper(), f"/{env.mode}/reports.{kind}{query.address()}") for kind in ("pdf", "xlsx", "csv")],
        **{} if code not in sums else _currency_details(sums[code], request.services.catalogue),
    )


@OPERATIONS.add("GET", "/{mode}/reports/methods", guard=signed_in_page("read"))
async def methods(request: Request, caller: Person, env: MerchantEnv, query: ReportsQuery) -> Response:
    """Show payments by method and currency. Separate from the summary, because it takes as long again."""
    db = await request.services.reports_db()
    selection, form_errors = await _selection_or_default(request, db, caller, env, query)
    return render(
        request,
        caller,
        "reports/methods",
        here="reports",
        query=query,
        form_errors=form_errors,
        selection=selection,
        currencies=_method_rows(await by_method(db, env, selection), request.services.catalogue),
    )


@OPERATIONS.add("GET", "/{mode}/reports.csv", guard=signed_in_page("read"))
async def reports_csv(request: Request, caller: Person, mode: str, query: ReportsQuery) -> Response:
    """The report as CSV, with the columns of the API: each currency and day or month."""
    header, found = await _report(request, caller, mode, query)
    text = await asyncio.to_thread(as_csv, found.summaries, request.services.catalogue)
    return Response(text, 200, attachment(header.file_name("csv")), media_type=MEDIA_TYPE)


@OPERATIONS.add("GET", "/{mode}/reports.xlsx", guard=signed_in_page("read"))
async def reports_xlsx(request: Request, caller: Person, mode: str, query: ReportsQuery) -> Response:
    """The report as a workbook: by currency, by day or month, by method."""
    header, found = await _report(request, caller, mode, query)
    made = await asyncio.to_thread(_workbook, header, found, request.services.catalogue)
    return Response(made, 200, attachment(header.file_name("xlsx")), media_type=XLSX)


@OPERATIONS.add("GET", "/{mode}/reports.pdf", guard=signed_in_page("read"))
async def reports_pdf(request: Request, caller: Person, mode: str, query: ReportsQuery) -> Response:
    """The report as PDF."""
    header, found = await _report(request, caller, mode, query, as_shown=True)
    made = await asyncio.to_thread(_pdf, header, found, request.services.catalogue)
    return Response(made, 200, attachment(header.file_name("pdf")), media_type=PDF)


def _workbook(header: ReportHeader, found: ReportData, catalogue: Catalogue) -> bytes:
    from tollhouse.ledger.reports.xlsx import render_workbook  # noqa: PLC0415 - seldom used, slow to import

    return render_workbook(header, found, catalogue)


def _pdf(header: ReportHeader, found: ReportData, catalogue: Catalogue) -> bytes:
    from tollhouse.ledger.reports.pdf import render_pdf  # noqa: PLC0415 - the same

    return render_pdf(header, found, catalogue)


async def _report(
    request: Request, person: Person, mode: str, query: ReportsQuery, *, as_shown: bool = False
) -> tuple[ReportHeader, ReportData]:
    """The header and data of a report file. Raises `ValidationFailed`."""
    env, db = person.env(mode), await request.services.reports_db()
    selection = await _selection(request, db, person, env, query)
    if as_shown:
        selection = selection.shown()
    project = None if selection.project_id is None else await projects.one(db, env, selection.project_id)
    found = await load_report(db, env, selection)
    if query.currency:
        found = found.of(query.currency)
    header = ReportHeader(
        env=env,
        business_name=person.business_name,
        project_name="" if project is None else project.facts.name,
        time_zone=person.time_zone,
        selection=selection,
        made_at=request.now,
        language=language_of(request),
    )
    return header, found


async def _selection_or_default(
    request: Request, db: Pool, person: Person, env: MerchantEnv, query: ReportsQuery
) -> tuple[ReportSelection, FormErrors]:
    """The selection of the query; the default one, with the errors, if the query is invalid."""
    try:
        return await _selection(request, db, person, env, query), NO_ERRORS
    except ValidationFailed as error:
        return ReportsQuery().selection(request.now, person.zone), form_errors_of(error, FIELDS)


async def _selection(request: Request, db: Pool, person: Person, env: MerchantEnv, query: ReportsQuery) -> ReportSelection:
    """The selection of the query. Raises `ValidationFailed`."""
    selection = query.selection(request.now, person.zone)
    if selection.project_id is not None and await projects.status_of(db, env, selection.project_id) is None:
        raise ValidationFailed(FieldError("project_id", "invalid_project", messages.A_PROJECT))
    return selection


def _amounts(row: Summary, catalogue: Catalogue) -> list[str]:
    return [catalogue.currencies[row.currency].format(minor) for minor in tables.columns(row)]


def _currency_details(row: Summary, catalogue: Catalogue) -> dict[str, Any]:
    """The template values of one currency."""
    currency = catalogue.currencies[row.currency]
    taken, share = tables.total_fees(row)
    return {
        "opening": currency.format(row.opening_minor),
        "closing": currency.format(row.closing_minor),
        "lines": [
            (labels.LINES[line], currency.format(minor), row.counts[line]) for line, minor in row.lines.items() if minor
        ],
        "fees": [(labels.LINES[fee.line], currency.format(fee.minor), fee.percent) for fee in tables.fees(row) if fee.minor],
        "total_fees": (currency.format(taken), share),
    }


def _method_rows(found: list[MethodSummary], catalogue: Catalogue) -> dict[str, list[tuple[Translatable, int, list[str]]]]:
    """The rows of each currency: method name, payments, amounts."""
    rows: dict[str, list[tuple[Translatable, int, list[str]]]] = {}
    for method in found:
        amounts = (method.gross_minor, method.fees_minor, method.returned_minor, method.net_minor)
        shown = [catalogue.currencies[method.currency].format(minor) for minor in amounts]
        rows.setdefault(method.currency, []).append((catalogue.label_of(method.method_id), method.payments, shown))
    return rows


def _charts(
    parts: list[Summary], selection: ReportSelection, currency: Currency, formats: Formats, catalogue: Catalogue
) -> dict[str, Any]:
    """The chart of gross volume and fees, if there is something to see, and its table."""
    unit: Unit = "day" if selection.group_by == "day" else "month"
    names = [formats.part(part.period.start, unit) for part in parts]
    gross = [max(part.lines["payments_gross"], 0) for part in parts]
    taken = [max(-sum(part.lines[line] for line in tables.FEES), 0) for part in parts]
    return {
        "chart": line_chart(
            gross,
            names,
            taken if any(taken) else (),
            described=lambda minor: formats.money(currency.format(minor), currency.code),
            written=formats.short_money(currency.decimals, currency.code),
        )
        if len(parts) > 1 and any(gross)
        else None,
        "rows": list(zip(names, [_amounts(part, catalogue) for part in parts], strict=True)),
    }
