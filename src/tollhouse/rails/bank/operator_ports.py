"""The effects of bank statements on payments, refunds and withdrawals, and the history of operators' actions."""

from uuid import UUID

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.rails.bank import refunds as payments_bank_port
from tollhouse.rails.bank import withdrawals as withdrawals_by_bank
from tollhouse.rails.bank.books import IN_TRANSIT
from tollhouse.rails.bank.model import BankPorts, BankRefusedError, Doing, Origin
from tollhouse.transfers.gate import adjustments
from tollhouse.transfers.withdrawals import sending


async def keep(work: Work, context: OperatorContext, doing: Doing, subject_id: UUID, env: MerchantEnv | None) -> UUID:
    """Record an action in the history. Returns its id."""
    return (await record.record_action(work, context, doing, env, subject_id=subject_id)).action_id


async def charge(work: Work, seen: Observation, context: OperatorContext) -> None:
    """Charge the merchant of a payment for what the bank took back of it. Raises `BankRefusedError`."""
    payment = await payments_bank_port.lock(work.tx, seen.reference)
    if payment is None or payment.currency != seen.currency:
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=seen.reference))
    if payment.unapplied_minor:
        raise BankRefusedError("Money of this payment waits for the merchant's decision. Refund it first.")
    if seen.amount_minor > payment.received_minor:
        raise BankRefusedError("The transfer is more than was received for this payment.")
    # Nothing below this line may refuse.
    await adjustments.charge(work, payment.env, payment.currency, seen.amount_minor, IN_TRANSIT, context)


BANK_PORTS = BankPorts(
    payments_bank_port.owner,
    payments_bank_port.observe,
    payments_bank_port.reverse_payment,
    charge,
    {
        "refund": Origin(
            payments_bank_port.waiting,
            refund_actions.succeed,
            refund_actions.reverse,
            payments_bank_port.refuse,
            payments_bank_port.refuse_receiver,
        ),
        "withdrawal": Origin(
            withdrawals_by_bank.list_pending,
            withdrawals_by_bank.complete,
            sending.record_return,
            withdrawals_by_bank.decline,
            withdrawals_by_bank.decline_receiver,
        ),
    },
    keep,
)
"""How payments, refunds and withdrawals react to statements and payouts."""
