"""What the wallet of a Bitcoin node has in blocks, and what is in flight between it and the ledger.

The node states no balance as of a block. So all is read between two looks at its newest block, which must be the same. The
database is read in between: whatever is in that block was drafted before, so the database knows it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalance, OutsideBalances
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bitcoin import deposits_store, watching
from tollhouse.rails.bitcoin.deposits_store import BatchBooks, BitcoinBooks
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import InvalidKeyError
from tollhouse.rails.bitcoin.network.node import BitcoinNode, ChainState, WalletCoin, WalletTransaction, satoshis
from tollhouse.rails.bitcoin.network.provider import CURRENCY, BitcoinNetwork
from tollhouse.rails.bitcoin.network.transfers import Outpoint
from tollhouse.rails.chains import store

DECIMALS = 8
"""Of bitcoin, down to a satoshi."""


class WalletCoins(Struct, frozen=True):
    """The coins in blocks that the wallet lists, and the state of the chain before."""

    state: ChainState | None
    listed: list[WalletCoin]


@asynccontextmanager
async def open_wallet(db: Pool, network: BitcoinNetwork) -> AsyncIterator["WalletReading"]:
    """Begin to read the wallet of the node. Raises `CannotMeasureError` unless it has all addresses, and `NodeError`."""
    try:
        account = network.account()
    except InvalidKeyError:
        account = None
    if network.settings.read_node_url() is None or account is None:
        raise CannotMeasureError("node_url and xpub are needed by the worker")
    async with watching.open_node(network) as (node, _):
        if await node.is_scanning():
            raise CannotMeasureError("the wallet of the node reads old blocks")
        watched = await node.watched_up_to(keys.descriptor(account, keys.DEPOSITS))
        if watched < await store.last_given_index(db, network.name, network.mode):
            raise CannotMeasureError("the wallet of the node does not watch all addresses that were given out")
        yield WalletReading(node, network)


class WalletReading:
    """A wallet while it is measured. Raises `CannotMeasureError` and `NodeError`."""

    changed = "blocks arrived while the wallet was read"

    def __init__(self, node: BitcoinNode, network: BitcoinNetwork) -> None:
        self._node, self._network = node, network
        self._coins = WalletCoins(None, [])
        self._books: BitcoinBooks | None = None

    async def read_outside(self) -> None:
        """The coins that the wallet lists, after the state of the chain."""
        self._coins = WalletCoins(await self._node.state(), await self._node.coins())

    async def read_books(self, tx: Tx) -> None:
        """What the database knows of them."""
        self._books = await deposits_store.read_books(tx, self._network.name, self._network.mode, self._coins.listed)

    async def find_balances(self, booked_minor: Mapping[str, int]) -> OutsideBalances | None:  # noqa: ARG002 - one currency
        """The balances at the newest block; None if that has changed since the coins were read.

        The wallet does not list coins that a transaction in the mempool spends. Those of batches are asked for in the chain.
        """
        node, coins, books = self._node, self._coins, self._books
        if books is None or coins.state is None:
            return None
        listed = {(output.txid, output.vout): output for output in coins.listed}
        unspent = await node.unspent([output.outpoint for output in books.held if output.outpoint not in listed])
        deposits_minor = sum(satoshis(output.amount) for output in coins.listed if output.address in books.ours)
        others_minor = sum(satoshis(output.amount) for output in coins.listed if output.address not in books.ours)
        deposits_minor += sum(
            output.amount_minor for output in books.held if output.outpoint in unspent and output.is_deposit
        )
        others_minor += sum(
            output.amount_minor for output in books.held if output.outpoint in unspent and not output.is_deposit
        )
        in_flight = await _deposits_in_flight(node, listed, unspent, books) | await _payouts_in_flight(node, books)
        if (await node.state()).bestblockhash != coins.state.bestblockhash:
            return None
        places = {"deposit_addresses": deposits_minor, "other_addresses": others_minor}
        balance = OutsideBalance(
            currency=CURRENCY,
            decimals=DECIMALS,
            places={place: amount for place, amount in places.items() if amount},
            in_flight={kind: amount for kind, amount in in_flight.items() if amount},
        )
        return OutsideBalances(f"block {coins.state.blocks}", (balance,))


async def _deposits_in_flight(
    node: BitcoinNode, listed: dict[Outpoint, WalletCoin], unspent: set[Outpoint], books: BitcoinBooks
) -> dict[str, int]:
    """Deposits in blocks that are not credited, and credited ones in none. Spent ones are looked up."""
    credited = {output.outpoint: output for output in books.outputs.values() if output.status in {"confirmed", "reversed"}}
    watched = [output for output in credited.values() if output.is_watched]
    in_blocks = listed.keys() | unspent
    asked = sorted({output.txid for output in watched if output.outpoint not in in_blocks})
    found = await node.find_transactions(asked)
    if any(output.txid in asked and output.txid not in found for output in watched if output.status == "confirmed"):
        raise CannotMeasureError("the wallet of the node lacks a transaction that was credited")
    in_blocks |= {output.outpoint for output in watched if _is_in_block(found, output.txid)}
    not_credited_minor = sum(
        satoshis(output.amount)
        for outpoint, output in listed.items()
        if output.address in books.ours and outpoint not in credited
    )
    returned = [output for output in watched if output.status == "reversed" and output.outpoint in in_blocks]
    lost = [output for output in watched if output.status == "confirmed" and output.outpoint not in in_blocks]
    return {
        "deposits_not_credited": not_credited_minor + sum(output.amount_minor for output in returned),
        "deposits_lost": -sum(output.amount_minor for output in lost),
    }


async def _payouts_in_flight(node: BitcoinNode, books: BitcoinBooks) -> dict[str, int]:
    """Batches in a block that the ledger does not have, or not whole, and those in the ledger and in no block."""
    found = await node.find_transactions(
        sorted({txid for batch in books.batches if batch.is_watched for txid in batch.fees_minor})
    )
    payouts_minor = fees_minor = 0
    for batch in books.batches:
        payouts_minor += batch.posted_minor
        fees_minor += batch.posted_fee_minor
        txid = _mined(batch, found)
        if txid is not None:
            payouts_minor -= batch.amount_minor
            fees_minor -= batch.fees_minor[txid]
    return {"payouts": payouts_minor, "network_fees": fees_minor}


def _mined(batch: BatchBooks, found: dict[str, WalletTransaction]) -> str | None:
    """The transaction of a batch that is in a block. One that is not looked up any more stays in its block."""
    if not batch.is_watched:
        return batch.txid
    return next((txid for txid in batch.fees_minor if _is_in_block(found, txid)), None)


def _is_in_block(found: dict[str, WalletTransaction], txid: str) -> bool:
    return txid in found and found[txid].confirmations > 0
