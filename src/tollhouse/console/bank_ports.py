"""The effects of bank statements on payments, refunds and withdrawals, and the history of operators' actions."""

from uuid import UUID

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank.model import BankPorts, Doing, Origin
from tollhouse.console import actions
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.refunds import actions as refund_actions
from tollhouse.refunds import bank_port as payments_bank_port
from tollhouse.withdrawals import by_bank as withdrawals_by_bank
from tollhouse.withdrawals import sending


async def keep(work: Work, context: OperatorContext, doing: Doing, subject_id: UUID, env: MerchantEnv | None) -> UUID:
    """Record an action in the history. Returns its id."""
    return (await actions.record_action(work, context, doing, env, subject_id=subject_id)).action_id


BANK_PORTS = BankPorts(
    payments_bank_port.owner,
    payments_bank_port.observe,
    payments_bank_port.reverse_payment,
    {
        "refund": Origin(
            payments_bank_port.waiting, refund_actions.succeed, refund_actions.reverse, payments_bank_port.refuse
        ),
        "withdrawal": Origin(
            withdrawals_by_bank.list_pending,
            withdrawals_by_bank.complete,
            sending.record_return,
            withdrawals_by_bank.decline,
        ),
    },
    keep,
)
"""How payments, refunds and withdrawals react to statements and payouts."""
