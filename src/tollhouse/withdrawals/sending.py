"""Sending, in two phases: that it is about to be sent is written first, and what the rail then says, or does not, later.

Only the first to begin hands a withdrawal in. What nobody knows the end of keeps its money on hold.
"""

from datetime import datetime
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger import holds
from tollhouse.ledger.holds import HoldCapture
from tollhouse.ledger.model import Account, JournalEntry, Posting, Source, available, expense, income, rail
from tollhouse.ledger.post import ensure_balance_limit, post
from tollhouse.outgoing import gate
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import PayoutFault, PayoutState, Submission
from tollhouse.withdrawals import changes, notify
from tollhouse.withdrawals.model import Withdrawal


async def begin(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, services: Services, now: datetime) -> Withdrawal:
    """From here on it may be on its way.

    Raises `NotFound`, `MerchantSuspended`, and `InvalidState` where it was canceled or somebody began before.
    """
    current = await changes.in_state(tx, env, withdrawal_id, "approved")
    await gate.release(tx, withdrawal_id, now)
    begun = await changes.change(tx, current, now, status="processing", submission="prepared", processing_at=now)
    await notify.state(tx, "withdrawal.processing", begun, services, now)
    return begun


async def note(
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, handed_in: Submission, next_look_at: datetime | None, now: datetime
) -> Withdrawal:
    """Keep what the rail said when it was handed in, or that it said nothing. Raises `NotFound` and `InvalidState`."""
    current = await changes.in_state(tx, env, withdrawal_id, "processing")
    knows = handed_in.outcome == "accepted" or current.submission == "accepted"
    return await changes.change(
        tx,
        current,
        now,
        submission="accepted" if knows else "unknown",
        provider_reference=current.provider_reference or handed_in.provider_reference,
        next_look_at=next_look_at,
    )


async def complete(
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, state: PayoutState, services: Services, now: datetime
) -> Withdrawal:
    """The receiver has the money. Raises `NotFound` and `InvalidState`."""
    current = await changes.in_state(tx, env, withdrawal_id, "processing")
    paid_minor = current.network_fee_minor if state.network_fee_minor is None else state.network_fee_minor
    done = await changes.change(
        tx,
        current,
        now,
        status="completed",
        submission="accepted",
        tx_hash=state.tx_hash,
        network_paid_minor=paid_minor,
        next_look_at=None,
        completed_at=now,
    )
    out = gate.outgoing_side(await gate.lock(tx, done.id))
    extra_postings = _overpaid(done, paid_minor, out)
    _, posted = await holds.capture(tx, env, done.hold_id, _parts(done, paid_minor, out), now, extra_postings=extra_postings)
    await notify.state(tx, "withdrawal.completed", done, services, now)
    await notify.moved(tx, done, posted, services, now)
    return done


async def fail(
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, failure_code: PayoutFault, services: Services, now: datetime
) -> Withdrawal:
    """The rail says for sure that it did not and will not send it. Raises `NotFound` and `InvalidState`."""
    current = await changes.in_state(tx, env, withdrawal_id, "processing")
    return await changes.give_back(tx, current, services, now, status="failed", failure_code=failure_code)


async def come_back(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, services: Services, now: datetime) -> Withdrawal:
    """What had arrived was sent back: the merchant has it again, less the fees.

    Raises `NotFound`, `InvalidState` and `BalanceLimitExceeded`, before anything is written.
    """
    current = await changes.in_state(tx, env, withdrawal_id, "completed")
    await ensure_balance_limit(tx, env, current.currency, current.receive_minor)
    back = await changes.change(tx, current, now, status="failed", failure_code="returned")
    await gate.close_by_id(tx, back.id, now)
    posting = Posting("withdrawal_return", back.currency, back.receive_minor, rail(back.rail), available(env))
    posted = await post(tx, JournalEntry(env.mode, "withdrawal_return", Source(notify.SOURCE, back.id), (posting,), now))
    await notify.state(tx, "withdrawal.failed", back, services, now)
    await notify.moved(tx, back, posted, services, now)
    return back


def _parts(done: Withdrawal, paid_minor: int, out: Account) -> tuple[HoldCapture, ...]:
    """Where the money on hold goes: to the receiver, to the rail for its way, and to the platform."""
    by_rail_minor = min(paid_minor, done.network_fee_minor)
    parts = (
        HoldCapture("withdrawal", done.receive_minor, out),
        HoldCapture("network_fee", by_rail_minor, out),
        HoldCapture("network_fee", done.network_fee_minor - by_rail_minor, expense("network_fee")),
        HoldCapture("withdrawal_fee", done.system_fee_minor, income("withdrawal_fee")),
    )
    return tuple(part for part in parts if part.amount_minor)


def _overpaid(done: Withdrawal, paid_minor: int, out: Account) -> tuple[Posting, ...]:
    """What the rail took for the way beyond what the merchant was charged is the platform's to pay."""
    beyond_minor = paid_minor - done.network_fee_minor
    if beyond_minor <= 0:
        return ()
    return (Posting("network_fee", done.currency, beyond_minor, expense("network_fee"), out),)
