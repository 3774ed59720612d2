"""The dashboard's pages about balances and ledger entries, and the entries as a file."""

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct
from starlette.responses import Response

from tollhouse.books import store
from tollhouse.books.model import LedgerQuery, Wanted
from tollhouse.books.store import Line
from tollhouse.catalogue.currencies import CURRENCIES, Currency, format_amount
from tollhouse.http.csv_table import download, file_name, lines
from tollhouse.http.form_errors import NO_ERRORS, form_errors_of
from tollhouse.http.keyset import NEWEST, turn_by
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import statuses_of
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.model import MERCHANT_CODES, EntryType
from tollhouse.ledger.store import Balance, list_balances
from tollhouse.ledger.views import BalanceView, balance_view
from tollhouse.platform.db import Pool

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
"""Where what an entry came from has a page of its own."""


class Kept(Struct, frozen=True):
    """What is reserved for one kind of thing, and where those things are."""

    name: str
    path: str
    amount: str


class ShownBalance(Struct, frozen=True):
    """The balance in one currency, what is reserved of it for what, and what can be done with it."""

    view: BalanceView
    name: str
    parts: list[Kept]
    withdrawals: bool
    conversions: bool


class ShownLine(Struct, frozen=True):
    """One entry as the page tells it. No `source_path`: what it came from has no page of its own."""

    line: Line
    at: str
    amount: str
    balance_after: str
    source: str
    source_path: str


@OPERATIONS.add("GET", "/{mode}/balances", guard=signed_in_page)
async def balances(request: Request, caller: Person, mode: str) -> Response:
    """What there is in each currency: to be spent, on its way, set aside for what, and owed."""
    env = caller.env(mode)
    held = await list_balances(request.services.db, env)
    return page(
        request,
        "books/balances.html",
        person=caller,
        mode=env.mode,
        here="balances",
        balances=[_balance(one, env) for one in held],
        others=_without_history({one.currency for one in held}),
    )


@OPERATIONS.add("GET", "/{mode}/ledger", guard=signed_in_page)
async def ledger(request: Request, caller: Person, mode: str, query: LedgerQuery) -> Response:
    """Every change of every balance, newest first, with what the balance was then."""
    env, db = caller.env(mode), request.services.db
    form_errors = NO_ERRORS
    found, more = list[Line](), False
    try:
        wanted = query.wanted(caller.zone)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, ("from", "to"))
    else:
        than = NEWEST if query.before is None else await store.place_of(db, env, query.before)
        if than is None:
            raise NotFound
        found, more = query.cut(await store.older(db, env, wanted, than, query.fetch))
    path = f"/{env.mode}/ledger"
    return page(
        request,
        "books/ledger.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="ledger",
        query=query,
        form_errors=form_errors,
        entries=[_shown(line, env) for line in found],
        currencies=[(code, code) for code in await store.currencies(db, env)],
        accounts=[(code, code) for code in MERCHANT_CODES],
        types=statuses_of(EntryType),
        turn=turn_by(query, path, found[-1].id if more else None),
        export=f"{path}/export{query.address(None)}",
    )


@OPERATIONS.add("GET", "/{mode}/ledger/export", guard=signed_in_page)
async def export(request: Request, caller: Person, mode: str, query: LedgerQuery) -> Response:
    """How many entries the filters mean, and where they can be had as a file."""
    env = caller.env(mode)
    path = f"/{env.mode}/ledger"
    try:
        wanted = query.wanted(caller.zone)
    except ValidationFailed:
        return see_other(path + query.address(None))
    return page(
        request,
        "books/export.html",
        person=caller,
        mode=env.mode,
        here="ledger",
        query=query,
        count=await store.count(request.services.db, env, wanted),
        file=f"{path}.csv{query.address(None)}",
        name=file_name("ledger", request.now, env.mode),
        shown_list=path + query.address(None),
        header=HEADER,
    )


@OPERATIONS.add("GET", "/{mode}/ledger.csv", guard=signed_in_page)
async def ledger_csv(request: Request, caller: Person, mode: str, query: LedgerQuery) -> Response:
    """Every entry that the filters mean, newest first, as CSV. What is posted while it is sent is not in it."""
    env = caller.env(mode)
    return download(file_name("ledger", request.now, env.mode), _parts(request.services.db, env, query.wanted(caller.zone)))


def _balance(balance: Balance, env: MerchantEnv) -> ShownBalance:
    currency = CURRENCIES[balance.currency]
    kept = (
        ("withdrawals", "withdrawals", balance.held_for_withdrawals_minor),
        ("balance_payments", "balance-payments", balance.held_for_balance_payments_minor),
        ("refunds", "payments", balance.held_for_refunds_minor),
        ("fulfillments", "fulfillments", balance.held_for_fulfillments_minor),
    )
    return ShownBalance(
        view=balance_view(balance, env, currency.decimals),
        name=currency.name,
        parts=[Kept(name, path, currency.format(minor)) for name, path, minor in kept if minor],
        withdrawals=currency.operations.withdrawals,
        conversions=currency.operations.conversions,
    )


def _without_history(known: set[str]) -> list[Currency]:
    return [one for one in CURRENCIES.values() if one.operations.balances and one.code not in known]


def _shown(line: Line, env: MerchantEnv) -> ShownLine:
    amount = format_amount(abs(line.delta_minor), line.currency)
    below = SOURCES.get(line.source_type)
    if line.type == "balance_payment_in":  # its page is for whom paid; who was paid has it below the application
        below = None
    return ShownLine(
        line=line,
        at=stamp(line.created_at),
        amount=("+" if line.delta_minor > 0 else "\N{MINUS SIGN}") + amount,
        balance_after=format_amount(line.balance_after_minor, line.currency),
        source=line.source_type.replace("_", " "),
        source_path="" if below is None else f"/{env.mode}/{below}/{line.source_id}",
    )


async def _parts(db: Pool, env: MerchantEnv, wanted: Wanted) -> AsyncIterator[str]:
    yield lines([HEADER])
    async for batch in store.all_lines(db, env, wanted):
        yield lines(_cells(line, env) for line in batch)


def _cells(line: Line, env: MerchantEnv) -> tuple[str, ...]:
    return (
        str(line.id),
        stamp(line.created_at),
        line.account,
        line.type,
        line.currency,
        format_amount(line.delta_minor, line.currency),
        format_amount(line.balance_after_minor, line.currency),
        str(line.sequence),
        line.source_type,
        str(line.source_id),
        str(line.transaction_id),
        env.mode,
    )
