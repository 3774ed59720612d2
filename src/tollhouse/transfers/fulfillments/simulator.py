"""The simulator of the game server in test mode. Its answers take the same path as those of a game server."""

from typing import Literal
from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.grants import GrantAnswer
from tollhouse.transfers.fulfillments import actions, sandbox_grants, store
from tollhouse.transfers.fulfillments.model import Fulfillment
from tollhouse.transfers.gate import gate


async def play(
    work: Work,
    env: MerchantEnv,
    fulfillment_id: UUID,
    outcome: Literal["complete", "fail", "partial"],
) -> Fulfillment:
    """Simulate the answer for a fulfillment. Raises `NotFound`, `MerchantSuspended`, and `InvalidState` if it has ended."""
    current = await store.get(work.tx, env, fulfillment_id)
    await gate.let_leave(work.tx, env.merchant_id)
    await store.begin(work.tx, env, fulfillment_id, work.now)
    match outcome:
        case "complete":
            response = sandbox_grants.granted(current.order, current.quantity)
        case "partial":
            response = sandbox_grants.granted(current.order, (current.quantity + 1) // 2)
        case "fail":
            response = GrantAnswer(outcome="refused", failure_code="unknown_player")
    return await actions.end(work, env, fulfillment_id, response)
