"""`tollhouse operator rail-balances`: what rails have outside beside the ledger, and the operator's own money on them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import App, Parameter
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, Reason, UsageError, print_action, print_rows, read_signed, run_as
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
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
CurrencyArgument = Annotated[str, Parameter(help="The currency code.")]
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
def list_balances(*, as_json: Json = False) -> int:
    """List what each rail has outside, what the ledger has, what is in flight, and the difference."""

    async def read(services: Services) -> Sequence[RailBalanceRow]:
        return [_row(one) for one in await store.list_latest(services.db)]

    return print_rows("rail_balances", read, as_json=as_json)


@app.command(name="unexplained")
def list_unexplained(*, as_json: Json = False) -> int:
    """List what changed the balance at a card provider and has no cause here, newest first."""

    async def read(services: Services) -> Sequence[UnexplainedRow]:
        found = await balance_store.list_unexplained(services.db, clock.now(), UNEXPLAINED_SHOWN)
        return [_unexplained(one, services.catalogue) for one in found]

    return print_rows("balance_transactions", read, as_json=as_json)


@app.command(name="float")
def change_float(
    rail: RailArgument,
    currency: CurrencyArgument,
    amount: AmountArgument,
    /,
    *,
    reason: Reason,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Book money of your own that you put on a rail, such as coins for fees, or took from it. It concerns no merchant."""

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        actions.ensure_measured(services, rail, currency)
        known = services.catalogue.currencies.get(currency)
        if known is None:
            raise UsageError(f"Unknown currency {currency}.")
        amount_minor = read_signed(amount, known)
        return await services.transact(
            lambda work: actions.change_rail_float(work, rail, known, amount_minor, context), context.at, OPERATOR
        )

    return print_action(run_as(change, reason, by), as_json=as_json)


def _unexplained(one: UnexplainedTransaction, catalogue: Catalogue) -> UnexplainedRow:
    def format_minor(minor: int) -> str:
        return catalogue.format_amount(minor, one.currency)

    return UnexplainedRow(
        rail=one.rail,
        id=one.external_id,
        category=one.category,
        source=one.source,
        currency=one.currency,
        amount=format_minor(one.amount_minor),
        fee=format_minor(one.fee_minor),
        net=format_minor(one.amount_minor - one.fee_minor),
        created_at=stamp(one.created_at),
    )


def _row(one: RailStatus) -> RailBalanceRow:
    found = one.balance
    return RailBalanceRow(
        rail=found.rail,
        currency=found.currency,
        outside=found.format(found.outside_units),
        ledger=found.format(found.ledger_units),
        in_flight=found.format(found.in_flight_units),
        difference=found.format(found.difference_units),
        differs=found.differs,
        places={name: found.format(units) for name, units in found.places.items()},
        in_flight_parts={kind: found.format(units) for kind, units in found.in_flight.items()},
        as_of=found.as_of,
        measured_at=stamp(found.measured_at),
        differs_since=stamp_or_none(one.differs_since),
        failure=one.failure,
    )
