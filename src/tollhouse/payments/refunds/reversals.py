"""Applies what rails observe, also that confirmed money is gone again (`reversed`), and back (`reinstated`).

Reversed money is taken from what awaits a decision, then from the merchant by a chargeback, also if it was refunded before.
Every change locks the link first, so that reports of one payment follow each other.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.http.services import Services, Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.kernel.rails.provider import Observation
from tollhouse.ledger.books.model import JournalEntry, Posting, ReversalPosting, Source, expense, rail, unapplied
from tollhouse.ledger.books.post import post_platform
from tollhouse.payments.refunds import actions, chargebacks
from tollhouse.payments.refunds import reversals_store as store
from tollhouse.payments.refunds import store as refund_store
from tollhouse.payments.refunds.new_refund import ChargedBack
from tollhouse.payments.refunds.reversals_store import Reversal
from tollhouse.payments.refunds.store import AwaitedResponse
from tollhouse.payments.transactions import notify, settlement, verdict
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.platform.log.events import log

SOURCE = "payment_reversal"
REORGANIZED = "reorganized"
"""The reason of a reversal that is no dispute."""
LOSS = expense("reversed_payment")


async def observe(
    services: Services, rail_name: str, mode: Mode, observation: Observation, now: datetime
) -> Transaction | None:
    """Apply an observation of a rail. Returns the changed payment; None if nothing changed, as for a repeated observation.

    Raises `BalanceLimitExceeded` if the balance cannot take back what was reinstated; it can be reported again.
    """

    async def action(work: Work) -> Transaction | None:
        found = await transaction_store.find_by_reference(work.tx, rail_name, mode, observation.reference)
        if found is None:
            log.error("observation of no payment", part=rail_name, mode=mode)
            return None
        return await apply(work, *found, observation)

    return await services.transact(action, now)


async def apply(work: Work, env: MerchantEnv, transaction_id: UUID, observation: Observation) -> Transaction | None:
    """Apply an observation to the payment that it refers to. Raises `NotFound` and `BalanceLimitExceeded`."""
    current = await transaction_store.lock(work.tx, env, transaction_id)
    if observation.outcome in {"reversed", "reinstated"}:
        return await _apply_reversal(work, current, observation)
    settled = await settlement.settle_locked(work, current, observation)
    if observation.outcome == "confirmed" and settled is not None:
        for expected in await store.list_expected(work.tx, current, observation.external_ref):
            settled, _ = await _reverse(work, current, expected)
    return settled


async def _apply_reversal(work: Work, current: Transaction, observation: Observation) -> Transaction | None:
    """Reverse, reinstate, or update the dispute."""
    dispute = observation.dispute
    is_back = observation.outcome == "reinstated" or (dispute is not None and dispute.closed == "won")
    found = await store.find(work.tx, current, observation.external_ref, store.key_of(observation))
    if found is not None:
        if is_back:
            return None if found.status == "reinstated" else await _reinstate(work, current.env, found, observation)
        return await _update_dispute(work, current.env, found, observation)
    transfer = await store.find_transfer(work.tx, current, observation.external_ref)
    currency = current.currency if transfer is None else transfer.currency
    if observation.currency not in {None, currency}:
        log.error("reversal in another currency", part=current.rail, mode=current.env.mode)
        return None
    new = Reversal(
        id=new_id(),
        transaction_id=current.id if transfer is None else transfer.transaction_id,
        external_ref=observation.external_ref,
        reversal_ref=store.key_of(observation),
        reason=REORGANIZED if dispute is None else dispute.reason,
        reported_minor=observation.amount_minor,
        status="reinstated" if is_back else "expected",
    )
    await store.insert(work.tx, current, new, currency, work.now)
    if is_back:
        return None
    if transfer is None:
        gone = msgspec.structs.replace(observation, outcome="vanished", amount_minor=0)
        return await settlement.settle_locked(work, current, gone)
    changed, applied = await _reverse(work, current, new)
    return await _update_dispute(work, current.env, applied, observation) or changed


async def _reverse(work: Work, beside: Transaction, expected: Reversal) -> tuple[Transaction, Reversal]:
    """Take the money of an expected reversal, whose transfer is confirmed. Returns the payment that had it.

    Refunds that were released continue, and are evidence. Unreleased ones fail.
    """
    transfer = await store.find_transfer(work.tx, beside, expected.external_ref)
    if transfer is None:
        raise AssertionError("the transfer was confirmed")
    current = await transaction_store.lock(work.tx, beside.env, transfer.transaction_id)
    current = await actions.stop(work, current, await actions.list_unreleased(work.tx, current), ChargedBack.code)
    left_minor = min(expected.reported_minor or transfer.amount_minor, transfer.left_minor)
    unapplied_minor = min(left_minor, current.unapplied_refundable_minor)
    charged_back_minor = min(left_minor - unapplied_minor, current.disputable_minor)
    if unapplied_minor:
        current = await _take_unapplied(work, current, unapplied_minor, expected.reason)
    chargeback_id = None
    if charged_back_minor:
        is_dispute = expected.reason != REORGANIZED
        awaited = AwaitedResponse(None, f"{expected.external_ref}@{expected.reversal_ref}")  # a block can have several
        if is_dispute:
            awaited = chargebacks.awaited_response(work, current, expected.reversal_ref)
        current, chargeback = await chargebacks.charge_back(
            work,
            current,
            charged_back_minor,
            expected.reason,
            awaited,
            fee_minor=work.services.catalogue.fees_of(current.method_id).chargeback_minor if is_dispute else 0,
        )
        chargeback_id = chargeback.id
    applied = msgspec.structs.replace(
        expected,
        transaction_id=current.id,
        status="reversed",
        unapplied_minor=unapplied_minor,
        charged_back_minor=charged_back_minor,
        lost_minor=left_minor - unapplied_minor - charged_back_minor,
        chargeback_id=chargeback_id,
    )
    if not await store.apply(work.tx, current.env, applied, work.now):
        raise AssertionError("reversals of a locked payment do not change")
    amounts = ((unapplied(current.rail), applied.unapplied_minor), (LOSS, applied.lost_minor))
    postings = [
        Posting("payment_reversal", current.currency, amount_minor, account, rail(current.rail))
        for account, amount_minor in amounts
        if amount_minor
    ]
    await _post(work, current, applied, "payment_reversal", postings)
    return current, applied


async def _take_unapplied(work: Work, current: Transaction, amount_minor: int, reason: str) -> Transaction:
    """Lower what awaits a decision. A payment of which nothing is left has failed."""
    changed = await transaction_store.change(work.tx, verdict.take_unapplied(current, amount_minor), reason, work.now)
    if changed.status == "failed":
        await notify.payment(work, "payment.failed", changed)
    return changed


async def _reinstate(work: Work, env: MerchantEnv, found: Reversal, observation: Observation) -> Transaction | None:
    """Give the money back to those from whom it was taken."""
    if not await store.reinstate(work.tx, env, found, work.now):
        raise AssertionError("reversals of a locked payment do not change")
    if found.status == "expected":
        return None
    current = await transaction_store.lock(work.tx, env, found.transaction_id)
    if found.chargeback_id is not None:
        current = await chargebacks.reinstate(work, current, found.chargeback_id)
    postings: list[Posting] = []
    if found.lost_minor:
        postings.append(Posting("payment_reinstatement", current.currency, found.lost_minor, rail(current.rail), LOSS))
    if found.unapplied_minor and verdict.is_awaiting_money(current):
        transfer = await store.find_transfer(work.tx, current, found.external_ref)
        seen_at = None if transfer is None else transfer.seen_at
        current = await settlement.receive_again(work, current, found.unapplied_minor, observation, seen_at)
    elif found.unapplied_minor:
        given_back = verdict.give_back_unapplied(current, found.unapplied_minor)
        current = await transaction_store.change(work.tx, given_back, "reinstated", work.now)
        account = unapplied(current.rail)
        postings.append(
            Posting("payment_reinstatement", current.currency, found.unapplied_minor, rail(current.rail), account)
        )
        await notify.payment(work, "payment.refund_required", current)
    await _post(work, current, found, "payment_reinstatement", postings)
    return current


async def _update_dispute(work: Work, env: MerchantEnv, found: Reversal, observation: Observation) -> Transaction | None:
    """Take over the deadline of a dispute, and that it was lost. None if nothing changed."""
    dispute, chargeback_id = observation.dispute, found.chargeback_id
    if dispute is None or chargeback_id is None or found.status != "reversed":
        return None
    if dispute.evidence_due_at is not None:
        await store.set_respond_by(work.tx, chargeback_id, dispute.evidence_due_at)
    chargeback = await refund_store.get_chargeback(work.tx, env, chargeback_id)
    if dispute.closed != "lost" or chargeback is None or chargeback.status != "open":
        return None
    return await chargebacks.decide(work, env, found.transaction_id, won=False, chargeback_id=chargeback_id)


async def _post(
    work: Work, payment: Transaction, reversal: Reversal, kind: ReversalPosting, postings: list[Posting]
) -> None:
    if postings:
        source = Source(SOURCE, reversal.id)
        await post_platform(work, [JournalEntry(payment.env.mode, kind, source, tuple(postings))])
