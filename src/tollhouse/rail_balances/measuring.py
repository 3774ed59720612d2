"""Compares a rail with the ledger: both are read as of the same moment, and whatever is between them is named."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from tollhouse.accounting import store as totals_store
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.chains import balances as chain_balances
from tollhouse.http.services import Services
from tollhouse.kernel.ids import Mode
from tollhouse.ledger.model import rail as rail_account
from tollhouse.platform.db import Tx
from tollhouse.rail_balances import store
from tollhouse.rail_balances.model import RailBalance
from tollhouse.rails.balances import OutsideBalances
from tollhouse.rails.evm.provider import EvmNetwork


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


async def measure_network(services: Services, network: EvmNetwork, now: datetime) -> list[RailBalance]:
    """Measure an EVM network. Raises `CannotMeasureError` and `NodeError`."""
    async with services.db.connection() as tx, tx.snapshot():
        on_chain = await chain_balances.read_books(tx, network)
        books = await RailBooks.read(tx, network.name, network.mode)
    outside = await chain_balances.measure(services.db, services.catalogue, network, on_chain)
    return compare(network.name, network.mode, outside, books, services.catalogue, now)


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
