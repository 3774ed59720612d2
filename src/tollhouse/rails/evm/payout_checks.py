"""What becomes of payouts on chains: sent again, replaced, found in a block, completed when the block is final."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.platform.log.events import log
from tollhouse.rails.evm import network_fees
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode, number_of
from tollhouse.rails.evm.network.sending import ChainTransfer, SentReceipt
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.payouts_model import OPEN, ChainPayout, ChainTransaction, MinedTransfer

UNCLEAR = "the token reports no transfer"
UNCLEAR_AGAIN_AFTER = timedelta(hours=1)
SEND_AGAIN_AFTER = timedelta(seconds=60)
"""Nodes forget transactions that wait. Sending the same bytes again changes nothing where they do not."""


async def check(services: Services, payouts: ChainPayouts, payout: ChainPayout, now: datetime) -> None:
    """Bring a leased payout on by one step. Raises `NodeError`, `SignerUnavailable` and `CannotPrepare`."""
    if payout.status == "reserved":
        prepared = await payouts.prepare(payout, now)
        if prepared.status == "signed":
            await payouts.broadcast(prepared, now)
        return
    if payout.status not in OPEN:
        return
    async with payouts.connected() as node:
        transactions = await store.list_transactions(payouts.db, payout.id)
        finality = payouts.network.settings.finality
        for receipt in await sending.find_receipts(node, [one.tx_hash for one in transactions]):
            final = await sending.final_above(node, receipt, finality)
            if final is not None:
                await _record(services, payouts, payout, receipt, final, now)
                return
        final = await sending.final_block(node, finality)
        await _bring_into_block(payouts, node, payout, transactions[-1], final, now)


async def _record(
    services: Services, payouts: ChainPayouts, payout: ChainPayout, receipt: SentReceipt, final: int, now: datetime
) -> None:
    coin, number = payouts.network.settings.coin, number_of(receipt.block_number)
    mined = MinedTransfer(receipt.transaction_hash, number, receipt.block_hash, receipt.fee_wei)
    transfer = ChainTransfer(payout.wallet or "", payout.receiver, payout.contract, payout.amount_units)
    if number > final:
        next_check_at = now + timedelta(seconds=payouts.network.settings.poll_interval_s)
        await store.record_mined(payouts.db, payout.id, mined, now, next_check_at)
    elif receipt.was_reverted:
        await services.transact(lambda work: network_fees.fail(work, payout, coin, mined, "reverted"), now)
        log.warning("payout_reverted", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")
    elif transfer.arrived(receipt):
        await services.transact(lambda work: network_fees.complete(work, payout, coin, mined), now)
        log.info("payout_completed", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")
    else:  # a token that says neither; the money may have moved, so it is not given back
        await store.record_mined(payouts.db, payout.id, mined, now, now + UNCLEAR_AGAIN_AFTER, UNCLEAR)
        log.error("payout_unclear", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")


async def _bring_into_block(
    payouts: ChainPayouts, node: EvmNode, payout: ChainPayout, newest: ChainTransaction, final: int, now: datetime
) -> None:
    settings = payouts.network.settings
    if payout.status == "mined":
        await store.unmine(payouts.db, payout.id, now)
        log.warning("payout_reorganized", part=payout.rail, detail=str(payout.id))
    await store.check_later(payouts.db, payout.id, now + timedelta(seconds=settings.poll_interval_s), payout.reason)
    if await sending.count_sent(node, payout.wallet or "", hex(final)) > (payout.nonce or 0):
        # Perhaps this node is behind the one that had no receipt. If it stays so, somebody else has used the key.
        log.error("payout_nonce_used_elsewhere", part=payout.rail, detail=str(payout.id))
        return
    if newest.sent_at is None or payout.status == "mined" or now - newest.sent_at > SEND_AGAIN_AFTER:
        await payouts.broadcast(payout, now)
    if payout.kind == "sweep":  # nobody waits for it: it stays as it is until gas is cheap enough
        return
    is_due = now - newest.signed_at > timedelta(seconds=settings.replace_after_s)
    if is_due and await store.first_unmined(payouts.db, payout) == payout.id:
        await payouts.replace(node, payout, now)
