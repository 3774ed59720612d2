"""The operators' pages for accounting: trial balance, reconciliation of bank and rails, the journal and its files."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.csv_table import MEDIA_TYPE, attachment, download
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel import messages
from tollhouse.kernel.clock import parse_date
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.text import Text, Translatable
from tollhouse.ledger.accounting import journal
from tollhouse.ledger.accounting import store as totals_store
from tollhouse.ledger.accounting.journal import trial_balances, trial_balances_as_csv
from tollhouse.ledger.accounting.labels import account_name
from tollhouse.ledger.books.model import rail as rail_account
from tollhouse.pages.console.layout import FormState, render
from tollhouse.rails.balances import store
from tollhouse.rails.balances.labels import part_name
from tollhouse.rails.bank.reconciliation import reconcile

OPERATIONS = Operations(PAGES)
DAY = timedelta(days=1)
DATEV_MEDIA_TYPE = "text/csv; charset=windows-1252"
FieldErrors = dict[str, Translatable]


class TrialBalanceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?on=2026-11-30`: the day at whose end the balances are shown. Empty: now."""

    on: str = ""

    def day(self, now: datetime) -> tuple[date | None, FieldErrors]:
        """The day, and the error of its field."""
        found = parse_date(self.on) if self.on else None
        if self.on and found is None:
            return None, {"on": messages.A_DAY}
        return (None, {"on": messages.NOT_IN_FUTURE}) if found and found > now.date() else (found, {})


class JournalQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?from=2026-11-01&to=2026-11-30`: the days of the journal. Empty: the last month that has ended."""

    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    def days(self, now: datetime) -> tuple[date, date, FieldErrors]:
        """The first and the last day, and the errors of the fields."""
        last_month = now.date().replace(day=1) - DAY
        first = parse_date(self.since) if self.since else last_month.replace(day=1)
        last = parse_date(self.until) if self.until else last_month
        found = (("from", first), ("to", last))
        field_errors: FieldErrors = {name: messages.A_DAY for name, day in found if day is None}
        if first is None or last is None:
            return last_month, last_month, field_errors
        if first > last:
            field_errors["to"] = messages.NOT_BEFORE_FIRST_DAY
        elif last > now.date():
            field_errors["to"] = messages.NOT_IN_FUTURE
        return first, last, field_errors


@OPERATIONS.add("GET", "/operator/books", guard=operator_page)
async def trial_balance(request: Request, caller: Operator, query: TrialBalanceQuery) -> Response:
    """The trial balance of each currency at the end of a day, or now."""
    day, field_errors = query.day(request.now)
    return await render(
        request,
        caller,
        "trial_balance",
        FormState(422 if field_errors else 200, field_errors=field_errors),
        here="trial_balance",
        balances=await trial_balances(request.services.db, day),
        day=day,
        query=query,
        amount=request.services.catalogue.format_amount,
        account_name=account_name,
    )


@OPERATIONS.add("GET", "/operator/books.csv", guard=operator_page)
async def trial_balance_csv(request: Request, query: TrialBalanceQuery) -> Response:
    """The trial balance as CSV."""
    day, field_errors = query.day(request.now)
    if field_errors:
        raise _invalid(field_errors)
    until = day or request.now.date()
    text = trial_balances_as_csv(await trial_balances(request.services.db, day), until, request.services.catalogue)
    return Response(text, 200, attachment(f"trial-balance-{until:%Y%m%d}.csv"), media_type=MEDIA_TYPE)


@OPERATIONS.add("GET", "/operator/books/bank", guard=operator_page)
async def bank_reconciliation(request: Request, caller: Operator) -> Response:
    """The bank accounts beside the ledger, and what is between them and the merchants' balances."""
    found = await reconcile(request.services.db)
    return await render(
        request,
        caller,
        "reconciliation",
        here="reconciliation",
        reconciliations=found,
        account_name=account_name,
        amount=request.services.catalogue.format_amount,
    )


@OPERATIONS.add("GET", "/operator/books/journal", guard=operator_page)
async def journal_page(request: Request, caller: Operator, query: JournalQuery) -> Response:
    """Choose the days of the journal and download it."""
    return await _journal_page(request, caller, query)


@OPERATIONS.add("GET", "/operator/books/journal.csv", guard=operator_page)
async def journal_csv(request: Request, query: JournalQuery) -> Response:
    """Every posting of these days as CSV."""
    first, last, field_errors = query.days(request.now)
    if field_errors:
        raise _invalid(field_errors)
    start, end = _midnight(first), min(_midnight(last + DAY), request.now)
    parts = journal.as_csv(request.services.db, start, end, request.services.catalogue)
    return download(f"journal-{first:%Y%m%d}-{last:%Y%m%d}.csv", parts)


@OPERATIONS.add("GET", "/operator/books/datev.csv", guard=operator_page)
async def datev_csv(request: Request, caller: Operator, query: JournalQuery) -> Response:
    """The daily totals of these days as a posting batch for DATEV. What is missing for it is shown on the page."""
    settings = request.services.settings
    first, last, field_errors = query.days(request.now)
    if field_errors:
        return await _journal_page(request, caller, query)
    if settings.datev_consultant is None or settings.datev_client is None or not settings.datev_accounts:
        return await _journal_page(request, caller, query, message="The settings for DATEV are missing.")
    if first.year != last.year:
        return await _journal_page(request, caller, query, message="All days of a file for DATEV must be of one year.")
    async with request.services.db.connection() as tx, tx.snapshot():
        days = await totals_store.list_days(tx, journal.CURRENCY, first, last)
    numbers = dict(settings.datev_accounts)
    if missing := journal.missing_accounts(days, numbers):
        message = Text("These accounts have no number: %(codes)s.", codes=", ".join(missing))
        return await _journal_page(request, caller, query, message=message)
    batch = journal.PostingBatch(settings.datev_consultant, settings.datev_client, first, last, request.now)
    raw = await asyncio.to_thread(journal.write_datev, batch, days, numbers)
    return Response(raw, 200, attachment(journal.datev_file_name(batch)), media_type=DATEV_MEDIA_TYPE)


async def _journal_page(request: Request, caller: Operator, query: JournalQuery, *, message: Translatable = "") -> Response:
    first, last, field_errors = query.days(request.now)
    return await render(
        request,
        caller,
        "journal",
        FormState(422 if field_errors or message else 200, message=message, field_errors=field_errors),
        here="journal",
        first=query.since or first,
        last=query.until or last,
        has_datev=bool(request.services.settings.datev_accounts),
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _invalid(field_errors: FieldErrors) -> ValidationFailed:
    return ValidationFailed(*(FieldError(name, "invalid_value", message) for name, message in field_errors.items()))


HISTORY_SHOWN = 50


@OPERATIONS.add("GET", "/operator/books/rails", guard=operator_page)
async def rail_balances(request: Request, caller: Operator) -> Response:
    """What each rail has outside, beside the ledger, and the rails that could not be measured."""
    failures = await store.list_failures(request.services.db)
    return await render(
        request,
        caller,
        "rail_balances",
        here="rail_balances",
        statuses=await store.list_latest(request.services.db),
        failures=sorted((rail, reason) for (rail, _), reason in failures.items()),
    )


@OPERATIONS.add("GET", "/operator/books/rails/{rail}/{currency}", guard=operator_page)
async def rail_balance(request: Request, caller: Operator, rail: str, currency: str) -> Response:
    """The newest measurement of a currency of a rail with all its parts, and the ones before."""
    history = await store.list_history(request.services.db, rail, "live", currency, HISTORY_SHOWN)
    if not history:
        raise NotFound
    return await render(
        request,
        caller,
        "rail_balance",
        here="rail_balances",
        balance=history[0],
        history=history,
        part_name=part_name,
        account=account_name(rail_account(rail).code),
    )
