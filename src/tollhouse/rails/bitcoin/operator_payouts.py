"""Payouts in bitcoin as operators carry them out: exported, signed elsewhere, imported; replaced, canceled, refused.

The worker does what needs the node: `sending`. A draft that was canceled may have been signed all the same. So its payouts
are only paid again by a transaction that spends a coin of it, and only refused when that is final.
"""

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, as_text
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.batches import actions
from tollhouse.rails.batches.actions import BatchRail
from tollhouse.rails.batches.model import Decided, Order, OrderKind
from tollhouse.rails.bitcoin import batches_store
from tollhouse.rails.bitcoin import payouts_store as store
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.network.psbt import PsbtRefusedError, SignedTransaction, read_signed
from tollhouse.rails.bitcoin.payouts_store import (
    BatchStatus,
    BatchSummary,
    BatchTransaction,
    BitcoinBatch,
    BitcoinPayoutStatus,
    WaitingPayout,
)
from tollhouse.transfers.gate import exports, gate
from tollhouse.transfers.gate.model import OutgoingTransfer

OPEN_MAX, BATCHES_SHOWN = 1_000, 50
PAYOUTS_MAX = 100
"""Payouts of one batch: a hardware wallet shows each of them."""
RATE_DECIMALS, RATE_MAX = 3, 10_000_000
"""Rates are written in satoshis per virtual byte, and stored per 1000."""
IS_OPEN: tuple[BatchStatus, ...] = ("drafted", "signed", "broadcast")


class BatchOutput(Struct, frozen=True):
    """A receiver of a batch. The amount is as people write it."""

    payout_id: UUID
    kind: OrderKind
    address: str
    amount: str
    status: BitcoinPayoutStatus


class ShownBatch(Struct, frozen=True):
    """A batch with its receivers."""

    summary: BatchSummary
    outputs: tuple[BatchOutput, ...]


class BitcoinBatches(Struct, frozen=True):
    """The payouts of a rail, for what is common to all rails. One payout alone is found without its `network`."""

    network: BitcoinNetwork | None = None

    async def lock_waiting(self, tx: Tx, *, payout_ids: Collection[UUID] | None) -> list[OutgoingTransfer]:
        """Lock those of these payouts that wait."""
        if self.network is None:
            raise AssertionError("a batch is of one rail")
        return await store.lock_waiting(tx, self.network.name, self.network.mode, list(payout_ids or ()))

    async def list_suspended(self, db: Pool | Tx, *, batch_id: UUID) -> list[UUID]:
        """The payouts of a batch whose merchant is suspended."""
        return await store.list_suspended(db, batch_id)

    def suspended_error(self, *, suspended: str) -> Text:
        """A batch is one transaction: no payout can be left out."""
        return Text(
            "This batch contains payouts of suspended merchants: %(suspended)s. Cancel it, or reactivate them.",
            suspended=suspended,
        )

    async def lock(self, work: Work, *, payout_id: UUID) -> Order:
        """Lock a payout. Raises `OperatorRefusedError` unless it waits."""
        payout = await store.lock(work.tx, payout_id)
        if payout is None:
            raise OperatorRefusedError(Text("There is no payout %(payout_id)s.", payout_id=payout_id))
        if payout.status != "waiting":
            raise OperatorRefusedError("The payout is in a batch or has ended. Cancel the batch first.")
        return Order(id=payout_id, kind=payout.kind, env=(await gate.lock(work.tx, payout_id)).env)

    async def ensure_refusable(self, work: Work, *, payout: Order, context: OperatorContext) -> None:  # noqa: ARG002 - one operator is enough
        """Raises `OperatorRefusedError` while something that was exported can be sent."""
        if await batches_store.may_have_left(work.tx, payout.id):
            raise OperatorRefusedError(
                "The payout was exported before, in a batch that was canceled and may have been signed. It can be refused "
                "when another transaction has spent a coin of that batch and has 6 confirmations."
            )

    async def end(self, work: Work, *, payout_id: UUID, context: OperatorContext) -> None:  # noqa: ARG002 - the history has it
        """Fail a payout that waits."""
        await store.fail(work.tx, payout_id, work.now)


BITCOIN: BatchRail[Order] = BitcoinBatches()


