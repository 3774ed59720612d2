"""Compares each rail with the ledger every few minutes, both as of the same moment, and names what lies between them."""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalances, Provider
from tollhouse.ledger.accounting import store as totals_store
from tollhouse.ledger.books.model import rail as rail_account
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.balances import store
from tollhouse.rails.balances.model import RailBalance
from tollhouse.rails.configured import MEASUREMENTS
from tollhouse.rails.json_rpc import NodeError

INTERVAL, RETRY_AFTER = timedelta(minutes=5), timedelta(minutes=1)
SHARE = 20
"""A measurement that takes long is made less often: it takes at most one part in so many of the time."""
TRIES = 5
"""How often the balance at a provider, or in a wallet, is read until nothing changes it meanwhile."""


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
        balances_minor = {total.currency: total.balance_minor for total in totals if total.code == code}
        return cls(balances_minor, await store.count_floats(tx, rail, mode))


async def measure_rail(services: Services, rail: Provider, now: datetime) -> list[RailBalance]:
    """Measure a rail and compare it with the ledger. Raises `CannotMeasureError` and `NodeError`."""
    async with MEASUREMENTS[type(rail)](services, rail, now) as reading:
        for _ in range(TRIES):
            await reading.read_outside()
            async with services.db.connection() as tx, tx.snapshot():
                await reading.read_books(tx)
                books = await RailBooks.read(tx, rail.name, rail.mode)
            outside = await reading.find_balances(books.balances_minor)
            if outside is not None:
                return compare(rail.name, rail.mode, outside, books, services.catalogue, now)
        raise CannotMeasureError(reading.changed)


def compare(
    rail: str, mode: Mode, outside: OutsideBalances, books: RailBooks, catalogue: Catalogue, now: datetime
) -> list[RailBalance]:
    """Each currency of a rail beside the ledger."""
    compared: list[RailBalance] = []
    for currency in outside.currencies:
        minor = 10 ** (currency.decimals - catalogue.currencies[currency.currency].decimals)
        compared.append(
            RailBalance(
                rail=rail,
                mode=mode,
                currency=currency.currency,
                measured_at=now,
                as_of=outside.as_of,
                decimals=currency.decimals,
                places=currency.places,
                ledger_units=minor * books.balances_minor.get(currency.currency, 0),
                in_flight=currency.in_flight,
                tolerance_units=(minor - 1) * books.floats.get(currency.currency, 0),
            )
        )
    return compared


def is_measured(provider: Provider | None) -> bool:
    """Whether the rail can be asked what it has, and is compared with the ledger."""
    return type(provider) in MEASUREMENTS


async def measure_balances(services: Services) -> None:
    """Measure each rail that is due, unless another worker does."""
    for rail in filter(is_measured, services.rails.providers.values()):
        if await store.claim(services.db, rail.name, rail.mode, clock.now(), INTERVAL):
            await measure(services, rail, clock.now())


async def measure(services: Services, rail: Provider, now: datetime) -> None:
    """Measure a rail and store what was found, or why it could not be measured. The last measurement stays."""
    began_s, failure = time.monotonic(), None
    try:
        balances = await measure_rail(services, rail, now)
    except (NodeError, CannotMeasureError) as error:
        failure = str(error)
        log.warning("rail_not_measured", part=rail.name, reason=failure)
    else:
        await services.db.transact(lambda tx: store.insert(tx, balances))
        for balance in balances:
            if balance.differs:
                log.error(
                    "rail_differs", part=rail.name, detail=f"{balance.format(balance.difference_units)} {balance.currency}"
                )
    took = timedelta(seconds=time.monotonic() - began_s)
    pause = max(INTERVAL if failure is None else RETRY_AFTER, SHARE * took)
    await store.measure_next(services.db, rail.name, rail.mode, now + pause, failure)
