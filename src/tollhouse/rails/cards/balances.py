"""What a card provider owes the operator, and what is in flight between it and the ledger.

The balance is read before and after the list of what changed it and the ledger. If it is the same, all of them are of one
moment.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.rails.balances import CannotMeasureError, OutsideBalance, OutsideBalances
from tollhouse.kernel.rails.provider import RailUnavailableError
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.cards import balances_store as store
from tollhouse.rails.cards.stripe.amounts import InexactAmountError
from tollhouse.rails.cards.stripe.balance import ProviderBalance
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeError

InFlight = Mapping[str, Mapping[str, int]]
"""Minor units by currency and cause."""


async def read_in_flight(tx: Tx, cards: StripeCards, now: datetime) -> InFlight:
    """What is in flight. Call it in a snapshot, with the ledger."""
    return await store.list_in_flight(tx, cards.name, cards.mode, now)


async def read_balance(cards: StripeCards) -> Sequence[ProviderBalance]:
    """The balance now. Raises `CannotMeasureError`."""
    try:
        return await cards.read_balance()
    except (RailUnavailableError, StripeError, InexactAmountError) as error:
        raise CannotMeasureError(f"the provider does not state its balance: {error}") from None


def outside_balances(
    balance: Sequence[ProviderBalance], in_flight: InFlight, booked: Mapping[str, int], catalogue: Catalogue, now: datetime
) -> OutsideBalances:
    """Each currency of the catalogue in which the provider or the ledger has money."""
    found = {one.currency: one for one in balance}
    codes = sorted({*found, *in_flight, *(code for code, minor in booked.items() if minor)} & catalogue.currencies.keys())
    return OutsideBalances(
        stamp(now),
        tuple(
            OutsideBalance(
                currency=code,
                decimals=catalogue.currencies[code].decimals,
                places=_places(found.get(code)),
                in_flight=in_flight.get(code, {}),
            )
            for code in codes
        ),
    )


def _places(balance: ProviderBalance | None) -> dict[str, int]:
    places = {} if balance is None else {"available": balance.available_minor, "pending": balance.pending_minor}
    return {place: minor for place, minor in places.items() if minor}
