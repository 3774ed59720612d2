"""The simulator of the operator and the bank in test mode. Its outcomes take the same path as those of a rail."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.orders.errors import InvalidState
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import PayoutState, Submission
from tollhouse.rails.sandbox import PAYOUT_TAKES
from tollhouse.withdrawals import review, sending, store
from tollhouse.withdrawals.model import Withdrawal

Outcome = Literal["approve", "reject", "process", "complete", "fail", "return", "stick"]
REASON = "Rejected by the simulator."


async def play(  # noqa: C901 - one line for each outcome
    tx: Tx, env: MerchantEnv, withdrawal_id: UUID, outcome: Outcome, services: Services, now: datetime
) -> Withdrawal:
    """Make this happen, with the steps before it. Raises `NotFound`, and `InvalidState` where it is not possible."""
    current = await store.lock(tx, env, withdrawal_id)
    if outcome in {"stick", "complete", "fail"} or (outcome == "return" and current.status != "completed"):
        await _ensure_processing(tx, current, services, now)
    match outcome:
        case "approve" if current.status != "approved":  # every withdrawal of test mode starts approved
            raise InvalidState(current.status)
        case "approve":
            changed = current
        case "reject":
            changed = await review.reject(tx, current, REASON, services, now)
        case "process":
            await sending.begin(tx, env, withdrawal_id, services, now)
            accepted = Submission("accepted", f"sandbox-{withdrawal_id}")
            changed = await sending.record_submission(tx, env, withdrawal_id, accepted, now + PAYOUT_TAKES, now)
        case "stick":
            changed = await sending.record_submission(tx, env, withdrawal_id, Submission("unknown"), None, now)
        case "fail":
            changed = await sending.fail(tx, env, withdrawal_id, "payout_declined", services, now)
        case "complete":
            changed = await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), services, now)
        case "return":
            if current.status != "completed":
                await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), services, now)
            changed = await sending.record_return(tx, env, withdrawal_id, services, now)
    return changed


async def _ensure_processing(tx: Tx, current: Withdrawal, services: Services, now: datetime) -> None:
    if current.status != "processing":
        await sending.begin(tx, current.env, current.id, services, now)
