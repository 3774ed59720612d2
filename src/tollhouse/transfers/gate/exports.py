"""Which transfers an operator may export, whatever the rail."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import TWO, OperatorRefusedError, Reviewer
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.text import Text, Translatable, joined
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate, store
from tollhouse.transfers.gate.model import OutgoingTransfer


async def ensure_exportable(
    tx: Tx, locked: Sequence[OutgoingTransfer], reviewer: Reviewer, now: datetime
) -> list[OutgoingTransfer]:
    """Locked transfers, all of which this operator may export. Their merchants are locked, too.

    Raises `OperatorRefusedError` if one may not be exported.
    """
    active = await store.lock_active_merchants(tx, {transfer.env.merchant_id for transfer in locked})
    return await _may_leave(tx, locked, active, reviewer, now, strict=True)


async def filter_exportable(
    tx: Tx, waiting: Sequence[OutgoingTransfer], reviewer: Reviewer, now: datetime
) -> list[OutgoingTransfer]:
    """Those of these transfers that this operator may export now."""
    active = await store.lock_active_merchants(tx, {transfer.env.merchant_id for transfer in waiting})
    return await _may_leave(tx, waiting, active, reviewer, now, strict=False)


async def approve(tx: Tx, transfer_id: UUID, reviewer: Reviewer, now: datetime) -> OutgoingTransfer:
    """Add the second operator's approval to a transfer that waits for its export.

    Raises `NotFound` and `OperatorRefusedError`.
    """
    current = await gate.lock(tx, transfer_id)
    merchant_id = current.env.merchant_id
    await rules.ensure_independent(tx, merchant_id, reviewer)
    await rules.ensure_active(tx, merchant_id)
    needed = await rules.approvals_needed(tx, merchant_id, current.approvals.needed, now)
    approvals = rules.approve(msgspec.structs.replace(current.approvals, needed=needed), reviewer)
    # Nothing below this line may refuse.
    kept = msgspec.structs.replace(approvals, needed=current.approvals.needed)
    await store.approve(tx, transfer_id, kept, current.review, current.reviewed_at, None)
    return msgspec.structs.replace(current, approvals=kept)


async def _may_leave(
    tx: Tx, prepared: Sequence[OutgoingTransfer], active: set[MerchantId], reviewer: Reviewer, now: datetime, *, strict: bool
) -> list[OutgoingTransfer]:
    hindrances: dict[MerchantId, Translatable | None] = {}
    resets: dict[MerchantId, datetime | None] = {}
    leaving: list[OutgoingTransfer] = []
    debited = await store.find_debited(tx, [transfer.id for transfer in prepared])
    for transfer in prepared:
        merchant_id = transfer.env.merchant_id
        if merchant_id not in resets:
            hindrances[merchant_id] = await _hindrance(tx, merchant_id, active, reviewer)
            resets[merchant_id] = await rules.reset_counts_until(tx, merchant_id, now)
        why = hindrances[merchant_id] or _too_few(transfer, resets[merchant_id], reviewer)
        if transfer.id in debited:
            why = "The bank has already debited it. Match the unmatched transfer with this ID."
        if why is None:
            leaving.append(transfer)
        elif strict:
            raise OperatorRefusedError(joined(Text("Payout %(payout_id)s cannot be exported.", payout_id=transfer.id), why))
    return leaving


async def _hindrance(tx: Tx, merchant_id: MerchantId, active: set[MerchantId], reviewer: Reviewer) -> Translatable | None:
    if merchant_id not in active:
        return Text("Merchant %(id)s is suspended.", id=merchant_id)
    try:
        await rules.ensure_independent(tx, merchant_id, reviewer)
    except OperatorRefusedError as refused:
        return refused.message
    return None


def _too_few(transfer: OutgoingTransfer, reset_until: datetime | None, reviewer: Reviewer) -> Translatable | None:
    """The exporting operator counts as an approver, but not on the command line."""
    if transfer.released_at is None or transfer.closed_at is not None:
        return "The transfer has not been released."
    given = len(transfer.approvals.given) - transfer.approvals.by_command
    if not reviewer.is_among(transfer.approvals.given) and not reviewer.on_command_line:
        given += 1
    if reset_until is None or given >= TWO:
        return None
    return Text(
        "A password of the merchant was reset in the last 72 hours. A second operator must approve the payout on the "
        "operator pages. A single operator can export it from %(until)s.",
        until=stamp(reset_until),
    )