def find_network(services: Services, name: str | None = None) -> BitcoinNetwork:
    """The rail of this name, or the only one. Raises `OperatorRefusedError` where none is configured."""
    found = [network for network in services.rails.of(BitcoinNetwork) if network.pays_out and name in {None, network.name}]
    if not found:
        raise OperatorRefusedError("No rail of Bitcoin with a fingerprint is configured. See docs/rails.md.")
    if len(found) > 1:
        raise OperatorRefusedError("Several rails of Bitcoin are configured. Name one.")
    return found[0]


def read_rate(per_vbyte: str) -> int:
    """A fee rate as people write it, in satoshis per 1000 virtual bytes. Raises `OperatorRefusedError`."""
    rate = parse_amount(per_vbyte, RATE_DECIMALS)
    if rate is None or not 0 < rate <= RATE_MAX:
        raise OperatorRefusedError("Enter a network fee above 0 and up to 10000 satoshis per vbyte, such as 3.5.")
    return rate


async def list_open(services: Services) -> Sequence[WaitingPayout]:
    """Payouts that have not ended, oldest first."""
    return await store.list_open(services.db, services.catalogue, OPEN_MAX)


async def list_batches(services: Services) -> Sequence[BatchSummary]:
    """The batches, those that have not ended first."""
    return await batches_store.list_summaries(services.db, services.catalogue, BATCHES_SHOWN)


async def list_exportable(
    services: Services, network: BitcoinNetwork, context: OperatorContext
) -> Sequence[OutgoingTransfer]:
    """The payouts that this operator may export now, oldest first, as many as a batch has at most."""

    async def read(tx: Tx) -> list[OutgoingTransfer]:
        waiting = await store.list_waiting(tx, network.name, network.mode, OPEN_MAX)
        return await exports.filter_exportable(tx, waiting, context.reviewer, context.at)

    return (await services.db.transact(read))[:PAYOUTS_MAX]


async def list_all_exportable(services: Services, context: OperatorContext) -> Sequence[OutgoingTransfer]:
    """The payouts of all rails that this operator may export now."""
    networks = [network for network in services.rails.of(BitcoinNetwork) if network.pays_out]
    return [payout for network in networks for payout in await list_exportable(services, network, context)]


async def find_batch(services: Services, batch_id: UUID) -> ShownBatch | None:
    """A batch with its receivers, in the order of its outputs."""
    found = await batches_store.list_summaries(services.db, services.catalogue, 1, batch_id)
    if not found:
        return None
    format_amount = services.catalogue.format_amount
    outputs = [
        BatchOutput(
            payout.id, payout.kind, payout.address, format_amount(payout.amount_minor, payout.currency), payout.status
        )
        for payout in await store.list_of_batch(services.db, batch_id)
    ]
    return ShownBatch(found[0], tuple(outputs))


async def export(
    work: Work, network: BitcoinNetwork, payout_ids: Sequence[UUID], rate: int | None, context: OperatorContext
) -> OperatorAction:
    """Request a batch of these payouts; its ID is the subject of the action. Raises `OperatorRefusedError`.

    `rate` is in satoshis per 1000 virtual bytes; None: as the node estimates.
    """
    chosen, batch_id = list(dict.fromkeys(payout_ids)), new_id()
    if len(chosen) > PAYOUTS_MAX:
        raise OperatorRefusedError(Text("A batch has at most %(most)s payouts.", most=PAYOUTS_MAX))
    await actions.lock_exportable(work, BitcoinBatches(network), chosen, context)
    try:
        await store.put_in_batch(work.tx, chosen, work.now)
        await batches_store.insert(work.tx, batch_id, network.name, network.mode, chosen, rate, work.now)
    except asyncpg.CheckViolationError as error:  # paused at this moment
        raise OperatorRefusedError(str(error)) from None
    return await record.record_action(work, context, "bitcoin_batch_exported", None, subject_id=batch_id)


async def read_file(services: Services, batch_id: UUID) -> str:
    """The newest draft of a batch, as PSBT in Base64. Raises `OperatorRefusedError` where none may leave now."""

    async def read(tx: Tx) -> str:
        batch = await lock(tx, batch_id, "requested")
        await actions.ensure_may_leave(tx, BITCOIN, batch_id)
        transactions = await batches_store.list_transactions(tx, batch_id)
        if batch.is_draft_due or not transactions:
            if batch.reason is not None:
                raise OperatorRefusedError(Text("There is no draft: %(reason)s.", reason=batch.reason))
            raise OperatorRefusedError("The worker has not made the draft yet. Try again in a few seconds.")
        return transactions[-1].psbt

    return await services.db.transact(read)


