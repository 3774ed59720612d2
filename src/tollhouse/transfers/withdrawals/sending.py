"""Sending in two phases: `begin` is committed before the rail is called, the rail's answer is recorded afterwards.

Only one caller can begin. A withdrawal of unknown outcome keeps its hold.
"""

from datetime import datetime
from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.provider import PayoutError, PayoutState, Submission
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import Account, JournalEntry, Posting, Source, available, expense, income, rail
from tollhouse.ledger.books.post import ensure_balance_limit, post
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate
from tollhouse.transfers.withdrawals import changes, store
from tollhouse.transfers.withdrawals.model import Withdrawal


async def begin(work: Work, env: MerchantEnv, withdrawal_id: UUID, *, leaves: bool = True) -> Withdrawal:
    """Start processing: from here on the money may have been sent. `leaves`: without an operator who exports it.

    Raises `NotFound`, what `gate.release` raises, and `InvalidState` where it is no longer approved.
    """
    current = await changes.lock_in_status(work.tx, env, withdrawal_id, "approved")
    await gate.release(work.tx, withdrawal_id, work.now, leaves=leaves)
    processing = await store.update(
        work.tx, current, work.now, status="processing", submission="prepared", processing_at=work.now
    )
    await changes.status_changed(work, "withdrawal.processing", processing)
    return processing


async def record_submission(
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, submission: Submission, next_look_at: datetime | None, now: datetime
) -> Withdrawal:
    """Record whether the rail accepted the payout, or that this is unknown. Raises `NotFound` and `InvalidState`."""
    current = await changes.lock_in_status(tx, env, withdrawal_id, "processing")
    is_accepted = submission.outcome == "accepted" or current.submission == "accepted"
    return await store.update(
        tx,
        current,
        now,
        submission="accepted" if is_accepted else "unknown",
        provider_reference=current.provider_reference or submission.provider_reference,
        next_look_at=next_look_at,
    )


async def complete(work: Work, env: MerchantEnv, withdrawal_id: UUID, state: PayoutState) -> Withdrawal:
    """Complete a payout that arrived. Raises `NotFound` and `InvalidState`."""
    current = await changes.lock_in_status(work.tx, env, withdrawal_id, "processing")
    paid_minor = current.network_fee_minor if state.network_fee_minor is None else state.network_fee_minor
    completed = await store.update(
        work.tx,
        current,
        work.now,
        status="completed",
        submission="accepted",
        tx_hash=state.tx_hash,
        network_paid_minor=paid_minor,
        next_look_at=None,
        completed_at=work.now,
    )
    out = gate.outgoing_side(await gate.lock(work.tx, completed.id))
    extra_postings = _overpaid_postings(completed, paid_minor, out)
    _, posted = await holds.capture(
        work, env, completed.hold_id, _captures(completed, paid_minor, out), extra_postings=extra_postings
    )
    await changes.status_changed(work, "withdrawal.completed", completed)
    await changes.balance_changed(work, completed, posted)
    return completed


async def fail(work: Work, env: MerchantEnv, withdrawal_id: UUID, failure_code: PayoutError) -> Withdrawal:
    """Fail a payout that the rail certainly did not and will not send. Raises `NotFound` and `InvalidState`."""
    current = await changes.lock_in_status(work.tx, env, withdrawal_id, "processing")
    return await changes.end_unsent(work, current, status="failed", failure_code=failure_code)


async def record_return(work: Work, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Credit a payout that was returned after it arrived; the fees are not returned.

    Raises `NotFound`, `InvalidState` and `BalanceLimitExceeded`, before anything is written.
    """
    current = await changes.lock_in_status(work.tx, env, withdrawal_id, "completed")
    await ensure_balance_limit(work.tx, env, current.currency, current.receive_minor)
    returned = await store.update(work.tx, current, work.now, status="failed", failure_code="returned")
    await gate.close_by_id(work.tx, returned.id, work.now)
    posting = Posting("withdrawal_return", returned.currency, returned.receive_minor, rail(returned.rail), available(env))
    posted = await post(work, JournalEntry(env.mode, "withdrawal_return", Source(changes.SOURCE, returned.id), (posting,)))
    await changes.status_changed(work, "withdrawal.failed", returned)
    await changes.balance_changed(work, returned, posted)
    return returned


def _captures(completed: Withdrawal, paid_minor: int, out: Account) -> tuple[HoldCapture, ...]:
    """The shares of the hold: the receiver's, the rail's network fee and the platform's income."""
    rail_fee_minor = min(paid_minor, completed.network_fee_minor)
    captures = (
        HoldCapture("withdrawal", completed.receive_minor, out),
        HoldCapture("network_fee", rail_fee_minor, out),
        HoldCapture("network_fee", completed.network_fee_minor - rail_fee_minor, expense("network_fee")),
        HoldCapture("withdrawal_fee", completed.system_fee_minor, income("withdrawal_fee")),
    )
    return tuple(capture for capture in captures if capture.amount_minor)


def _overpaid_postings(completed: Withdrawal, paid_minor: int, out: Account) -> tuple[Posting, ...]:
    """The one of the rail's network fee above the fee that the merchant was charged: an expense of the platform."""
    excess_minor = paid_minor - completed.network_fee_minor
    if excess_minor <= 0:
        return ()
    return (Posting("network_fee", completed.currency, excess_minor, expense("network_fee"), out),)
