"""Payouts in bitcoin as operators carry them out: exported, signed elsewhere, imported; replaced, canceled, refused."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank.model import Decided
from tollhouse.rails.bitcoin import batches, batches_store
from tollhouse.rails.bitcoin import payouts_store as store
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.payouts_model import BatchSummary, BitcoinPayout, BitcoinPayoutStatus, WaitingPayout
from tollhouse.rails.chains.model import PayoutOrderKind
from tollhouse.rails.refused_payouts import give_back
from tollhouse.transfers.gate import exports, gate
from tollhouse.transfers.gate.model import OutgoingTransfer

OPEN_MAX, BATCHES_SHOWN = 1_000, 50
RATE_DECIMALS, RATE_MAX = 3, 10_000_000
"""Rates are written in satoshis per virtual byte, and stored per 1000."""


class BatchOutput(Struct, frozen=True):
    """A receiver of a batch. The amount is as people write it."""

    payout_id: UUID
    kind: PayoutOrderKind
    address: str
    amount: str
    status: BitcoinPayoutStatus


class ShownBatch(Struct, frozen=True):
    """A batch with its receivers."""

    summary: BatchSummary
    outputs: tuple[BatchOutput, ...]


def find_network(services: Services, name: str | None = None) -> BitcoinNetwork:
    """The rail of this name, or the only one. Raises `OperatorRefusedError` where none is configured."""
    found = [one for one in services.rails.of(BitcoinNetwork) if one.pays_out and name in {None, one.name}]
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

    return (await services.db.transact(read))[: batches.PAYOUTS_MAX]


async def list_all_exportable(services: Services, context: OperatorContext) -> Sequence[OutgoingTransfer]:
    """The same on all rails."""
    networks = [one for one in services.rails.of(BitcoinNetwork) if one.pays_out]
    return [one for network in networks for one in await list_exportable(services, network, context)]


async def find_batch(services: Services, batch_id: UUID) -> ShownBatch | None:
    """A batch with its receivers, in the order of its outputs."""
    found = await batches_store.list_summaries(services.db, services.catalogue, 1, batch_id)
    if not found:
        return None
    outputs = [
        BatchOutput(
            one.id, one.kind, one.address, services.catalogue.format_amount(one.amount_minor, one.currency), one.status
        )
        for one in await store.list_of_batch(services.db, batch_id)
    ]
    return ShownBatch(found[0], tuple(outputs))


async def export(
    work: Work, network: BitcoinNetwork, payout_ids: Sequence[UUID], rate: int | None, context: OperatorContext
) -> OperatorAction:
    """Request a batch of these payouts; its ID is the subject of the action. Raises `OperatorRefusedError`."""
    batch_id = await batches.request(work, network, list(dict.fromkeys(payout_ids)), rate, context)
    return await record.record_action(work, context, "bitcoin_batch_exported", None, subject_id=batch_id)


async def read_file(services: Services, batch_id: UUID) -> str:
    """The transaction to sign, as PSBT in Base64. Raises `OperatorRefusedError`."""
    return (await batches.export(services.db, batch_id)).psbt


async def import_signed(services: Services, batch_id: UUID, returned: bytes, context: OperatorContext) -> OperatorAction:
    """Store the signed transaction of a batch, which the worker sends. Raises `OperatorRefusedError`."""
    transactions = await batches_store.list_transactions(services.db, batch_id)
    signed = await asyncio.to_thread(batches.read_returned, transactions, returned)

    async def action(work: Work) -> OperatorAction:
        await batches.add_signed(work, batch_id, signed)
        return await record.record_action(work, context, "bitcoin_batch_imported", None, subject_id=batch_id)

    return await services.transact(action, context.at, OPERATOR)


async def replace(work: Work, batch_id: UUID, rate: int | None, context: OperatorContext) -> OperatorAction:
    """Have a replacement with a higher fee drafted. Raises `OperatorRefusedError`."""
    await batches.replace(work, batch_id, rate)
    return await record.record_action(work, context, "bitcoin_batch_replaced", None, subject_id=batch_id)


async def cancel(work: Work, batch_id: UUID, context: OperatorContext) -> OperatorAction:
    """Cancel a batch: its payouts wait again. Raises `OperatorRefusedError`."""
    await batches.cancel(work, batch_id)
    return await record.record_action(work, context, "bitcoin_batch_canceled", None, subject_id=batch_id)


async def approve(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Approve, as second operator, a payout of a merchant whose password was reset. Raises `OperatorRefusedError`."""
    _, env = await _lock_waiting(work.tx, payout_id)
    await exports.approve(work.tx, payout_id, context.reviewer, context.at)
    action = await record.record_action(work, context, "payout_approved", env, subject_id=payout_id)
    return Decided(payout_id, "approved", context.operator, context.reason or "", stamp(context.at), action.action_id)


async def refuse(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Refuse a payout that waits, and of which nothing that was exported can be sent. The money goes back.

    Raises `OperatorRefusedError`.
    """
    payout, env = await _lock_waiting(work.tx, payout_id)
    await rules.ensure_independent(work.tx, env.merchant_id, context.reviewer)
    if await batches_store.may_have_left(work.tx, payout_id):
        raise OperatorRefusedError(
            "The payout was exported before, in a batch that was canceled and may have been signed. It can be refused when "
            "another transaction has spent a coin of that batch and has 6 confirmations."
        )
    # Nothing below this line may refuse.
    await store.fail(work.tx, payout_id, work.now)
    return await give_back(work, env, payout.kind, payout_id, context)


async def _lock_waiting(tx: Tx, payout_id: UUID) -> tuple[BitcoinPayout, MerchantEnv]:
    """The payout and its environment, locked. Raises `OperatorRefusedError` unless it waits."""
    payout = await store.lock(tx, payout_id)
    if payout is None:
        raise OperatorRefusedError(Text("There is no payout %(payout_id)s.", payout_id=payout_id))
    if payout.status != "waiting":
        raise OperatorRefusedError("The payout is in a batch or has ended. Cancel the batch first.")
    return payout, (await gate.lock(tx, payout_id)).env
