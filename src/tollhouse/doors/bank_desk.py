"""What the house does with what the bank says: payments and withdrawals follow, and operators' history keeps who did it."""

from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.operator import actions
from tollhouse.operator.model import Hand
from tollhouse.payments import by_bank as payments_by_bank
from tollhouse.payments import refunds
from tollhouse.platform.db import Tx
from tollhouse.statements.model import Clerk, Desk, Doing, Origin
from tollhouse.withdrawals import by_bank as withdrawals_by_bank
from tollhouse.withdrawals import sending


async def keep(tx: Tx, clerk: Clerk, doing: Doing, subject_id: UUID, env: MerchantEnv | None) -> UUID:
    """Keep a deed in the history; its id."""
    hand = Hand(clerk.name, clerk.at, clerk.reason or None, clerk.on_command_line)
    return (await actions.keep(tx, hand, doing, env, subject_id=subject_id)).action_id


BANK_DESK = Desk(
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
