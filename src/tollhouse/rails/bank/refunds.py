"""Applies bank statements to payments: received money, reversals and refunds paid out."""

from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.refunds import actions, chargebacks
from tollhouse.payments.transactions import settlement
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Refund, Transaction
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import refunds_store as bank_port_store
from tollhouse.rails.bank.files.transfer import NAME, Payout
from tollhouse.transfers.orders.errors import InvalidState

TAKEN_BACK = "bank_reversal"


async def owner(tx: Tx, reference: str) -> MerchantId | None:
    """The merchant whose payment has this reference; None if there is none."""
    found = await transaction_store.find_by_reference(tx, NAME, "live", reference)
    return None if found is None else found[0].merchant_id


async def observe(work: Work, observation: Observation) -> bool:
    """Apply money received by bank. False if no payment has the reference."""
    found = await transaction_store.find_by_reference(work.tx, NAME, "live", observation.reference)
    if found is None:
        return False
    await settlement.settle(work, *found, observation)
    return True


async def reverse_payment(work: Work, observation: Observation) -> bool:
    """Book a payment that the bank reversed for good, like a lost chargeback.

    False if no payment has the reference or not so much can be charged back of it. Nothing changes then.
    """
    found = await transaction_store.find_by_reference(work.tx, NAME, "live", observation.reference)
    if found is None:
        return False
    current = await transaction_store.lock(work.tx, *found)
    if current.currency != observation.currency:
        return False
    if await chargebacks.get_disputable(work.tx, current) < observation.amount_minor:
        return False
    try:
        await chargebacks.open_chargeback(work, *found, amount_minor=observation.amount_minor, reason=TAKEN_BACK)
    except (NotFound, InvalidState):  # nothing was written
        return False
    await chargebacks.decide(work, *found, won=False)
    return True


async def lock(tx: Tx, reference: str) -> Transaction | None:
    """The payment with this reference, locked; None if there is none."""
    found = await transaction_store.find_by_reference(tx, NAME, "live", reference)
    return None if found is None else await transaction_store.lock(tx, *found)


async def refuse(work: Work, env: MerchantEnv, refund_id: UUID) -> Refund:
    """Fail a refund that the bank does not pay out. Raises `NotFound` and `InvalidState`."""
    return await actions.fail(work, env, refund_id, "refund_declined")


async def refuse_receiver(work: Work, env: MerchantEnv, refund_id: UUID) -> Refund:
    """The same, because the bank cannot pay to the receiver's account."""
    return await actions.fail(work, env, refund_id, "receiver_invalid")


async def waiting(tx: Tx) -> list[Payout]:
    """Pending refunds that the bank rail has accepted."""
    return await bank_port_store.list_accepted(tx)
