"""Refunds in two phases: the money goes on hold first; it leaves, or is released, when the rail reports the result."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import Approvals
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity.model import Caller
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.disputes import EVIDENCE_CHARS_MAX, Evidence
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import (
    Account,
    JournalEntry,
    LedgerTransaction,
    Posting,
    Source,
    available,
    expense,
    rail,
    unapplied,
)
from tollhouse.ledger.books.post import ensure_balance_limit, post
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.refunds import store
from tollhouse.payments.refunds.new_refund import NewRefund, RefundPreview, preview_refund
from tollhouse.payments.transactions import notify, priced, verdict
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import REFUND_FAILED, Refund, RefundStatus, Transaction, refund_exchange
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log import changed_objects
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.gate.model import OutgoingTransfer
from tollhouse.transfers.orders.balance_events import Cause
from tollhouse.transfers.orders.errors import InvalidState

SOURCE = "refund"


def refund_evidence(payment: Transaction, catalogue: Catalogue) -> Evidence:
    """What the refunds of a disputed payment say against the dispute: nothing if none succeeded or is pending.

    It is in English, as card networks and their providers expect.
    """
    text = "\n".join(_refund_lines(payment, catalogue))
    return Evidence(uncategorized_text=text[:EVIDENCE_CHARS_MAX] or None)


async def update_draft_evidence(work: Work, before: Transaction, after: Transaction) -> None:
    """Let the draft of an open dispute say what the refunds of its locked payment are now, if nobody has changed it."""
    was, becomes = (refund_evidence(payment, work.services.catalogue) for payment in (before, after))
    if after.charged_back_minor and was != becomes:
        await responses.replace_evidence(work.tx, after.env, after.id, was, becomes, work.now)


def _refund_lines(payment: Transaction, catalogue: Catalogue) -> Iterator[str]:
    currency = catalogue.currencies[payment.currency]
    standing = [refund for refund in reversed(payment.refunds) if refund.status != "failed"]
    if standing:
        paid = currency.format(payment.received_minor)
        yield f"The merchant has refunded this payment of {paid} {payment.currency}:"
    for refund in standing:
        amount = f"{currency.format(refund.amount_minor)} {refund.currency}"
        if refund.status == "succeeded":
            named = "" if refund.provider_reference is None else f", reference {refund.provider_reference}"
            yield f"- {amount} on {refund.updated_at.date()} (refund {refund.id}{named})"
        else:
            yield f"- {amount}, requested on {refund.created_at.date()} and on its way (refund {refund.id})"


async def request(
    work: Work, env: MerchantEnv, transaction_id: UUID, new: NewRefund, *, by: Caller | None
) -> tuple[Refund, Transaction]:
    """Request a refund: hold its money.

    Raises what `preview_refund` raises, `ConnectionLimitExceeded` and `DailyLimitExceeded`.
    """
    preview = await preview_refund(work, env, transaction_id, new, by=by)
    current, amount_minor, from_unapplied = preview.payment, preview.amount_minor, preview.unapplied_minor
    held_minor = preview.held_minor
    # Database constraints enforce limit and balance; a violation rolls everything back.
    refund_id = new_id()
    await _spend(work, preview, refund_id)
    transfer = await _admit(work, preview, refund_id)
    hold_id, posted = None, None
    if held_minor:
        await priced.convert_back(work, current, refund_id, preview.exchange)
        hold, posted = await holds.reserve(work, env, Source(SOURCE, refund_id), current.currency, held_minor)
        hold_id = hold.id
    refund = _pending(work, preview, new, transfer, hold_id)
    changed_objects.note(refund_id)
    await store.insert(work.tx, current, refund)
    held = msgspec.structs.replace(
        current,
        returning_minor=current.returning_minor + amount_minor,
        returning_unapplied_minor=current.returning_unapplied_minor + from_unapplied,
        refunds=(refund, *current.refunds),
    )
    changed = await transaction_store.change(work.tx, held, "refund requested", work.now)
    await _notify_balance(work, changed, refund, posted)
    changed_values = new_values(
        amount=work.services.catalogue.priced(amount_minor, refund.currency),
        reason=refund.reason,
        external_id=refund.external_id,
    )
    await record.event(work, env, "refund.requested", subject=current.id, changed=changed_values)
    if refund.waits_for_member:
        await _notify_second_members(work, changed, refund, transfer.asked_by)
    return refund, changed


async def succeed(work: Work, env: MerchantEnv, refund_id: UUID) -> Refund:
    """Complete a refund. Raises `NotFound`, `InvalidState`, and what `gate.release` raises."""
    current = await _in_state(work.tx, env, refund_id, "pending")
    out = gate.outgoing_side(await gate.release(work.tx, refund_id, work.now, leaves=False))
    refund = await _end(work.tx, env, refund_id, "pending", "succeeded", None, work.now)
    changed = await _change(work.tx, current, refund, "refunded", work.now, refunded=refund.amount_minor, freed=True)
    extra_postings = _from_unapplied(current, refund, out)
    if refund.hold_id is None:
        posted = await post(work, JournalEntry(env.mode, "refund", Source(SOURCE, refund.id), extra_postings))
    else:
        captures = (HoldCapture("refund", refund.amount_minor - refund.unapplied_minor, out),)
        if refund.network_fee_minor:  # what the network took is an expense, booked with the payout
            captures += (HoldCapture("network_fee", refund.network_fee_minor, expense("network_fee")),)
        _, posted = await holds.capture(work, env, refund.hold_id, captures, extra_postings=extra_postings)
    await update_draft_evidence(work, current, changed)
    await notify.payment(work, "payment.refunded", changed, refund=refund)
    await _notify_balance(work, changed, refund, posted)
    return refund


async def fail(work: Work, env: MerchantEnv, refund_id: UUID, failure_code: str) -> Refund:
    """Fail a refund and release its hold. Raises `NotFound` and `InvalidState`."""
    current = await _in_state(work.tx, env, refund_id, "pending")
    await gate.close_by_id(work.tx, refund_id, work.now)
    _, refund = await _fail(work, current, refund_id, failure_code)
    return refund


async def list_unreleased(tx: Tx, current: Transaction) -> tuple[Refund, ...]:
    """The pending, unreleased refunds of a locked payment. Their transfers are locked."""
    pending = [refund for refund in current.refunds if refund.status == "pending"]
    return tuple([refund for refund in pending if (await gate.lock(tx, refund.id)).released_at is None])


async def stop(work: Work, current: Transaction, refunds: Sequence[Refund], failure_code: str) -> Transaction:
    """Fail unreleased refunds of a locked payment. Returns the payment."""
    for refund in refunds:
        await gate.close_by_id(work.tx, refund.id, work.now)
        current, _ = await _fail(work, current, refund.id, failure_code)
    return current


async def reverse(work: Work, env: MerchantEnv, refund_id: UUID) -> Refund:
    """Reverse a succeeded refund that the bank returned. Raises `NotFound`, `InvalidState` and `BalanceLimitExceeded`."""
    current = await _in_state(work.tx, env, refund_id, "succeeded")
    await priced.lock_positions(work, current)
    await _ensure_room(work.tx, current, refund_id)
    refund = await _end(work.tx, env, refund_id, "succeeded", "failed", "returned_by_bank", work.now)
    changed = await _change(work.tx, current, refund, "refund returned", work.now, refunded=-refund.amount_minor)
    await update_draft_evidence(work, current, changed)
    of_merchant = refund.amount_minor - refund.unapplied_minor
    to_merchant = (
        Posting("refund_reversal", refund.currency, of_merchant, rail(current.rail), available(env)) if of_merchant else None
    )
    unapplied_minor = refund.unapplied_minor
    back = (
        Posting("refund_reversal", refund.currency, unapplied_minor, rail(current.rail), unapplied(current.rail))
        if unapplied_minor
        else None
    )
    postings = tuple(posting for posting in (to_merchant, back) if posting is not None)
    posted = await post(work, JournalEntry(env.mode, "refund_reversal", Source(SOURCE, refund.id), postings))
    await gate.close_by_id(work.tx, refund.id, work.now)
    await _notify_balance(work, changed, refund, posted)
    await _convert_again(work, changed, refund, of_merchant)  # the network has its fee
    await _notify_failed(work, current, refund)
    return refund


def _pending(work: Work, preview: RefundPreview, new: NewRefund, transfer: OutgoingTransfer, hold_id: UUID | None) -> Refund:
    """A new refund of this transfer, whose money is on hold."""
    return Refund(
        id=transfer.id,
        transaction_id=preview.payment.id,
        currency=preview.payment.currency,
        amount_minor=preview.amount_minor,
        unapplied_minor=preview.unapplied_minor,
        network_fee_minor=preview.network_fee_minor,
        hold_id=hold_id,
        status="pending",
        reason=new.reason,
        receiver=transfer.receiver,
        review=transfer.review,
        failure_code=None,
        provider_reference=None,
        external_id=new.external_id,
        metadata=new.metadata or {},
        exchange=refund_exchange(preview.exchange),
        version=1,
        created_at=work.now,
        updated_at=work.now,
        credential_id=work.actor.credential_id,
        waits_for_member=transfer.second_member_required,
    )


async def _convert_again(work: Work, payment: Transaction, refund: Refund, returned_minor: int) -> None:
    """Convert money that returned from a failed refund, at the current rate."""
    if payment.price is not None:
        await priced.convert_again(work, payment, refund.id, returned_minor)


async def _ensure_room(tx: Tx, current: Transaction, refund_id: UUID) -> None:
    """Check that the balance can take the refund back. Raises `BalanceLimitExceeded`."""
    refund = next(refund for refund in current.refunds if refund.id == refund_id)
    if refund.hold_id is not None:
        await ensure_balance_limit(tx, current.env, refund.currency, refund.amount_minor - refund.unapplied_minor)


async def _spend(work: Work, preview: RefundPreview, refund_id: UUID) -> None:
    """Count it towards the limits of the credential; to another account than the payer's as a withdrawal, too."""
    current, target, amount_minor = preview.payment, preview.destination, preview.amount_minor + preview.network_fee_minor
    await spending.spend(work, "refunds", refund_id, current.currency, amount_minor)
    if not target.is_payer:
        await spending.spend(
            work, "withdrawals", refund_id, current.currency, amount_minor, rail=current.rail, account=target.account
        )


