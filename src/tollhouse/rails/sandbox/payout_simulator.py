"""The simulator of the operator and the bank in test mode. Its outcomes take the same path as those of a rail."""

from typing import Literal
from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.provider import PayoutState, Submission
from tollhouse.rails.sandbox.provider import PAYOUT_TAKES
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals import review, sending, store
from tollhouse.transfers.withdrawals.model import Withdrawal

Outcome = Literal["approve", "reject", "process", "complete", "fail", "return", "stick"]
REASON = "Rejected by the simulator."


async def play(  # noqa: C901 - one line for each outcome
    work: Work, env: MerchantEnv, withdrawal_id: UUID, outcome: Outcome
) -> Withdrawal:
    """Make this happen, with the steps before it. Raises `NotFound`, and `InvalidState` where it is not possible."""
    current = await store.lock(work.tx, env, withdrawal_id)
    if outcome in {"stick", "complete", "fail"} or (outcome == "return" and current.status != "completed"):
        await _ensure_processing(work, current)
    match outcome:
        case "approve" if current.status != "approved":  # every withdrawal of test mode starts approved
            raise InvalidState(current.status)
        case "approve":
            changed = current
        case "reject":
            changed = await review.reject(work, current, REASON)
        case "process":
            await sending.begin(work, env, withdrawal_id)
            accepted = Submission("accepted", f"sandbox-{withdrawal_id}")
            changed = await sending.record_submission(
                work.tx, env, withdrawal_id, accepted, work.now + PAYOUT_TAKES, work.now
            )
        case "stick":
            changed = await sending.record_submission(work.tx, env, withdrawal_id, Submission("unknown"), None, work.now)
        case "fail":
            changed = await sending.fail(work, env, withdrawal_id, "payout_declined")
        case "complete":
            changed = await sending.complete(work, env, withdrawal_id, PayoutState("succeeded"))
        case "return":
            if current.status != "completed":
                await sending.complete(work, env, withdrawal_id, PayoutState("succeeded"))
            changed = await sending.record_return(work, env, withdrawal_id)
    return changed


async def _ensure_processing(work: Work, current: Withdrawal) -> None:
    if current.status != "processing":
        await sending.begin(work, current.env, current.id)
