"""What the house does with what the bank says: payments and withdrawals follow, and operators' history keeps who did it."""

from uuid import UUID

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank.model import BankPorts, Doing, Origin
from tollhouse.console import actions
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments import by_bank as payments_by_bank
from tollhouse.payments import refunds
from tollhouse.platform.db import Tx
from tollhouse.withdrawals import by_bank as withdrawals_by_bank
from tollhouse.withdrawals import sending


async def keep(tx: Tx, context: OperatorContext, doing: Doing, subject_id: UUID, env: MerchantEnv | None) -> UUID:
    """Keep a deed in the history; its id."""
    return (await actions.keep(tx, context, doing, env, subject_id=subject_id)).action_id


BANK_PORTS = BankPorts(
    payments_by_bank.owner,
    payments_by_bank.observe,
    payments_by_bank.take_back,
    {
        "refund": Origin(payments_by_bank.waiting, refunds.succeed, refunds.come_back, payments_by_bank.refuse),
        "withdrawal": Origin(
            withdrawals_by_bank.waiting, withdrawals_by_bank.complete, sending.come_back, withdrawals_by_bank.refuse
        ),
    },
    keep,
)
"""What payments and withdrawals do with what the statements of the bank say of them."""