async def _admit(work: Work, preview: RefundPreview, refund_id: UUID) -> OutgoingTransfer:
    """Create the outgoing transfer. It is reviewed and counts towards the daily limit unless it goes to the payer."""
    tx, now = work.tx, work.now
    current, target, amount_minor = preview.payment, preview.destination, preview.amount_minor
    method, needed = target.method, target.approvals_needed(amount_minor)
    day, seconded = None, False
    if target.account != target.payer_account:
        day, _, seconded = await gate.ensure_recipient(tx, current.env, current.rail, target.account, now)
    transfer = OutgoingTransfer(
        id=refund_id,
        kind="refund",
        env=current.env,
        rail=current.rail,
        currency=current.currency,
        amount_minor=amount_minor,
        receiver=target.account,
        receiver_name=target.name,
        payer_account=target.payer_account,
        count=None if method is None or day is None else await gate.add_to_day(tx, current.env, method, amount_minor, day),
        review="required" if needed else "not_required",
        approvals=Approvals((), 0, needed),
        second_operator_above_minor=None if method is None or not needed else method.second_operator_above_minor,
        created_at=now,
    )
    return await gate.admit(work, transfer, seconded=seconded)


async def _in_state(tx: Tx, env: MerchantEnv, refund_id: UUID, status: RefundStatus) -> Transaction:
    """Lock the payment of a refund in this status. Raises `NotFound`, and `InvalidState` for another status."""
    found = await store.get(tx, env, refund_id)
    current = await transaction_store.lock(tx, env, found.transaction_id)
    status_now = next(refund.status for refund in current.refunds if refund.id == refund_id)
    if status_now != status:
        raise InvalidState(status_now)
    return current


