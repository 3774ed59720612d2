"""How a payout that waits on a network is refused, whatever the network."""

from uuid import UUID

from tollhouse.accounts.approvals import record as approvals_record
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.rails.bank.model import Decided
from tollhouse.rails.chains.model import NetworkTransferKind
from tollhouse.transfers.withdrawals import sending


async def give_back(
    work: Work, env: MerchantEnv, kind: NetworkTransferKind, payout_id: UUID, context: OperatorContext
) -> Decided:
    """End the withdrawal or refund of a payout that has failed, and record who refused it. The money goes back."""
    if kind == "withdrawal":
        await sending.fail(work, env, payout_id, "payout_declined")
    else:
        await refund_actions.fail(work, env, payout_id, "refund_declined")
    action = await approvals_record.record_action(work, context, "payout_refused", env, subject_id=payout_id)
    return Decided(payout_id, "refused", context.operator, context.reason or "", stamp(context.at), action.action_id)
