"""What operators do with payouts on any rail: export, approve, refuse. The protocols are what differs between rails."""

from collections.abc import Collection
from typing import Any, Protocol, TypeVar
from uuid import UUID

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals.model import Action, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import PayoutState
from tollhouse.kernel.text import Text, as_text
from tollhouse.payments.refunds import actions as refunds
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.batches.model import Decided, Order
from tollhouse.transfers.gate import exports, pauses_store
from tollhouse.transfers.gate.model import OutgoingTransfer
from tollhouse.transfers.withdrawals import sending

COMPLETED = PayoutState("succeeded")


async def complete(work: Work, order: Order) -> None:
    """The money has left. Raises an `ApiError` before it writes if the order has ended otherwise."""
    if order.kind == "withdrawal":
        await sending.complete(work, order.env, order.id, COMPLETED)
    else:
        await refunds.succeed(work, order.env, order.id)


async def reverse(work: Work, order: Order) -> None:
    """The money came back. Raises an `ApiError` before it writes."""
    if order.kind == "withdrawal":
        await sending.record_return(work, order.env, order.id)
    else:
        await refunds.reverse(work, order.env, order.id)


async def decline_order(work: Work, order: Order, *, is_receiver_invalid: bool = False) -> None:
    """The money does not leave: the merchant has it again. Raises an `ApiError` before it writes."""
    if order.kind == "withdrawal":
        code = "receiver_invalid" if is_receiver_invalid else "payout_declined"
        await sending.fail(work, order.env, order.id, code)
    else:
        await refunds.fail(work, order.env, order.id, "receiver_invalid" if is_receiver_invalid else "refund_declined")


P = TypeVar("P", bound=Order)
"""A payout of a rail, locked."""


class PayoutRail(Protocol[P]):
    """How a rail keeps payouts that operators decide about."""

    async def lock(self, work: Work, *, payout_id: UUID) -> P:
        """Lock a payout that waits, or can be refused all the same. Raises `OperatorRefusedError`."""
        ...

    async def ensure_refusable(self, work: Work, *, payout: P, context: OperatorContext) -> Decided | None:
        """Verify that nothing which was exported of a payout can be sent, or that operators are sure of it.

        A decision if another operator must approve that, too. Raises `OperatorRefusedError`.
        """
        ...

    async def end(self, work: Work, *, payout_id: UUID, context: OperatorContext) -> None:
        """Record that a locked payout is refused."""
        ...


class BatchRail(PayoutRail[P], Protocol):
    """How a rail keeps payouts that leave in batches."""

    async def lock_waiting(self, tx: Tx, *, payout_ids: Collection[UUID] | None) -> list[OutgoingTransfer]:
        """Lock the payouts that wait to be exported, or those of these IDs, in the order of their IDs."""
        ...

    async def list_suspended(self, db: Pool | Tx, *, batch_id: UUID) -> list[UUID]:
        """The payouts of a batch whose merchant is suspended."""
        ...

    def suspended_error(self, *, suspended: str) -> Text:
        """What to do about a batch with these payouts of suspended merchants."""
        ...


async def record_decision(
    work: Work,
    context: OperatorContext,
    action: Action,
    subject_id: UUID,
    outcome: str,
    env: MerchantEnv | None = None,
    *,
    history_of: UUID | None = None,
) -> Decided:
    """Record an operator's action in the history of its subject, or in that of `history_of`."""
    done = await record.record_action(work, context, action, env, subject_id=history_of or subject_id)
    return Decided(subject_id, outcome, context.operator, context.reason or "", stamp(context.at), done.action_id)


async def lock_exportable(
    work: Work, rail: BatchRail[Any], payout_ids: Collection[UUID] | None, context: OperatorContext
) -> list[OutgoingTransfer]:
    """Lock the payouts of these IDs to export them, or all that this operator may export.

    Raises `OperatorRefusedError` where there is none, or one of those that were asked for may not leave.
    """
    await ensure_not_paused(work.tx)
    waiting = await rail.lock_waiting(work.tx, payout_ids=payout_ids)
    if payout_ids is None:
        leaving = await exports.filter_exportable(work.tx, waiting, context.reviewer, context.at)
    else:
        leaving = await exports.ensure_exportable(work.tx, waiting, context.reviewer, context.at)
    if not leaving:
        raise OperatorRefusedError("No payouts are pending.")
    if payout_ids is not None and {payout.id for payout in leaving} != set(payout_ids):
        raise OperatorRefusedError("Some of the selected payouts are no longer pending. Check the list again.")
    return leaving


async def ensure_may_leave(db: Pool | Tx, rail: BatchRail[Any], batch_id: UUID) -> None:
    """Raise `OperatorRefusedError` while payouts are paused, or a merchant in this batch is suspended."""
    await ensure_not_paused(db)
    if suspended := await rail.list_suspended(db, batch_id=batch_id):
        raise OperatorRefusedError(rail.suspended_error(suspended=", ".join(map(str, suspended))))


async def ensure_not_paused(db: Pool | Tx) -> None:
    """Raise `OperatorRefusedError` while payouts are paused."""
    if await pauses_store.are_paused(db):
        raise OperatorRefusedError("Payouts are paused. Resume them with `tollhouse operator payouts resume`.")


async def approve(work: Work, rail: PayoutRail[P], payout_id: UUID, context: OperatorContext) -> Decided:
    """Approve, as second operator, a payout of a merchant whose password was reset. Raises `OperatorRefusedError`."""
    payout = await rail.lock(work, payout_id=payout_id)
    await exports.approve(work.tx, payout_id, context.reviewer, context.at)
    return await record_decision(work, context, "payout_approved", payout_id, "approved", payout.env)


async def refuse(work: Work, rail: PayoutRail[P], payout_id: UUID, context: OperatorContext) -> Decided:
    """Refuse a payout of which nothing can be sent. The money goes back. Raises `OperatorRefusedError`."""
    payout = await rail.lock(work, payout_id=payout_id)
    await rules.ensure_independent(work.tx, payout.env.merchant_id, context.reviewer)
    if approved := await rail.ensure_refusable(work, payout=payout, context=context):
        return approved
    await decline(work, payout)
    await rail.end(work, payout_id=payout_id, context=context)
    return await record_decision(work, context, "payout_refused", payout_id, "refused", payout.env)


async def decline(work: Work, payout: Order, *, is_receiver_invalid: bool = False) -> None:
    """End the order of a payout that is refused. Raises `OperatorRefusedError` where it has ended otherwise."""
    try:
        await decline_order(work, payout, is_receiver_invalid=is_receiver_invalid)
    except ApiError as lost:
        raise OperatorRefusedError(
            Text("Payout %(payout_id)s cannot be refused: %(message)s", payout_id=payout.id, message=as_text(lost.message))
        ) from None
