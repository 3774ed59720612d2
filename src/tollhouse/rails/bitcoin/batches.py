"""Batches of payouts in bitcoin, as operators change them: requested, signed elsewhere, replaced, canceled.

The worker does what needs the node: `bitcoin_sending`. A draft that was canceled may have been signed all the same. So its
payouts are only paid again by a transaction that spends a coin of it, and only refused when that is final.
"""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, as_text
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bitcoin import batches_store as store
from tollhouse.rails.bitcoin import payouts_store
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.network.psbt import PsbtRefusedError, SignedTransaction, read_signed
from tollhouse.rails.bitcoin.payouts_model import BatchTransaction, BitcoinBatch
from tollhouse.transfers.gate import exports, pauses_store

PAYOUTS_MAX = 100
"""Payouts of one batch: a hardware wallet shows each of them."""

IS_OPEN = ("drafted", "signed", "broadcast")


async def request(
    work: Work, network: BitcoinNetwork, payout_ids: Sequence[UUID], rate: int | None, context: OperatorContext
) -> UUID:
    """Request a batch of these waiting payouts. Raises `OperatorRefusedError` where one of them may not leave.

    `rate` is in satoshis per 1000 virtual bytes; None: as the node estimates.
    """
    await _ensure_not_paused(work.tx)
    if not payout_ids:
        raise OperatorRefusedError("No payouts are pending.")
    if len(payout_ids) > PAYOUTS_MAX:
        raise OperatorRefusedError(Text("A batch has at most %(most)s payouts.", most=PAYOUTS_MAX))
    waiting = await payouts_store.lock_waiting(work.tx, network.name, network.mode, payout_ids)
    leaving = await exports.ensure_exportable(work.tx, waiting, context.reviewer, context.at)
    if {one.id for one in leaving} != set(payout_ids):
        raise OperatorRefusedError("Some of the selected payouts are no longer pending. Check the list again.")
    batch_id = new_id()
    try:
        await payouts_store.put_in_batch(work.tx, payout_ids, work.now)
        await store.insert(work.tx, batch_id, network.name, network.mode, payout_ids, rate, work.now)
    except asyncpg.CheckViolationError as error:  # paused at this moment
        raise OperatorRefusedError(str(error)) from None
    return batch_id


async def add_signed(work: Work, batch_id: UUID, signed: SignedTransaction) -> None:
    """Store the signed form of a draft, which the worker then sends. Raises `OperatorRefusedError`."""
    batch = await lock(work.tx, batch_id)
    await ensure_may_leave(work.tx, batch)
    if not await store.add_signed(work.tx, batch.id, signed, work.now):
        raise OperatorRefusedError("This transaction was imported before.")
    # Nothing below this line may refuse.
    await store.advance(work.tx, batch.id, "signed" if batch.status == "drafted" else batch.status, [batch.status], work.now)


async def replace(work: Work, batch_id: UUID, rate: int | None) -> None:
    """Have the worker draft a transaction with a higher fee that spends the same coins. Raises `OperatorRefusedError`."""
    batch = await lock(work.tx, batch_id)
    await ensure_may_leave(work.tx, batch)
    await store.request_draft(work.tx, batch.id, rate, work.now)


async def cancel(work: Work, batch_id: UUID) -> None:
    """Cancel a batch: its payouts wait again. Raises `OperatorRefusedError` for one that may be sent."""
    batch = await lock(work.tx, batch_id, "requested")
    transactions = await store.list_transactions(work.tx, batch.id)
    if batch.void_at is None and any(one.raw is not None for one in transactions):
        raise OperatorRefusedError(
            "The batch is signed and may have been sent. It can be canceled when another transaction has spent one of its "
            "coins and has 6 confirmations."
        )
    await payouts_store.lock_of_batch(work.tx, batch.id)
    await payouts_store.release(work.tx, batch.id, work.now)
    await store.cancel(work.tx, batch.id, work.now)


async def export(db: Pool, batch_id: UUID) -> BatchTransaction:
    """The newest draft of a batch. Raises `OperatorRefusedError` where there is none, or it may not leave now."""

    async def read(tx: Tx) -> BatchTransaction:
        batch = await lock(tx, batch_id, "requested")
        await ensure_may_leave(tx, batch)
        transactions = await store.list_transactions(tx, batch_id)
        if batch.is_draft_due or not transactions:
            if batch.reason is not None:
                raise OperatorRefusedError(Text("There is no draft: %(reason)s.", reason=batch.reason))
            raise OperatorRefusedError("The worker has not made the draft yet. Try again in a few seconds.")
        return transactions[-1]

    return await db.transact(read)


def read_returned(transactions: Sequence[BatchTransaction], returned: bytes) -> SignedTransaction:
    """The signed form of one of these drafts. Raises `OperatorRefusedError`. Takes a second for many inputs."""
    if not transactions:
        raise OperatorRefusedError("Nothing was exported yet.")
    errors: list[PsbtRefusedError] = []
    for one in reversed(transactions):
        try:
            return read_signed(one.psbt, returned)
        except PsbtRefusedError as error:
            errors.append(error)
    raise OperatorRefusedError(errors[0].args[0])


async def lock(tx: Tx, batch_id: UUID, *others: str) -> BitcoinBatch:
    """The batch, locked. Raises `OperatorRefusedError` unless it is open, or has one of the other statuses."""
    batch = await store.lock(tx, batch_id)
    if batch is None:
        raise OperatorRefusedError(Text("There is no batch %(batch_id)s.", batch_id=batch_id))
    if batch.status not in (*IS_OPEN, *others):
        raise OperatorRefusedError(
            Text("Batch %(batch_id)s is %(status)s.", batch_id=batch_id, status=as_text(batch.status))
        )
    return batch


async def ensure_may_leave(tx: Tx, batch: BitcoinBatch) -> None:
    """Raises `OperatorRefusedError` while payouts are paused, or a merchant in this batch is suspended."""
    await _ensure_not_paused(tx)
    if suspended := await payouts_store.list_suspended(tx, batch.id):
        raise OperatorRefusedError(
            Text(
                "This batch contains payouts of suspended merchants: %(suspended)s. Cancel it, or reactivate them.",
                suspended=", ".join(map(str, suspended)),
            )
        )


async def _ensure_not_paused(tx: Tx) -> None:
    if await pauses_store.are_paused(tx):
        raise OperatorRefusedError("Payouts are paused. Resume them with `tollhouse operator payouts resume`.")
