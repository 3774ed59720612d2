"""Compares each rail with the ledger every few minutes, both as of the same moment, and names what lies between them."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalances, RailUnavailableError
from tollhouse.kernel.rails.registry import Rails
from tollhouse.ledger.accounting import store as totals_store
from tollhouse.ledger.books.model import rail as rail_account
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.balances import store
from tollhouse.rails.balances.model import RailBalance
from tollhouse.rails.bitcoin import balances as bitcoin_balances
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.cards import balances as card_balances
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeError
from tollhouse.rails.cards.stripe.objects import InexactAmountError
from tollhouse.rails.chain_jobs import following
from tollhouse.rails.evm import balances as chain_balances
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.json_rpc import NodeError

TRIES = 5
"""How often the balance at a provider, or in a wallet, is read until nothing changes it meanwhile."""


MeasuredRail = EvmNetwork | BitcoinNetwork | StripeCards
"""A rail that can be asked what it has, and is compared with the ledger."""


class RailBooks:
    """The ledger's side of a rail: the balance of its account and the number of the operator's entries, by currency."""

    def __init__(self, balances_minor: Mapping[str, int], floats: Mapping[str, int]) -> None:
        self.balances_minor = balances_minor
        self.floats = floats

    @classmethod
    async def read(cls, tx: Tx, rail: str, mode: Mode) -> "RailBooks":
        """Call it in a snapshot. The totals are those of live mode."""
        code = rail_account(rail).code
        totals = await totals_store.list_totals(tx, None)
        balances_minor = {one.currency: one.balance_minor for one in totals if one.code == code}
        return cls(balances_minor, await store.count_floats(tx, rail, mode))


async def measure_rail(services: Services, rail: MeasuredRail, now: datetime) -> list[RailBalance]:
    """Measure a rail and compare it with the ledger. Raises `CannotMeasureError` and `NodeError`."""
    match rail:
        case EvmNetwork():
            outside, books = await _measure_network(services, rail)
        case BitcoinNetwork():
            outside, books = await _measure_bitcoin(services, rail)
        case StripeCards():
            outside, books = await _measure_cards(services, rail, now)
    return compare(rail.name, rail.mode, outside, books, services.catalogue, now)


async def _measure_network(services: Services, network: EvmNetwork) -> tuple[OutsideBalances, RailBooks]:
    async with services.db.connection() as tx, tx.snapshot():
        on_chain = await chain_balances.read_books(tx, network)
        books = await RailBooks.read(tx, network.name, network.mode)
    return await chain_balances.measure(services.db, services.catalogue, network, on_chain), books


async def _measure_bitcoin(services: Services, network: BitcoinNetwork) -> tuple[OutsideBalances, RailBooks]:
    async with bitcoin_balances.opened(services.db, network) as node:
        for _ in range(TRIES):
            coins = await bitcoin_balances.read_coins(node)
            async with services.db.connection() as tx, tx.snapshot():
                known = await bitcoin_balances.read_books(tx, network, coins)
                books = await RailBooks.read(tx, network.name, network.mode)
            outside = await bitcoin_balances.measure(node, coins, known)
            if outside is not None:
                return outside, books
    raise CannotMeasureError("blocks arrived while the wallet was read")


async def _measure_cards(services: Services, cards: StripeCards, now: datetime) -> tuple[OutsideBalances, RailBooks]:
    for _ in range(TRIES):
        balance = await card_balances.read_balance(cards)
        try:
            await card_balances.read_new(services, cards, now)
        except (RailUnavailableError, StripeError, InexactAmountError) as error:
            raise CannotMeasureError(f"the provider does not list what changed its balance: {error}") from None
        async with services.db.connection() as tx, tx.snapshot():
            in_flight = await card_balances.read_in_flight(tx, cards, now)
            books = await RailBooks.read(tx, cards.name, cards.mode)
        if balance == await card_balances.read_balance(cards):
            booked = books.balances_minor
            return card_balances.outside_balances(balance, in_flight, booked, services.catalogue, now), books
    raise CannotMeasureError("the balance at the provider changed while it was read")


def compare(
    rail: str, mode: Mode, outside: OutsideBalances, books: RailBooks, catalogue: Catalogue, now: datetime
) -> list[RailBalance]:
    """Each currency of a rail beside the ledger."""
    compared: list[RailBalance] = []
    for one in outside.currencies:
        minor = 10 ** (one.decimals - catalogue.currencies[one.currency].decimals)
        compared.append(
            RailBalance(
                rail=rail,
                mode=mode,
                currency=one.currency,
                measured_at=now,
                as_of=outside.as_of,
                decimals=one.decimals,
                places=one.places,
                ledger_units=minor * books.balances_minor.get(one.currency, 0),
                in_flight=one.in_flight,
                tolerance_units=(minor - 1) * books.floats.get(one.currency, 0),
            )
        )
    return compared


async def record(services: Services, balances: Sequence[RailBalance]) -> None:
    """Store a measurement."""
    await services.db.transact(lambda tx: store.insert(tx, balances))


def measured(rails: Rails) -> list[MeasuredRail]:
    """The rails that are compared with the ledger."""
    return [*following(rails), *rails.of(StripeCards)]


INTERVAL, RETRY_AFTER = timedelta(minutes=5), timedelta(minutes=1)
SHARE = 20
"""A measurement that takes long is made less often: it takes at most one part in so many of the time."""


async def measure_balances(services: Services) -> None:
    """Measure each rail that is due, unless another worker does."""
    for rail in measured(services.rails):
        if await store.claim(services.db, rail.name, rail.mode, clock.now(), INTERVAL):
            await measure(services, rail, clock.now())


async def measure(services: Services, rail: MeasuredRail, now: datetime) -> None:
    """Measure a rail and store what was found, or why it could not be measured. The last measurement stays."""
    began_s, failure = time.monotonic(), None
    try:
        balances = await measure_rail(services, rail, now)
    except (NodeError, CannotMeasureError) as error:
        failure = str(error)
        log.warning("rail_not_measured", part=rail.name, reason=failure)
    else:
        await record(services, balances)
        for one in balances:
            if one.differs:
                log.error("rail_differs", part=rail.name, detail=f"{one.format(one.difference_units)} {one.currency}")
    took = timedelta(seconds=time.monotonic() - began_s)
    pause = max(INTERVAL if failure is None else RETRY_AFTER, SHARE * took)
    await store.measure_next(services.db, rail.name, rail.mode, now + pause, failure)
