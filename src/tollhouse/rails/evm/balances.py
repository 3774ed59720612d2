"""What an EVM network has for us at one final block: in the wallet and at deposit addresses, and what is in flight.

The database is read in one snapshot. Its cursor says which block the ledger has reached; balances are those after that
block, and transactions that the worker has not looked up yet are looked up here. So nothing has to stand still meanwhile.
"""

from collections.abc import Mapping

from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalance, OutsideBalances
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.evm import balances_store as store
from tollhouse.rails.evm.balances_store import ChainBooks, DepositSums, PayoutSums
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode, number_of, read_balances
from tollhouse.rails.evm.network.provider import Asset, EvmNetwork
from tollhouse.rails.evm.network.sending import SentReceipt

Receipts = dict[str, SentReceipt]


class NetworkReading:
    """A network while it is measured."""

    changed = "the network changed while it was read"

    def __init__(self, services: Services, network: EvmNetwork) -> None:
        self._db, self._catalogue, self._network = services.db, services.catalogue, network
        self._books: ChainBooks | None = None

    async def read_outside(self) -> None:
        """Nothing: the balances at a block can be read afterwards."""

    async def read_books(self, tx: Tx) -> None:
        """What the database knows at its block. Raises `CannotMeasureError`."""
        self._books = await store.read_books(tx, self._network.name, self._network.mode)
        if self._books is None:
            raise CannotMeasureError("no block was read yet")
        if self._network.pays_out and not self._books.has_wallet:
            raise CannotMeasureError("the wallet that pays is not known yet")

    async def find_balances(self, booked_minor: Mapping[str, int]) -> OutsideBalances | None:  # noqa: ARG002 - of all assets
        """The balances after the block of the books. Raises `CannotMeasureError` and `NodeError`."""
        network, books = self._network, self._books
        url = network.settings.read_node_url()
        if url is None:
            raise CannotMeasureError("node_url is needed by the worker")
        if books is None:
            return None
        async with EvmNode(url) as node:
            found = await sending.find_receipts(node, [sent.tx_hash for sent in books.open])
            receipts = {
                receipt.transaction_hash: receipt
                for receipt in found
                if number_of(receipt.block_number) <= books.block.number
            }
            balances = [
                await _measure_asset(self._db, node, self._catalogue, network, books, receipts, asset)
                for asset in network.assets.values()
            ]
        return OutsideBalances(f"block {books.block.number}", tuple(balances))


async def _measure_asset(
    db: Pool, node: EvmNode, catalogue: Catalogue, network: EvmNetwork, books: ChainBooks, receipts: Receipts, asset: Asset
) -> OutsideBalance:
    decimals = catalogue.currencies[asset.currency].decimals
    scale = max(decimals, asset.decimals)
    unit, minor = 10 ** (scale - asset.decimals), 10 ** (scale - decimals)
    places = {
        "wallet": unit * sum(await read_balances(node, books.wallets, asset.contract, books.block.hash)),
        "sweep_target": unit * sum(await read_balances(node, books.sweep_targets, asset.contract, books.block.hash)),
        "deposit_addresses": unit * await _sum_deposit_addresses(db, node, network, books, asset),
    }
    deposits = books.deposits.get(asset.currency, DepositSums())
    payouts = books.payouts.get(asset.currency, PayoutSums())
    left_open = sum(
        sent.amount_units
        for sent in books.open
        if sent.currency == asset.currency and sent.tx_hash in receipts and not receipts[sent.tx_hash].was_reverted
    )
    in_flight = {
        "deposits_not_credited": unit * deposits.not_credited_units,
        "deposits_ignored": unit * deposits.ignored_units,
        "deposits_lost": -minor * deposits.lost_minor,
        "payouts": unit * (payouts.ahead_units - payouts.not_posted_units - left_open),
        "rounding": unit * deposits.credited_units - minor * deposits.credited_minor,
    }
    if asset.contract is None:
        fees, fees_open = books.fees, sum(receipt.fee_wei for receipt in receipts.values())
        in_flight["network_fees"] = minor * fees.ahead_minor - unit * (fees.not_posted_wei + fees_open)
        in_flight["rounding"] += minor * fees.paid_minor - unit * fees.paid_wei
    return OutsideBalance(
        currency=asset.currency,
        decimals=scale,
        places={place: units for place, units in places.items() if units},
        in_flight={kind: units for kind, units in in_flight.items() if units},
    )


async def _sum_deposit_addresses(db: Pool, node: EvmNode, network: EvmNetwork, books: ChainBooks, asset: Asset) -> int:
    """The units at deposit addresses. What a contract sent to an address that nobody has paid is not looked for."""
    total, after, swept_until = 0, "", None if asset.contract is None else books.block.number
    while addresses := await store.list_paid_addresses(db, network.name, network.mode, asset.currency, after, swept_until):
        total += sum(await read_balances(node, addresses, asset.contract, books.block.hash))
        after = addresses[-1]
    return total
