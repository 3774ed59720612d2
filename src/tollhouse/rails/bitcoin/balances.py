"""What the wallet of a Bitcoin node has in blocks, and what is in flight between it and the ledger.

The node states no balance as of a block. So all is read between two looks at its newest block, which must be the same. The
database is read in between: whatever is in that block was drafted before, so the database knows it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from tollhouse.kernel.rails.provider import CannotMeasureError, OutsideBalance, OutsideBalances
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bitcoin import balances_store
from tollhouse.rails.bitcoin import nodes as bitcoin_nodes
from tollhouse.rails.bitcoin.balances_store import BatchBooks, BitcoinBooks
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

    state: ChainState
    listed: list[WalletCoin]


@asynccontextmanager
async def opened(db: Pool, network: BitcoinNetwork) -> AsyncIterator[BitcoinNode]:
    """The node with its wallet. Raises `CannotMeasureError` unless it has all addresses, and `NodeError`."""
    try:
        account = network.account()
    except InvalidKeyError:
        account = None
    if bitcoin_nodes.url_of(network) is None or account is None:
        raise CannotMeasureError("node_url and xpub are needed by the worker")
    async with bitcoin_nodes.opened(network) as (node, _):
        if await node.is_scanning():
            raise CannotMeasureError("the wallet of the node reads old blocks")
        watched = await node.watched_up_to(keys.descriptor(account, keys.DEPOSITS))
        if watched < await store.last_given_index(db, network.name, network.mode):
            raise CannotMeasureError("the wallet of the node does not watch all addresses that were given out")
        yield node


async def read_coins(node: BitcoinNode) -> WalletCoins:
    """The coins that the wallet lists now. Raises `NodeError`."""
    state = await node.state()
    return WalletCoins(state, await node.coins())


async def read_books(tx: Tx, network: BitcoinNetwork, coins: WalletCoins) -> BitcoinBooks:
    """What the database knows. Call it in a snapshot, with the ledger."""
    return await balances_store.read_books(tx, network.name, network.mode, coins.listed)


async def measure(node: BitcoinNode, coins: WalletCoins, books: BitcoinBooks) -> OutsideBalances | None:
    """The balances at the newest block; None if that has changed since the coins were read.

    The wallet does not list coins that a transaction in the mempool spends. Those of batches are asked for in the chain.
    Raises `CannotMeasureError` and `NodeError`.
    """
    listed = {(one.txid, one.vout): one for one in coins.listed}
    unspent = await node.unspent([one.outpoint for one in books.held if one.outpoint not in listed])
    deposits_minor = sum(satoshis(one.amount) for one in coins.listed if one.address in books.ours)
    others_minor = sum(satoshis(one.amount) for one in coins.listed if one.address not in books.ours)
    deposits_minor += sum(one.amount_minor for one in books.held if one.outpoint in unspent and one.is_deposit)
    others_minor += sum(one.amount_minor for one in books.held if one.outpoint in unspent and not one.is_deposit)
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
    credited = {one.outpoint: one for one in books.outputs.values() if one.status in {"confirmed", "reversed"}}
    watched = [one for one in credited.values() if one.is_watched]
    in_blocks = listed.keys() | unspent
    asked = sorted({one.txid for one in watched if one.outpoint not in in_blocks})
    found = await node.find_transactions(asked)
    if any(one.txid in asked and one.txid not in found for one in watched if one.status == "confirmed"):
        raise CannotMeasureError("the wallet of the node lacks a transaction that was credited")
    in_blocks |= {one.outpoint for one in watched if _is_in_block(found, one.txid)}
    not_credited_minor = sum(
        satoshis(one.amount) for outpoint, one in listed.items() if one.address in books.ours and outpoint not in credited
    )
    returned = [one for one in watched if one.status == "reversed" and one.outpoint in in_blocks]
    lost = [one for one in watched if one.status == "confirmed" and one.outpoint not in in_blocks]
    return {
        "deposits_not_credited": not_credited_minor + sum(one.amount_minor for one in returned),
        "deposits_lost": -sum(one.amount_minor for one in lost),
    }


async def _payouts_in_flight(node: BitcoinNode, books: BitcoinBooks) -> dict[str, int]:
    """Batches in a block that the ledger does not have, or not whole, and those in the ledger and in no block."""
    found = await node.find_transactions(
        sorted({txid for one in books.batches if one.is_watched for txid in one.fees_minor})
    )
    payouts_minor = fees_minor = 0
    for one in books.batches:
        payouts_minor += one.posted_minor
        fees_minor += one.posted_fee_minor
        txid = _mined(one, found)
        if txid is not None:
            payouts_minor -= one.amount_minor
            fees_minor -= one.fees_minor[txid]
    return {"payouts": payouts_minor, "network_fees": fees_minor}


def _mined(batch: BatchBooks, found: dict[str, WalletTransaction]) -> str | None:
    """The transaction of a batch that is in a block. One that is not looked up any more stays in its block."""
    if not batch.is_watched:
        return batch.txid
    return next((txid for txid in batch.fees_minor if _is_in_block(found, txid)), None)


def _is_in_block(found: dict[str, WalletTransaction], txid: str) -> bool:
    return txid in found and found[txid].confirmations > 0
