"""`tollhouse operator rail-balances`: what rails have outside beside the ledger, and the operator's own money on them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import App, Parameter
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.instance.cli.actions import CurrencyArgument, UsageError, WithReason, act, print_rows, read_signed
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.pages.console import actions
from tollhouse.rails.balances import store
from tollhouse.rails.balances.model import RailStatus
from tollhouse.rails.cards import balance_store
from tollhouse.rails.cards.balance_store import UnexplainedTransaction

UNEXPLAINED_SHOWN = 500
app = App(name="rail-balances", help="Compare rails with the ledger, and book your own money on them.")
RailArgument = Annotated[str, Parameter(help="The name of the rail in the rails file.")]
AmountArgument = Annotated[str, Parameter(help="For example 0.5; a negative amount was taken.", allow_leading_hyphen=True)]


class RailBalanceRow(Struct, frozen=True):
    """The newest measurement of a currency of a rail. Amounts are decimal strings."""

    rail: str
    currency: str
    outside: str
    ledger: str
    in_flight: str
    difference: str
    differs: bool
    places: Mapping[str, str]
    in_flight_parts: Mapping[str, str]
    as_of: str
    measured_at: Timestamp
    differs_since: Timestamp | None
    failure: str | None


class UnexplainedRow(Struct, frozen=True):
    """A balance transaction at a card provider. Amounts are decimal strings; `net` is less the fee."""

    rail: str
    id: str
    category: str
    source: str | None
    currency: str
    amount: str
    fee: str
    net: str
    created_at: Timestamp


@app.command(name="list")
def list_balances(*, as_json: Json = False) -> None:
    """List what each rail has outside, what the ledger has, what is in flight, and the difference."""

    async def read(services: Services) -> Sequence[RailBalanceRow]:
        return [_row(status) for status in await store.list_latest(services.db)]

    print_rows("rail_balances", read, as_json=as_json)


@app.command(name="unexplained")
def list_unexplained(*, as_json: Json = False) -> None:
    """List what changed the balance at a card provider and has no cause here, newest first."""

    async def read(services: Services) -> Sequence[UnexplainedRow]:
        transactions = await balance_store.list_unexplained(services.db, clock.now(), UNEXPLAINED_SHOWN)
        return [_unexplained(transaction, services.catalogue) for transaction in transactions]

    print_rows("balance_transactions", read, as_json=as_json)


@app.command(name="float")
def change_float(rail: RailArgument, currency: CurrencyArgument, amount: AmountArgument, /, *, options: WithReason) -> None:
    """Book money of your own that you put on a rail, such as coins for fees, or took from it. It concerns no merchant."""

    async def change(work: Work, context: OperatorContext) -> OperatorAction:
        actions.ensure_measured(work.services, rail, currency)
        known = work.services.catalogue.currencies.get(currency)
        if known is None:
            raise UsageError(f"Unknown currency {currency}.")
        return await actions.change_rail_float(work, rail, known, read_signed(amount, known), context)

    act(change, options)


def _unexplained(transaction: UnexplainedTransaction, catalogue: Catalogue) -> UnexplainedRow:
    def format_minor(minor: int) -> str:
        return catalogue.format_amount(minor, transaction.currency)

    return UnexplainedRow(
        rail=transaction.rail,
        id=transaction.external_id,
        category=transaction.category,
        source=transaction.source,
        currency=transaction.currency,
        amount=format_minor(transaction.amount_minor),
        fee=format_minor(transaction.fee_minor),
        net=format_minor(transaction.amount_minor - transaction.fee_minor),
        created_at=stamp(transaction.created_at),
    )


def _row(status: RailStatus) -> RailBalanceRow:
    balance = status.balance
    return RailBalanceRow(
        rail=balance.rail,
        currency=balance.currency,
        outside=balance.format(balance.outside_units),
        ledger=balance.format(balance.ledger_units),
        in_flight=balance.format(balance.in_flight_units),
        difference=balance.format(balance.difference_units),
        differs=balance.differs,
        places={name: balance.format(units) for name, units in balance.places.items()},
        in_flight_parts={kind: balance.format(units) for kind, units in balance.in_flight.items()},
        as_of=balance.as_of,
        measured_at=stamp(balance.measured_at),
        differs_since=stamp_or_none(status.differs_since),
        failure=status.failure,
    )
