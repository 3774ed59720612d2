"""What the worker does for batches in bitcoin: drafts them, sends what was imported, and watches until it is final.

A transaction is stored before it is sent, so whatever is interrupted is continued with the same bytes. Of the
transactions of a batch, which spend the same coins, any may be in a block: also one that was signed and sent by others.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.http.services import Services, Work
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, expense, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.bitcoin import batches_store as store
from tollhouse.rails.bitcoin import payouts_store
from tollhouse.rails.bitcoin.network import psbt
from tollhouse.rails.bitcoin.network.keys import AccountKey
from tollhouse.rails.bitcoin.network.node import BitcoinNode, WalletTransaction
from tollhouse.rails.bitcoin.network.provider import CURRENCY, BitcoinNetwork
from tollhouse.rails.bitcoin.network.psbt import Coin, Draft, Payment, PsbtRefusedError, SignedTransaction
from tollhouse.rails.bitcoin.network.transfers import FINAL_AFTER, FINALIZED
from tollhouse.rails.bitcoin.payouts_store import BatchTransaction, BitcoinBatch, KnownCoin, Obligation
from tollhouse.rails.json_rpc import NodeCallError

TARGET_BLOCKS: Final = 6
"""The fee is estimated so that a transaction is in a block within an hour."""

COINS_MAX: Final = 200
"""Inputs of one transaction, each of which a hardware wallet signs."""

COINS_AT_ONCE: Final = 20
RISE_PERCENT: Final = 25
"""By how much the fee of a replacement is higher at least, if its rate is not said. The network asks for less."""

SATOSHIS_PER_VBYTE: Final = 1000
"""A satoshi per virtual byte, as a rate."""
BATCH_SOURCE = "bitcoin_batch"
SPENT_OTHERWISE: Final = "a coin was spent by another transaction"
IN_NO_BLOCK: Final = "a coin is in no block any more"
REORGANIZED: Final = "its transaction is in no block any more"
LOOK_AGAIN_AFTER, CANCELED_AGAIN_AFTER = timedelta(seconds=10), timedelta(seconds=60)
Found = Mapping[str, WalletTransaction]


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
    payments = [Payment(payout.address, payout.amount_minor) for payout in payouts]
    earlier = await store.list_transactions(db, batch.id)
    rate = await _rate(network, node, batch, earlier)
    try:
        if batch.change_index is not None:
            coins = await _with_previous(node, await store.list_coins(db, batch.id))
            replacement = psbt.redraft(network.account(), coins, payments, rate, batch.change_index, height)
            if replacement.fee_minor <= max(sent.fee_minor for sent in earlier):
                raise CannotDraft("the fee is not higher than that of the last draft")
            return MadeDraft(replacement, rate, batch.change_index)
        change_index = await store.next_change_index(db, network.name, network.mode)
        obligations = await store.list_obligations(db, batch.id)
        available = _in_order(await store.list_available(db, network.name, network.mode), obligations)
        draft = await _fund(network.account(), node, available, payments, rate, change_index, height)
    except PsbtRefusedError as error:
        raise CannotDraft(str(error)) from None
    spent = {(coin.txid, coin.vout) for coin in draft.coins}
    for obligation in obligations:
        if not spent & obligation.outpoints:
            raise CannotDraft(
                f"no coin of the canceled batch {obligation.batch_id} can be spent, so its payouts could be paid twice"
            )
    return MadeDraft(draft, rate, change_index)


async def _rate(network: BitcoinNetwork, node: BitcoinNode, batch: BitcoinBatch, earlier: Sequence[BatchTransaction]) -> int:
    """The fee rate: as wanted, or as estimated. That of a replacement is higher. Raises `CannotDraft`."""
    rate = batch.wanted_rate or await node.fee_rate(TARGET_BLOCKS)
    if rate is None:
        raise CannotDraft("the node cannot estimate the network fee")
    if earlier:
        last = max(sent.rate for sent in earlier)
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
        of_it = [coin for coin in available if coin.outpoint in obligation.outpoints]
        if of_it and not any(coin in first for coin in of_it):
            first.append(max(of_it, key=lambda coin: coin.amount_minor))
    return first + [coin for coin in available if coin not in first]


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
        unspent = await node.unspent([coin.outpoint for coin in some])
        coins += await _with_previous(node, [coin for coin in some if coin.outpoint in unspent])
        is_last = start + COINS_AT_ONCE >= min(len(available), COINS_MAX)
        if is_last or sum(coin.amount_minor for coin in coins) > sum(payment.amount_minor for payment in payments):
            try:
                return psbt.draft(account, coins, payments, rate, change_index, height)
            except PsbtRefusedError:
                if is_last:
                    raise
    return psbt.draft(account, coins, payments, rate, change_index, height)


async def _with_previous(node: BitcoinNode, coins: Sequence[KnownCoin]) -> list[Coin]:
    """Coins with the transactions that made them. Raises `CannotDraft` if the wallet lacks one."""
    found = await node.find_transactions(sorted({coin.txid for coin in coins}))
    missing = [coin.txid for coin in coins if coin.txid not in found]
    if missing:
        raise CannotDraft(f"the wallet of the node lacks the transaction {missing[0]}")
    return [
        Coin(coin.txid, coin.vout, coin.amount_minor, coin.chain, coin.derivation_index, bytes.fromhex(found[coin.txid].hex))
        for coin in coins
    ]


async def book_batch(work: Work, batch: BitcoinBatch, expensed_minor: int) -> None:
    """Book what no withdrawal pays of the network fee of a batch that was just confirmed."""
    if expensed_minor:
        posting = Posting("network_fee", CURRENCY, expensed_minor, expense("network_fee"), rail(batch.rail))
        await post_platform(work, [JournalEntry(batch.mode, "network_fee", Source(BATCH_SOURCE, batch.id), (posting,))])


class BatchSender(Struct, frozen=True):
    """One look at the batches of a rail, whose wallet is open. `height` is that of the newest block."""

    services: Services
    network: BitcoinNetwork
    node: BitcoinNode
    height: int
    now: datetime

    async def advance(self, batch: BitcoinBatch) -> None:
        """Bring a leased batch on by one step. Raises `NodeError`."""
        reason: str | None = None
        if batch.is_draft_due:
            reason = await self._draft(batch)
        transactions = await store.list_transactions(self.services.db, batch.id)
        if transactions:
            reason = await self._look_up(batch, transactions) or reason
        if reason is not None and reason != batch.reason:
            log.warning("payout_batch_waits", part=self.network.name, detail=str(batch.id), reason=reason)
        pause = CANCELED_AGAIN_AFTER if batch.status == "canceled" else LOOK_AGAIN_AFTER
        await store.check_later(self.services.db, batch.id, self.now + pause, reason, self.now)

    @property
    def final_after(self) -> int:
        """Confirmations with which a payout is final."""
        return max(self.network.settings.confirmations, FINALIZED)

    async def _draft(self, batch: BitcoinBatch) -> str | None:
        """Make a draft, or say why there is none."""
        try:
            made = await make_draft(self.services.db, self.network, self.node, batch, self.height)
        except CannotDraft as error:
            return str(error)

        async def action(tx: Tx) -> None:
            current = await store.lock(tx, batch.id)
            if current is not None and current.is_draft_due:
                await store.add_draft(tx, current, made.draft, made.rate, made.change_index, self.now)

        try:
            await self.services.db.transact(action)
        except asyncpg.UniqueViolationError:
            return "another batch has just taken a coin, or had the same draft"
        log.info("payout_batch_drafted", part=self.network.name, detail=f"{batch.id} {made.draft.txid}")
        return None

    async def _look_up(self, batch: BitcoinBatch, transactions: Sequence[BatchTransaction]) -> str | None:
        """Find the batch on the network, or send it. Returns why it waits."""
        found = await self.node.find_transactions([transaction.txid for transaction in transactions])
        mined = [
            transaction
            for transaction in transactions
            if transaction.txid in found and found[transaction.txid].confirmations > 0
        ]
        if mined:
            return await self._record(batch, mined[0], found[mined[0].txid])
        if batch.status == "confirmed":
            await store.record_confirmations(self.services.db, batch.id, 0, self.now)
            log.error("payout_reorganized", part=self.network.name, detail=f"{batch.id} {batch.txid}")
        if conflict := await self._find_conflict(batch):
            return conflict
        waiting = await self.node.in_mempool([transaction.txid for transaction in transactions])
        for transaction in transactions:
            if transaction.txid in waiting and transaction.raw is None:
                await self._adopt(batch, transaction.txid, found)
        sent = await self._send(batch, transactions, waiting)
        return REORGANIZED if batch.status == "confirmed" else sent

    async def _record(self, batch: BitcoinBatch, mined: BatchTransaction, seen: WalletTransaction) -> str | None:
        """Record the block of a transaction; with enough confirmations the payouts are completed."""
        if batch.status == "confirmed" and batch.txid != mined.txid:
            log.error("payout_reorganized", part=self.network.name, detail=f"{batch.id} {batch.txid} {mined.txid}")
            await store.record_confirmations(self.services.db, batch.id, 0, self.now)
            return REORGANIZED
        if batch.status == "canceled":
            log.error("canceled_batch_in_block", part=self.network.name, detail=f"{batch.id} {mined.txid}")
        if mined.raw is None:
            await self._adopt(batch, mined.txid, {mined.txid: seen})
        await store.record_confirmations(self.services.db, batch.id, seen.confirmations, self.now)
        if batch.status != "confirmed" and seen.confirmations >= self.final_after:
            await self.services.transact(lambda work: confirm(work, batch.id, mined.txid, seen.confirmations), self.now)
        elif batch.status == "confirmed" and seen.confirmations >= FINAL_AFTER:
            await store.end_watch(self.services.db, batch.id)
        return None

    async def _adopt(self, batch: BitcoinBatch, txid: str, found: Found) -> None:
        """Store what others have signed and sent. The node has verified it."""
        if txid not in found:
            return
        signed = SignedTransaction(bytes.fromhex(found[txid].hex), txid, 0)

        async def action(tx: Tx) -> None:
            current = await store.lock(tx, batch.id)
            if current is not None and await store.add_signed(tx, batch.id, signed, self.now):
                await store.advance(tx, batch.id, "broadcast", ["drafted", "signed"], self.now)
                log.warning("payout_batch_sent_by_others", part=self.network.name, detail=f"{batch.id} {txid}")

        await self.services.db.transact(action)

    async def _find_conflict(self, batch: BitcoinBatch) -> str | None:
        """Why none of the transactions can be in a block now. After enough blocks of another one the batch is void."""
        coins = [coin.outpoint for coin in await store.list_coins(self.services.db, batch.id)]
        missing = {txid for txid, _ in set(coins) - await self.node.unspent(coins)}
        made = await self.node.find_transactions(sorted(missing))
        is_spent = any(txid in made and (made[txid].confirmations or 0) != 0 for txid in missing)
        if not is_spent:
            if batch.conflict_height is not None:
                await store.record_conflict(self.services.db, batch.id, None, None)
            return IN_NO_BLOCK if missing else None
        since = self.height if batch.conflict_height is None else min(batch.conflict_height, self.height)
        is_final = self.height - since + 1 >= self.final_after
        await store.record_conflict(self.services.db, batch.id, since, self.now if is_final else None)
        if is_final and batch.status == "canceled":
            await store.end_watch(self.services.db, batch.id)
        log.error("payout_coins_spent_elsewhere", part=self.network.name, detail=str(batch.id))
        return SPENT_OTHERWISE

    async def _send(self, batch: BitcoinBatch, transactions: Sequence[BatchTransaction], waiting: set[str]) -> str | None:
        """Send the newest transaction that is signed, unless the node has it. Returns why the node refuses it."""
        signed = [transaction for transaction in transactions if transaction.raw is not None]
        if not signed or batch.status == "canceled":
            return None
        newest = next((transaction for transaction in signed if transaction.txid == batch.txid), signed[-1])
        if newest.raw is None or newest.txid in waiting:
            return None
        try:
            await self.node.broadcast(newest.raw)
        except NodeCallError as error:
            return str(error)

        async def action(tx: Tx) -> None:
            await store.record_sent(tx, batch.id, newest.txid, self.now)
            await store.advance(tx, batch.id, "broadcast", ["drafted", "signed"], self.now)

        await self.services.db.transact(action)
        log.info("payout_batch_sent", part=self.network.name, detail=f"{batch.id} {newest.txid}")
        return None


async def confirm(work: Work, batch_id: UUID, txid: str, confirmations: int) -> None:
    """Complete the payouts of a batch by one of its transactions, which is final.

    Each has an equal share of the network fee. Withdrawals pay theirs; the others are an expense of the platform.
    """
    batch = await store.lock(work.tx, batch_id)
    if batch is None or batch.status == "confirmed":
        return
    [paid] = [transaction for transaction in await store.list_transactions(work.tx, batch_id) if transaction.txid == txid]
    payouts = await payouts_store.lock_of_batch(work.tx, batch_id)
    share, expensed_minor = paid.fee_minor // len(payouts), paid.fee_minor
    for payout in payouts:
        if not await payouts_store.complete(work.tx, payout.id, txid, share, work.now):
            log.error("payout_paid_after_its_end", part=batch.rail, detail=f"{payout.id} {txid}")
        elif payout.kind == "withdrawal":
            expensed_minor -= share
    await store.confirm(work.tx, batch_id, txid, confirmations, expensed_minor, work.now)
    await book_batch(work, batch, expensed_minor)
    log.info("payout_batch_confirmed", part=batch.rail, detail=f"{batch_id} {txid}")
