"""The dashboard's pages of balances and ledger entries, and the CSV export."""

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import cells, download, file_name, lines
from tollhouse.http.forms import NO_ERRORS, form_errors_of
from tollhouse.http.lists import NEWEST, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import COUNTED_ROWS_MAX
from tollhouse.ledger.books.model import MERCHANT_CODES, EntryType
from tollhouse.ledger.books.store import Balance, list_balances
from tollhouse.ledger.books.views import BalanceView, balance_view
from tollhouse.pages.dashboard.balances import ledger_store as store
from tollhouse.pages.dashboard.balances.ledger_store import LedgerFilter, LedgerPageQuery, ListedEntry
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
HEADER = (
    "id", "created_at", "account", "type", "currency", "amount", "balance_after", "sequence", "source_type", "source_id",
    "ledger_transaction_id", "mode",
)  # fmt: skip
SOURCES: Mapping[str, str] = {
    "transaction": "payments",
    "withdrawal": "withdrawals",
    "conversion": "conversions",
    "balance_payment": "balance-payments",
    "fulfillment": "fulfillments",
}
"""Paths of the source objects that have a page."""


class ReservedPart(Struct, frozen=True):
    """A reserved amount by purpose, with the path of its list."""

    name: str
    path: str
    amount: str


class BalanceCard(Struct, frozen=True):
    """A balance in one currency, its reserved parts, and the available actions."""

    view: BalanceView
    name: str
    parts: list[ReservedPart]
    withdrawals: bool
    conversions: bool


class EntryRow(Struct, frozen=True):
    """A row of the page. `source_path` is empty if the source has no page."""

    entry: ListedEntry
    at: str
    amount: str
    balance_after: str
    source: str
    source_path: str


@OPERATIONS.add("GET", "/{mode}/balances", guard=signed_in_page("read"))
async def balances(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Show the balance in each currency."""
    current = await list_balances(request.services.db, env)
    return render(
        request,
        caller,
        "ledger/balances",
        here="balances",
        balances=[_balance_card(balance, env, request.services.catalogue) for balance in current],
        others=_without_history({balance.currency for balance in current}, request.services.catalogue),
    )


@OPERATIONS.add("GET", "/{mode}/ledger", guard=signed_in_page("read"))
async def ledger(request: Request, caller: Person, env: MerchantEnv, query: LedgerPageQuery) -> Response:
    """List ledger entries, newest first."""
    db = request.services.db
    form_errors = NO_ERRORS
    found, more = list[ListedEntry](), False
    try:
        entry_filter = query.entry_filter(caller.zone)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, ("from", "to"))
    else:
        after = NEWEST if query.before is None else await store.find_position(db, env, query.before)
        if after is None:
            raise NotFound
        found, more = query.cut(await store.list_older(db, env, entry_filter, after, query.fetch))
    path = f"/{env.mode}/ledger"
    return render(
        request,
        caller,
        "ledger/ledger",
        here="ledger",
        query=query,
        saved=await load_saved_filters(request, caller, env, "ledger", query),
        form_errors=form_errors,
        entries=[_entry_row(entry, env, request.services.catalogue) for entry in found],
        currencies=[(code, code) for code in await store.currencies(db, env)],
        accounts=[(code, code) for code in MERCHANT_CODES],
        types=status_options(EntryType),
        page_links=query.links(path, found, more=more),
        export=f"{path}/export{query.address(None)}",
    )


@OPERATIONS.add("GET", "/{mode}/ledger/export", guard=signed_in_page("read"))
async def export(request: Request, caller: Person, env: MerchantEnv, query: LedgerPageQuery) -> Response:
    """Show how many entries match, with the link to the file."""
    path = f"/{env.mode}/ledger"
    try:
        entry_filter = query.entry_filter(caller.zone)
    except ValidationFailed:
        return see_other(path + query.address(None))
    return render(
        request,
        caller,
        "ledger/export",
        here="ledger",
        query=query,
        count=await store.count(await request.services.reports_db(), env, entry_filter, COUNTED_ROWS_MAX + 1),
        counted_max=COUNTED_ROWS_MAX,
        file=f"{path}.csv{query.address(None)}",
        name=file_name("ledger", request.now, env.mode),
        shown_list=path + query.address(None),
        header=HEADER,
    )


@OPERATIONS.add("GET", "/{mode}/ledger.csv", guard=signed_in_page("read"))
async def ledger_csv(request: Request, caller: Person, env: MerchantEnv, query: LedgerPageQuery) -> Response:
    """Stream the matching entries as CSV, newest first. Entries posted meanwhile are not included."""
    return download(
        file_name("ledger", request.now, env.mode),
        _csv_parts(await request.services.reports_db(), env, query.entry_filter(caller.zone), request.services.catalogue),
    )


def _balance_card(balance: Balance, env: MerchantEnv, catalogue: Catalogue) -> BalanceCard:
    currency = catalogue.currencies[balance.currency]
    reserved = (
        ("withdrawals", "withdrawals", balance.held_for_withdrawals_minor),
        ("balance_payments", "balance-payments", balance.held_for_balance_payments_minor),
        ("refunds", "payments", balance.held_for_refunds_minor),
        ("fulfillments", "fulfillments", balance.held_for_fulfillments_minor),
    )
    return BalanceCard(
        view=balance_view(balance, env, currency.decimals),
        name=currency.name,
        parts=[ReservedPart(name, path, currency.format(minor)) for name, path, minor in reserved if minor],
        withdrawals=currency.operations.withdrawals,
        conversions=currency.operations.conversions,
    )


def _without_history(known: set[str], catalogue: Catalogue) -> list[Currency]:
    return [
        currency for currency in catalogue.currencies.values() if currency.operations.balances and currency.code not in known
    ]


def _entry_row(entry: ListedEntry, env: MerchantEnv, catalogue: Catalogue) -> EntryRow:
    amount = catalogue.format_amount(abs(entry.delta_minor), entry.currency)
    below = SOURCES.get(entry.source_type)
    if entry.type == "balance_payment_in":  # only the payer has a page of it
        below = None
    return EntryRow(
        entry=entry,
        at=stamp(entry.created_at),
        amount=("+" if entry.delta_minor > 0 else "\N{MINUS SIGN}") + amount,
        balance_after=catalogue.format_amount(entry.balance_after_minor, entry.currency),
        source="payment" if entry.source_type == "transaction" else entry.source_type.replace("_", " "),
        source_path="" if below is None else f"/{env.mode}/{below}/{entry.source_id}",
    )


async def _csv_parts(db: Pool, env: MerchantEnv, entry_filter: LedgerFilter, catalogue: Catalogue) -> AsyncIterator[str]:
    yield lines([HEADER])
    async for batch in store.iterate_all(db, env, entry_filter):
        yield lines(_cells(entry, env, catalogue) for entry in batch)


def _cells(entry: ListedEntry, env: MerchantEnv, catalogue: Catalogue) -> list[str]:
    return cells(
        entry,
        HEADER,
        amount=catalogue.format_amount(entry.delta_minor, entry.currency),
        balance_after=catalogue.format_amount(entry.balance_after_minor, entry.currency),
        ledger_transaction_id=entry.transaction_id,
        mode=env.mode,
    )
