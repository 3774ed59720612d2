"""The simulator: in test mode it plays the operator and the bank. What it decides goes the way of every rail's report."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import PayoutState, Submission
from tollhouse.rails.sandbox import PAYOUT_TAKES
from tollhouse.web.house import House
from tollhouse.withdrawals import changes, review, sending
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.refusals import NotNow

Outcome = Literal["approve", "reject", "process", "complete", "fail", "return", "stick"]
REASON = "Rejected by the simulator."


async def play(  # noqa: C901 - one line for each outcome
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, outcome: Outcome, house: House, now: datetime
) -> Withdrawal:
    """Let this happen, and what must come before it. Raises `NotFound`, and `NotNow` where it cannot happen any more."""
    present = await changes.hold_still(tx, env, withdrawal_id)
    if outcome in {"stick", "complete", "fail"} or (outcome == "return" and present.status != "completed"):
        await _be_sent(tx, present, house, now)
    match outcome:
        case "approve" if present.status != "approved":  # in test mode every withdrawal begins so
            raise NotNow(present.status)
        case "approve":
            then = present
        case "reject":
            then = await review.reject(tx, present, REASON, house, now)
        case "process":
            await sending.begin(tx, env, withdrawal_id, house, now)
            accepted = Submission("accepted", f"sandbox-{withdrawal_id}")
            then = await sending.note(tx, env, withdrawal_id, accepted, now + PAYOUT_TAKES, now)
        case "stick":
            then = await sending.note(tx, env, withdrawal_id, Submission("unknown"), None, now)
        case "fail":
            then = await sending.fail(tx, env, withdrawal_id, "payout_declined", house, now)
        case "complete":
            then = await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), house, now)
        case "return":
            if present.status != "completed":
                await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), house, now)
            then = await sending.come_back(tx, env, withdrawal_id, house, now)
    return then


async def _be_sent(tx: Tx, present: Withdrawal, house: House, now: datetime) -> None:
    if present.status != "processing":
        await sending.begin(tx, present.env, present.id, house, now)
