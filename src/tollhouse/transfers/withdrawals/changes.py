"""Transitions of one locked withdrawal, the effect of operators' reviews, and the events of both."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.accounts.mail.model import NotificationEvent, mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.model import LedgerTransaction
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.gate import TWO_OPERATORS, ApprovalPolicy
from tollhouse.transfers.gate.model import OutgoingTransfer
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals import store
from tollhouse.transfers.withdrawals.model import CANCELABLE, FailureCode, Withdrawal, WithdrawalStatus, last_four
from tollhouse.transfers.withdrawals.views import withdrawal_view
from tollhouse.webhooks.events.record import EventSource, EventType, record

SOURCE = "withdrawal"
NOTIFICATIONS: Mapping[EventType, NotificationEvent] = {
    "withdrawal.completed": "withdrawal_completed",
    "withdrawal.failed": "withdrawal_failed",
}


async def status_changed(work: Work, event_type: EventType, withdrawal: Withdrawal) -> None:
    """Record the event of a new status."""
    source = EventSource(SOURCE, withdrawal.id, withdrawal.version)
    data = {"object": withdrawal_view(withdrawal, work.services.catalogue)}
    await record(work, withdrawal.env, event_type, source, data, withdrawal.webhook_url)
    if event_type in NOTIFICATIONS:
        rejected = withdrawal.failure_code == "review_rejected"
        await _notify(work, "withdrawal_rejected" if rejected else NOTIFICATIONS[event_type], withdrawal)


async def notify_approved(work: Work, approved: Withdrawal) -> None:
    """Notify the merchant that operators approved a withdrawal."""
    await _notify(work, "withdrawal_approved", approved)


async def notify_second_members(work: Work, new: Withdrawal, asked_by: UUID | None) -> None:
    """Notify the members who may approve a withdrawal that waits for a second one."""
    await _notify(work, "withdrawal_needs_member", new, asked_by)


async def _notify(work: Work, event: NotificationEvent, withdrawal: Withdrawal, mailed: UUID | None = None) -> None:
    """Each way in which a withdrawal ends leads here, in the transaction that ends it."""
    method = work.services.catalogue.withdrawal_methods.get(withdrawal.method_id)
    account = withdrawal.receiver if method is None else last_four(withdrawal.receiver, method.receiver_type)
    facts = NoticeFacts(
        amount=work.services.catalogue.format_amount(withdrawal.amount_minor, withdrawal.currency),
        currency=withdrawal.currency,
        account=mail_name(account),
        reason=mail_name(withdrawal.review_note or "") if event == "withdrawal_rejected" else "",
    )
    await notify_members(work, event, Occurrence(withdrawal.env, withdrawal.id, facts, withdrawal.id, mailed=mailed))


async def balance_changed(work: Work, withdrawal: Withdrawal, posted: LedgerTransaction) -> None:
    """Record the event of a balance that a ledger transaction of this withdrawal changed."""
    cause = Cause(SOURCE, withdrawal.id, withdrawal.status, withdrawal.version)
    await notify_balance(work, withdrawal.env, withdrawal.currency, posted, cause, withdrawal.webhook_url)


async def lock_in_status(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, *statuses: WithdrawalStatus) -> Withdrawal:
    """Lock a withdrawal that has one of these statuses, and return it. Raises `NotFound` and `InvalidState`."""
    current = await store.lock(tx, env, withdrawal_id)
    if current.status not in statuses:
        raise InvalidState(current.status)
    return current


async def end_unsent(
    work: Work, current: Withdrawal, *, status: Literal["failed", "canceled"], failure_code: FailureCode | None = None
) -> Withdrawal:
    """End a withdrawal that was never sent: release its hold, and give its amount back to the daily limit."""
    ended = await store.update(work.tx, current, work.now, status=status, failure_code=failure_code, next_look_at=None)
    await gate.close_by_id(work.tx, ended.id, work.now)
    _, posted = await holds.release(work, ended.env, ended.hold_id)
    if status == "failed":
        await status_changed(work, "withdrawal.failed", ended)
    await balance_changed(work, ended, posted)
    return ended


async def lock(tx: Tx, withdrawal_id: UUID) -> Withdrawal:
    """Lock a withdrawal of any merchant and return it. Raises `NotFound`."""
    return await store.lock(tx, await store.get_env(tx, withdrawal_id), withdrawal_id)


async def approve(
    tx: Tx, current: Withdrawal, reviewer: Reviewer, note: str | None, now: datetime, policy: ApprovalPolicy = TWO_OPERATORS
) -> Withdrawal:
    """Record one operator's approval of a locked withdrawal. Raises `InvalidState` and the errors of `gate.approve`."""
    if current.status != "pending_review":
        raise InvalidState(current.status)
    transfer = await gate.approve(tx, current.id, reviewer, note, now, policy)
    # Nothing below this line may refuse.
    reviewed = _with_review(current, transfer)
    if transfer.review != "approved":
        return await store.update(tx, reviewed, now)
    return await store.update(tx, reviewed, now, status="approved", next_look_at=now)


def is_approved(reviewed: Withdrawal) -> bool:
    """Whether no other approval is needed."""
    return reviewed.status == "approved"


async def reject(work: Work, current: Withdrawal, reason: str) -> Withdrawal:
    """Reject a locked withdrawal that was not sent yet. The merchant sees the reason. Raises `InvalidState`."""
    if current.status not in CANCELABLE:
        raise InvalidState(current.status)
    # Nothing below this line may refuse.
    reviewed = _with_review(current, await gate.reject(work.tx, current.id, reason, work.now))
    return await end_unsent(work, reviewed, status="failed", failure_code="review_rejected")


def _with_review(current: Withdrawal, transfer: OutgoingTransfer) -> Withdrawal:
    return msgspec.structs.replace(
        current,
        approvals_needed=transfer.approvals.needed,
        approvals=transfer.approvals.given,
        reviewed_at=transfer.reviewed_at,
        review_note=transfer.review_note,
    )