async def _end(
    tx: Tx, env: MerchantEnv, refund_id: UUID, was: str, becomes: str, failure_code: str | None, now: datetime
) -> Refund:
    refund = await store.update_status_if(tx, env, refund_id, was, becomes, failure_code, now)
    if refund is None:
        raise AssertionError("refunds of a locked payment do not change")
    return refund


async def _fail(work: Work, current: Transaction, refund_id: UUID, failure_code: str) -> tuple[Transaction, Refund]:
    """Fail a pending refund of a locked payment, whose transfer is closed. Returns both."""
    refund = await _end(work.tx, current.env, refund_id, "pending", "failed", failure_code, work.now)
    changed = await _change(work.tx, current, refund, f"{REFUND_FAILED}{failure_code}", work.now, freed=True)
    await update_draft_evidence(work, current, changed)
    await _give_back(work, changed, refund)
    await _notify_failed(work, current, refund)
    return changed, refund


async def _notify_failed(work: Work, payment: Transaction, refund: Refund) -> None:
    """Each way in which a refund fails leads here, in the transaction in which it fails."""
    amount = work.services.catalogue.format_amount(refund.amount_minor, refund.currency)
    facts = NoticeFacts(amount=amount, currency=refund.currency)
    await notify_members(work, "refund_failed", Occurrence(payment.env, refund.id, facts, refund.transaction_id))


