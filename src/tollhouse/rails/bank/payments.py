"""What the bank's files do to payments and payouts: money was received or taken back, a payout was rejected (pain.002)."""

from datetime import UTC, date
from uuid import UUID

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.clock import midnight
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text
from tollhouse.payments.refunds import chargebacks
from tollhouse.payments.transactions import settlement
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import imports_store, payouts_store
from tollhouse.rails.bank.accounts import IN_TRANSIT
from tollhouse.rails.bank.files.batch import id_in
from tollhouse.rails.bank.files.statement import INVALID_RECEIVER, Part, Reason, StatusReport
from tollhouse.rails.bank.files.transfer import NAME
from tollhouse.rails.bank.model import StoredPayout, payer_of
from tollhouse.rails.bank.store import Waiting
from tollhouse.rails.batches.actions import decline
from tollhouse.transfers.gate import adjustments
from tollhouse.transfers.orders.errors import InvalidState

TAKEN_BACK = "bank_reversal"


def observe_transfer(
    reference: str, transfer: Part | Waiting, *, identity: bytes, nth: int, currency: str, booked_on: date
) -> Observation:
    """The transfer as one of the payment with this reference.

    It has the same `external_ref` whenever it is imported or assigned, so that it is counted once.
    """
    return Observation(
        reference=reference,
        outcome="confirmed",
        external_ref=f"{identity.hex()}/{nth}",
        amount_minor=transfer.amount_minor,
        currency=currency,
        payer=payer_of(transfer.other_iban, transfer.other_name),
        sent_at=transfer.sent_at,
        arrived_at=midnight(booked_on, UTC),
    )


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


async def charge(work: Work, seen: Observation, context: OperatorContext) -> None:
    """Charge the merchant of a payment for what the bank took back of it. Raises `OperatorRefusedError`."""
    found = await transaction_store.find_by_reference(work.tx, NAME, "live", seen.reference)
    payment = None if found is None else await transaction_store.lock(work.tx, *found)
    if payment is None or payment.currency != seen.currency:
        raise OperatorRefusedError(Text("No payment has the reference %(name)s.", name=seen.reference))
    if payment.unapplied_minor:
        raise OperatorRefusedError("Money of this payment waits for the merchant's decision. Refund it first.")
    if seen.amount_minor > payment.received_minor:
        raise OperatorRefusedError("The transfer is more than was received for this payment.")
    # Nothing below this line may refuse.
    await adjustments.charge(work, payment.env, payment.currency, seen.amount_minor, IN_TRANSIT, context)


async def apply_report(work: Work, report: StatusReport, context: OperatorContext) -> tuple[int, int]:
    """End the payouts that the bank has rejected. Returns their number, and that of rejections that have ended nothing.

    Nothing is ended that a statement shows as sent, that has ended, or that was rejected as a copy of what the bank has.
    Raises `OperatorRefusedError` if the file is not ours, and for a payout of the operator's own merchant.
    """
    batch_id = id_in(report.about)
    payouts = {} if batch_id is None else {payout.id: payout for payout in await payouts_store.lock_batch(work.tx, batch_id)}
    if batch_id is None or not payouts:
        raise OperatorRefusedError(Text("No batch has the ID %(name)s that the status report names.", name=report.about))
    reasons: dict[UUID, Reason] = {}
    for end_to_end_id, reason in report.rejected:
        payout_id = None if end_to_end_id is None else id_in(end_to_end_id)
        if end_to_end_id is not None and payout_id not in payouts:
            raise OperatorRefusedError(
                Text("The batch has no payout %(name)s, which the status report rejects.", name=end_to_end_id)
            )
        for named_id in payouts if payout_id is None else (payout_id,):
            reasons.setdefault(named_id, reason)
    ended = [
        (payout, reasons[payout.id])
        for payout in payouts.values()
        if payout.id in reasons and _may_end(payout, reasons[payout.id])
    ]
    for payout, _ in ended:
        await rules.ensure_independent(work.tx, payout.env.merchant_id, context.reviewer)
    for payout, reason in ended:
        await _end(work, payout, reason, context)
    counts = len(ended), len(reasons) - len(ended)
    await imports_store.insert_report(work.tx, batch_id, report, counts, context)
    return counts


def _may_end(payout: StoredPayout, reason: Reason) -> bool:
    return payout.status == "exported" and not payout.debited and not reason.is_duplicate


async def _end(work: Work, payout: StoredPayout, reason: Reason, context: OperatorContext) -> None:
    await decline(work, payout, is_receiver_invalid=reason.code in INVALID_RECEIVER)
    by_bank = OperatorContext(context.operator, context.at, reason.text, context.on_command_line)
    if not await payouts_store.refuse(work.tx, payout.id, by_bank):
        raise AssertionError("a locked payout does not change")
    await record.record_action(work, by_bank, "payout_refused", payout.env, subject_id=payout.id)
