"""The simulator: in test mode it plays the operator and the bank. What it decides goes the way of every rail's report."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.orders.errors import InvalidState
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import PayoutState, Submission
from tollhouse.rails.sandbox import PAYOUT_TAKES
from tollhouse.withdrawals import changes, review, sending
from tollhouse.withdrawals.model import Withdrawal

Outcome = Literal["approve", "reject", "process", "complete", "fail", "return", "stick"]
REASON = "Rejected by the simulator."


async def play(  # noqa: C901 - one line for each outcome
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, outcome: Outcome, services: Services, now: datetime
) -> Withdrawal:
    """Let this happen, and what must come before it.

    Raises `NotFound`, and `InvalidState` where it cannot happen any more.
    """
    current = await changes.lock(tx, env, withdrawal_id)
    if outcome in {"stick", "complete", "fail"} or (outcome == "return" and current.status != "completed"):
        await _be_sent(tx, current, services, now)
    match outcome:
        case "approve" if current.status != "approved":  # in test mode every withdrawal begins so
            raise InvalidState(current.status)
        case "approve":
            then = current
        case "reject":
            then = await review.reject(tx, current, REASON, services, now)
        case "process":
            await sending.begin(tx, env, withdrawal_id, services, now)
            accepted = Submission("accepted", f"sandbox-{withdrawal_id}")
            then = await sending.note(tx, env, withdrawal_id, accepted, now + PAYOUT_TAKES, now)
        case "stick":
            then = await sending.note(tx, env, withdrawal_id, Submission("unknown"), None, now)
        case "fail":
            then = await sending.fail(tx, env, withdrawal_id, "payout_declined", services, now)
        case "complete":
            then = await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), services, now)
        case "return":
            if current.status != "completed":
                await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), services, now)
            then = await sending.come_back(tx, env, withdrawal_id, services, now)
    return then


async def _be_sent(tx: Tx, current: Withdrawal, services: Services, now: datetime) -> None:
    if current.status != "processing":
        await sending.begin(tx, current.env, current.id, services, now)