async def import_signed(services: Services, batch_id: UUID, returned: bytes, context: OperatorContext) -> OperatorAction:
    """Store the signed form of a draft, which the worker sends. Raises `OperatorRefusedError`."""
    transactions = await batches_store.list_transactions(services.db, batch_id)
    signed = await asyncio.to_thread(read_returned, transactions, returned)

    async def action(work: Work) -> OperatorAction:
        batch = await lock(work.tx, batch_id)
        await actions.ensure_may_leave(work.tx, BITCOIN, batch_id)
        if not await batches_store.add_signed(work.tx, batch_id, signed, work.now):
            raise OperatorRefusedError("This transaction was imported before.")
        # Nothing below this line may refuse.
        status = "signed" if batch.status == "drafted" else batch.status
        await batches_store.advance(work.tx, batch_id, status, [batch.status], work.now)
        return await record.record_action(work, context, "bitcoin_batch_imported", None, subject_id=batch_id)

    return await services.transact(action, context.at, OPERATOR)


async def replace(work: Work, batch_id: UUID, rate: int | None, context: OperatorContext) -> OperatorAction:
    """Have the worker draft a transaction with a higher fee that spends the same coins. Raises `OperatorRefusedError`."""
    await lock(work.tx, batch_id)
    await actions.ensure_may_leave(work.tx, BITCOIN, batch_id)
    await batches_store.request_draft(work.tx, batch_id, rate, work.now)
    return await record.record_action(work, context, "bitcoin_batch_replaced", None, subject_id=batch_id)


async def cancel(work: Work, batch_id: UUID, context: OperatorContext) -> OperatorAction:
    """Cancel a batch: its payouts wait again. Raises `OperatorRefusedError` for one that may be sent."""
    batch = await lock(work.tx, batch_id, "requested")
    transactions = await batches_store.list_transactions(work.tx, batch_id)
    if batch.void_at is None and any(transaction.raw is not None for transaction in transactions):
        raise OperatorRefusedError(
            "The batch is signed and may have been sent. It can be canceled when another transaction has spent one of its "
            "coins and has 6 confirmations."
        )
    await store.lock_of_batch(work.tx, batch_id)
    await store.release(work.tx, batch_id, work.now)
    await batches_store.cancel(work.tx, batch_id, work.now)
    return await record.record_action(work, context, "bitcoin_batch_canceled", None, subject_id=batch_id)


async def approve(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Approve, as second operator, a payout of a merchant whose password was reset. Raises `OperatorRefusedError`."""
    return await actions.approve(work, BITCOIN, payout_id, context)


async def refuse(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Refuse a payout that waits, and of which nothing that was exported can be sent. Raises `OperatorRefusedError`."""
    return await actions.refuse(work, BITCOIN, payout_id, context)


def read_returned(transactions: Sequence[BatchTransaction], returned: bytes) -> SignedTransaction:
    """The signed form of one of these drafts. Raises `OperatorRefusedError`. Takes a second for many inputs."""
    if not transactions:
        raise OperatorRefusedError("Nothing was exported yet.")
    errors: list[PsbtRefusedError] = []
    for transaction in reversed(transactions):
        try:
            return read_signed(transaction.psbt, returned)
        except PsbtRefusedError as error:
            errors.append(error)
    raise OperatorRefusedError(errors[0].args[0])


async def lock(tx: Tx, batch_id: UUID, *others: BatchStatus) -> BitcoinBatch:
    """The batch, locked. Raises `OperatorRefusedError` unless it is open, or has one of the other statuses."""
    batch = await batches_store.lock(tx, batch_id)
    if batch is None:
        raise OperatorRefusedError(Text("There is no batch %(batch_id)s.", batch_id=batch_id))
    if batch.status not in (*IS_OPEN, *others):
        raise OperatorRefusedError(
            Text("Batch %(batch_id)s is %(status)s.", batch_id=batch_id, status=as_text(batch.status))
        )
    return batch