async def _notify_second_members(work: Work, payment: Transaction, refund: Refund, asked_by: UUID | None) -> None:
    amount = work.services.catalogue.format_amount(refund.amount_minor, refund.currency)
    facts = NoticeFacts(amount=amount, currency=refund.currency)
    occurrence = Occurrence(payment.env, refund.id, facts, refund.transaction_id, mailed=asked_by)
    await notify_members(work, "refund_needs_member", occurrence)


async def _change(
    tx: Tx, current: Transaction, refund: Refund, detail: str, now: datetime, *, refunded: int = 0, freed: bool = False
) -> Transaction:
    """Update the payment after a refund ended. `refunded` is the amount refunded; negative if it came back."""
    unapplied_minor = refund.unapplied_minor
    left_unapplied_minor = unapplied_minor if refunded > 0 else -unapplied_minor if refunded < 0 else 0
    new = msgspec.structs.replace(
        current,
        refunded_minor=current.refunded_minor + refunded,
        unapplied_minor=current.unapplied_minor - left_unapplied_minor,
        returning_minor=current.returning_minor - (refund.amount_minor if freed else 0),
        returning_unapplied_minor=current.returning_unapplied_minor - (unapplied_minor if freed else 0),
        refunds=_with(current.refunds, refund),
    )
    return await transaction_store.change(tx, verdict.with_derived_status(new), detail, now)


async def _give_back(work: Work, changed: Transaction, refund: Refund) -> None:
    """Release the hold of a failed refund."""
    if refund.hold_id is not None:
        await priced.lock_positions(work, changed)
        _, posted = await holds.release(work, changed.env, refund.hold_id)
        await _notify_balance(work, changed, refund, posted)
        await _convert_again(work, changed, refund, refund.held_minor)


def _from_unapplied(current: Transaction, refund: Refund, out: Account) -> tuple[Posting, ...]:
    unapplied_minor = refund.unapplied_minor
    return (Posting("refund", refund.currency, unapplied_minor, unapplied(current.rail), out),) if unapplied_minor else ()


def _with(refunds: Sequence[Refund], changed: Refund) -> tuple[Refund, ...]:
    return tuple(changed if refund.id == changed.id else refund for refund in refunds)


async def _notify_balance(work: Work, transaction: Transaction, refund: Refund, posted: LedgerTransaction | None) -> None:
    if posted is not None:
        await notify.moved(work, transaction, posted, Cause(SOURCE, refund.id, refund.status, refund.version))
