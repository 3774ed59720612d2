"""Drafts of batches in bitcoin: their coins, their fee, and what earlier drafts oblige them to spend."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from tollhouse.platform.database.pool import Pool
from tollhouse.rails.bitcoin import batches_store as store
from tollhouse.rails.bitcoin import payouts_store
from tollhouse.rails.bitcoin.network import psbt
from tollhouse.rails.bitcoin.network.keys import AccountKey
from tollhouse.rails.bitcoin.network.node import BitcoinNode
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.network.psbt import Coin, Draft, Payment, PsbtRefusedError
from tollhouse.rails.bitcoin.payouts_model import BatchTransaction, BitcoinBatch, KnownCoin, Obligation

TARGET_BLOCKS: Final = 6
"""The fee is estimated so that a transaction is in a block within an hour."""

COINS_MAX: Final = 200
"""Inputs of one transaction, each of which a hardware wallet signs."""

COINS_AT_ONCE: Final = 20
RISE_PERCENT: Final = 25
"""By how much the fee of a replacement is higher at least, if its rate is not said. The network asks for less."""

SATOSHIS_PER_VBYTE: Final = 1000
"""A satoshi per virtual byte, as a rate."""


class CannotDraft(Exception):
    """There is no draft now. The text says why, for operators."""


class MadeDraft(Struct, frozen=True):
    """A draft, its rate in satoshis per 1000 virtual bytes, and the index of its change address."""

    draft: Draft
    rate: int
    change_index: int


async def make_draft(db: Pool, network: BitcoinNetwork, node: BitcoinNode, batch: BitcoinBatch, height: int) -> MadeDraft:
    """The next draft of a batch. Raises `CannotDraft` and `NodeError`."""
    payouts = await payouts_store.list_of_batch(db, batch.id)
    payments = [Payment(one.address, one.amount_minor) for one in payouts]
    earlier = await store.list_transactions(db, batch.id)
    rate = await _rate(network, node, batch, earlier)
    try:
        if batch.change_index is not None:
            coins = await _with_previous(node, await store.list_coins(db, batch.id))
            replacement = psbt.redraft(network.account(), coins, payments, rate, batch.change_index, height)
            if replacement.fee_minor <= max(one.fee_minor for one in earlier):
                raise CannotDraft("the fee is not higher than that of the last draft")
            return MadeDraft(replacement, rate, batch.change_index)
        change_index = await store.next_change_index(db, network.name, network.mode)
        obligations = await store.list_obligations(db, batch.id)
        available = _in_order(await store.list_available(db, network.name, network.mode), obligations)
        draft = await _fund(network.account(), node, available, payments, rate, change_index, height)
    except PsbtRefusedError as error:
        raise CannotDraft(str(error)) from None
    spent = {(one.txid, one.vout) for one in draft.coins}
    for one in obligations:
        if not spent & one.outpoints:
            raise CannotDraft(
                f"no coin of the canceled batch {one.batch_id} can be spent, so its payouts could be paid twice"
            )
    return MadeDraft(draft, rate, change_index)


async def _rate(network: BitcoinNetwork, node: BitcoinNode, batch: BitcoinBatch, earlier: Sequence[BatchTransaction]) -> int:
    """The fee rate: as wanted, or as estimated. That of a replacement is higher. Raises `CannotDraft`."""
    rate = batch.wanted_rate or await node.fee_rate(TARGET_BLOCKS)
    if rate is None:
        raise CannotDraft("the node cannot estimate the network fee")
    if earlier:
        last = max(one.rate for one in earlier)
        if batch.wanted_rate is None:
            rate = max(rate, last * (100 + RISE_PERCENT) // 100, last + SATOSHIS_PER_VBYTE)
        elif rate < last + SATOSHIS_PER_VBYTE:
            raise CannotDraft("the fee of a replacement is higher by at least 1 satoshi per vbyte")
    most = network.settings.fee_rate_max
    if rate > most * SATOSHIS_PER_VBYTE:
        raise CannotDraft(f"the network fee is more than the maximum ({rate / SATOSHIS_PER_VBYTE:g} satoshis per vbyte)")
    return rate


def _in_order(available: Sequence[KnownCoin], obligations: Sequence[Obligation]) -> list[KnownCoin]:
    """The coins in the order in which they are spent: for each obligation its largest one first."""
    first: list[KnownCoin] = []
    for obligation in obligations:
        of_it = [one for one in available if one.outpoint in obligation.outpoints]
        if of_it and not any(one in first for one in of_it):
            first.append(max(of_it, key=lambda one: one.amount_minor))
    return first + [one for one in available if one not in first]


async def _fund(
    account: AccountKey,
    node: BitcoinNode,
    available: Sequence[KnownCoin],
    payments: Sequence[Payment],
    rate: int,
    change_index: int,
    height: int,
) -> Draft:
    """Fund the payments. Coins that the chain does not have unspent are left out. Raises `PsbtRefusedError`."""
    coins: list[Coin] = []
    for start in range(0, len(available), COINS_AT_ONCE):
        some = available[start : start + COINS_AT_ONCE]
        unspent = await node.unspent([one.outpoint for one in some])
        coins += await _with_previous(node, [one for one in some if one.outpoint in unspent])
        is_last = start + COINS_AT_ONCE >= min(len(available), COINS_MAX)
        if is_last or sum(one.amount_minor for one in coins) > sum(one.amount_minor for one in payments):
            try:
                return psbt.draft(account, coins, payments, rate, change_index, height)
            except PsbtRefusedError:
                if is_last:
                    raise
    return psbt.draft(account, coins, payments, rate, change_index, height)


async def _with_previous(node: BitcoinNode, coins: Sequence[KnownCoin]) -> list[Coin]:
    """Coins with the transactions that made them. Raises `CannotDraft` if the wallet lacks one."""
    found = await node.find_transactions(sorted({one.txid for one in coins}))
    missing = [one.txid for one in coins if one.txid not in found]
    if missing:
        raise CannotDraft(f"the wallet of the node lacks the transaction {missing[0]}")
    return [
        Coin(one.txid, one.vout, one.amount_minor, one.chain, one.derivation_index, bytes.fromhex(found[one.txid].hex))
        for one in coins
    ]
