"""Settlement: turns a rail's observation into payment state, ledger postings and events, in one transaction.

Every change of a payment locks its link first, then ledger accounts, always in this order.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.rails.provider import Observation, PaymentTimes
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, available, income, rail, unapplied
from tollhouse.ledger.books.post import fits_balance_limit, post
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.store import Credited
from tollhouse.payments.receipts.mails import is_available
from tollhouse.payments.receipts.store import request_mail
from tollhouse.payments.transactions import notify, priced, store, transfers_store, verdict
from tollhouse.payments.transactions.model import RECEIVED, SENT_IN_TIME, IncomingTransfer, RefundRequiredReason, Transaction
from tollhouse.payments.transactions.verdict import Timing
from tollhouse.platform.log.events import log
from tollhouse.transfers.conversions.model import Exchange
from tollhouse.transfers.orders.balance_events import Cause
from tollhouse.transfers.orders.errors import InvalidState

SOURCE = "transaction"


async def settle(
    work: Work, env: MerchantEnv, transaction_id: UUID, observation: Observation, *, fees: Fees | None = None
) -> Transaction | None:
    """Apply an observation to this transaction. `fees` default to the method's. Raises `NotFound`."""
    return await settle_locked(work, await store.get_to_change(work.tx, env, transaction_id), observation, fees=fees)


async def settle_locked(
    work: Work, current: Transaction, observation: Observation, *, fees: Fees | None = None
) -> Transaction | None:
    """Apply an observation to a transaction that others do not change. Reversals are for `refunds.reversals`."""
    env = current.env
    if observation.currency is not None and observation.currency not in work.services.catalogue.currencies:
        log.error("observation in an unknown currency", part=current.rail, mode=env.mode)
        return None
    if observation.outcome == "confirmed":
        return await _confirm(work, current, observation, fees or work.services.catalogue.fees_of(current.method_id))
    if not await store.record_observation(work.tx, current, observation, current.id, work.now):
        return None
    if observation.outcome == "failed":
        return await fail(work, current, observation.failure_code or "card_declined") if current.is_open else None
    return await (
        _leave(work, current, observation) if observation.outcome == "vanished" else _follow(work, current, observation)
    )


async def fail(work: Work, current: Transaction, failure_code: str) -> Transaction:
    """Fail an open attempt. If part of the money was received, it becomes `refund_required` instead."""
    failed = await store.change(work.tx, verdict.fail(current, failure_code), failure_code, work.now)
    event_type = "payment.failed" if failed.status == "failed" else "payment.refund_required"
    await notify.payment(work, event_type, failed)
    return failed


async def accept(work: Work, env: MerchantEnv, transaction_id: UUID) -> Transaction:
    """Accept unapplied money. It is converted at the current rate: what waited for a decision has none.

    Raises `NotFound`, `InvalidState`, `BalanceLimitExceeded`, and `PairUnavailable` if there is no rate for it.
    """
    current = await store.lock(work.tx, env, transaction_id)
    if not current.is_acceptable:
        raise InvalidState(current.status_at(work.now))
    # A database constraint enforces the balance limit; its violation rolls everything back.
    accepted = verdict.accept(current)
    fee_minor = max(current.fee_minor, work.services.catalogue.fees_of(current.method_id).of(accepted.credited_minor))
    net_minor = current.unapplied_minor - (fee_minor - current.fee_minor)
    await priced.lock_positions(work, current)
    rate = await priced.current_rate(work, current)
    exchanges = await priced.exchanges_of(work, current, net_minor, rate, at_fixed_rate=False)
    accepted = msgspec.structs.replace(accepted, fee_minor=fee_minor, succeeded_at=current.succeeded_at or work.now)
    accepted = await store.change(work.tx, accepted, "accepted", work.now)
    postings = [Posting("payment", current.currency, current.unapplied_minor, unapplied(current.rail), available(env))]
    if not current.credited_minor:
        in_time = current.link_status_at(work.now) == "active"
        payment = Credited(current.id, priced.counted_minor(current, current.unapplied_minor), in_time=in_time)
        await _count(work, current, payment)
        await notify.payment(work, "payment.succeeded", accepted)
    await _post(work, accepted, [*postings, *_fee(accepted, fee_minor - current.fee_minor)])
    await priced.convert(work, accepted, exchanges)
    about = new_values(amount=work.services.catalogue.priced(current.unapplied_minor, current.currency))
    await record.event(work, env, "payment.accepted", subject=current.id, changed=about)
    return accepted


async def receive_again(
    work: Work, current: Transaction, amount_minor: int, observation: Observation, seen_at: datetime | None
) -> Transaction:
    """Judge reinstated money of a locked payment that awaits money, by the moment at which its transfer was seen first."""
    arrived = msgspec.structs.replace(observation, outcome="confirmed", amount_minor=amount_minor)
    transfer = None
    if seen_at is not None:
        transfer = IncomingTransfer(transfer_ref=observation.transfer, amount_minor=amount_minor, first_seen_at=seen_at)
    timing = verdict.timing_of(current, arrived, transfer, _times(work, current), work.now)
    fees = work.services.catalogue.fees_of(current.method_id)
    return await _receive(work, current, arrived, fees, timing, in_part=False)


async def _confirm(work: Work, current: Transaction, observation: Observation, fees: Fees) -> Transaction | None:
    """Book confirmed money. What the payment cannot count becomes an unmatched payment of its own."""
    fits_minor = MINOR_MAX - current.received_minor
    unmatched = verdict.is_unmatched(current, observation.currency)
    first = (
        observation
        if unmatched or observation.amount_minor <= fits_minor
        else msgspec.structs.replace(observation, amount_minor=fits_minor)
    )
    target_id = new_id() if unmatched else current.id
    timing = await _timing(work, current, observation)
    if not await store.record_observation(work.tx, current, first, target_id, work.now, timing.seen_at):
        return None
    if unmatched:
        return await _take_unmatched(work, current, target_id, observation)
    rest_minor = observation.amount_minor - first.amount_minor
    received = await _receive(work, current, first, fees, timing, in_part=rest_minor > 0)
    if rest_minor:
        rest = msgspec.structs.replace(observation, amount_minor=rest_minor, external_ref=f"{observation.external_ref}/rest")
        rest_id = new_id()
        await store.record_observation(work.tx, current, rest, rest_id, work.now, timing.seen_at)
        await _take_unmatched(work, received, rest_id, rest)
    return received


async def _receive(
    work: Work, current: Transaction, observed: Observation, fees: Fees, timing: Timing, *, in_part: bool
) -> Transaction:
    """Credit the money or book it as unapplied. `in_part`: only a part fits this payment, so nothing is credited."""
    env, currency, arrived_minor = current.env, current.currency, observed.amount_minor
    expected = verdict.is_expected(current, timing, work.now)
    exact = expected and verdict.is_exact(current, arrived_minor)
    by_current_rate = priced.needs_current_rate(current, arrived_minor, expected=expected)
    rate = await priced.current_rate(work, current) if by_current_rate else None
    can_convert = not by_current_rate or priced.can_be_late(current, rate)
    settings = PaymentSettings() if exact else await _settings(work, current, can_convert=can_convert)
    judged = verdict.receive(current, arrived_minor, settings, timing, work.now)
    if judged.status == "pending" and _is_awaiting_others(current, observed):
        judged = msgspec.structs.replace(judged, status="processing")
    fee_minor = fees.of(judged.credited_minor) if judged.credited_minor else 0
    credited_minor = judged.credited_minor
    net_minor = credited_minor - fee_minor
    if credited_minor:
        await priced.lock_positions(work, current)
    exchanges = await priced.exchanges_of(work, current, net_minor, rate, at_fixed_rate=expected)
    over = await _limit_of(work, current, net_minor, exchanges, in_part=in_part) if credited_minor else None
    if over is not None:
        judged, exchanges = verdict.overflow(current, arrived_minor, over), ()
        credited_minor = fee_minor = 0
    unapplied_minor = judged.unapplied_minor - current.unapplied_minor
    detail = judged.refund_required_reason or (
        None if exact else f"{work.services.catalogue.currencies[currency].format(arrived_minor)}{RECEIVED}"
    )
    if judged.status == "succeeded" and timing.before_deadline:
        detail = SENT_IN_TIME
    received = await store.change(work.tx, msgspec.structs.replace(judged, fee_minor=fee_minor), detail, work.now)
    postings: list[Posting] = []
    if unapplied_minor < 0:  # earlier unapplied money is credited together with this payment
        postings.append(Posting("payment", currency, arrived_minor, rail(current.rail), unapplied(current.rail)))
        postings.append(Posting("payment", currency, credited_minor, unapplied(current.rail), available(env)))
    else:
        if credited_minor:
            postings.append(Posting("payment", currency, credited_minor, rail(current.rail), available(env)))
        if unapplied_minor:
            postings.append(Posting("payment", currency, unapplied_minor, rail(current.rail), unapplied(current.rail)))
    if received.status == "succeeded":
        payment = Credited(current.id, priced.counted_minor(current, credited_minor), in_time=expected)
        await _count(work, current, payment)
        await notify.payment(work, "payment.succeeded", received)
    if received.status == "refund_required" or (received.status == "succeeded" and received.unapplied_minor > 0):
        await notify.payment(work, "payment.refund_required", received)
    await _post(work, received, [*postings, *_fee(received, fee_minor)])
    await priced.convert(work, received, exchanges)
    return received


async def _take_unmatched(work: Work, beside: Transaction, unmatched_id: UUID, observation: Observation) -> Transaction:
    """Book money that matches no open payment as an unmatched payment of its own."""
    reason = verdict.unmatched_reason(beside, observation.currency, work.now)
    await store.insert_unmatched(work.tx, beside, unmatched_id, observation, reason, work.now)
    unmatched = await store.get(work.tx, beside.env, unmatched_id)
    await notify.payment(work, "payment.refund_required", unmatched)
    posting = Posting(
        "payment", unmatched.currency, unmatched.received_minor, rail(unmatched.rail), unapplied(unmatched.rail)
    )
    await _post(work, unmatched, [posting])
    return unmatched


async def _follow(work: Work, current: Transaction, observation: Observation) -> Transaction | None:
    """Record that money is on its way. No money moves and no event is recorded. What is late changes nothing yet."""
    known = await _find_known(work, current, observation)
    timing = verdict.timing_of(current, observation, known, _times(work, current), work.now)
    block_at = None if known is None or not observation.confirmations else known.block_at
    block_at = block_at if observation.arrived_at is None else observation.arrived_at + current.clock_offset
    seen = IncomingTransfer(
        transfer_ref=observation.transfer,
        amount_minor=observation.amount_minor,
        first_seen_at=timing.seen_at,
        block_at=block_at,
    )
    await transfers_store.see(work.tx, current, seen, observation.currency or current.currency, work.now)
    is_ours = observation.currency in {None, current.currency}
    if not is_ours or not verdict.is_on_its_way(current, timing, work.now):
        return None
    progress = {"confirmations": observation.confirmations, "required_confirmations": observation.required_confirmations}
    return await store.change(work.tx, msgspec.structs.replace(current, status="processing", **progress), None, work.now)


async def _leave(work: Work, current: Transaction, observation: Observation) -> Transaction | None:
    """Record that money is no longer on its way. The payment waits for other transfers that were seen in time, if any."""
    await transfers_store.end(work.tx, current, observation, work.now)
    if current.status != "processing" or _is_awaiting_others(current, observation):
        return None
    gone = msgspec.structs.replace(current, status="pending", confirmations=None, required_confirmations=None)
    return await store.change(work.tx, gone, "vanished", work.now)


async def _timing(work: Work, current: Transaction, observation: Observation) -> Timing:
    """When a confirmed transfer counts as seen."""
    known = await _find_known(work, current, observation)
    if known is not None:
        await transfers_store.end(work.tx, current, observation, work.now)
    return verdict.timing_of(current, observation, known, _times(work, current), work.now)


async def _find_known(work: Work, current: Transaction, observation: Observation) -> IncomingTransfer | None:
    """The transfer, if it was seen before. Those on their way were read with an open payment, others are looked up."""
    for transfer in current.incoming or ():
        if transfer.transfer_ref == observation.transfer:
            return transfer
    if not _times(work, current).can_return:
        return None
    return await transfers_store.get(work.tx, current, observation.transfer)


def _is_awaiting_others(current: Transaction, observation: Observation) -> bool:
    """Whether a payment that waits has other transfers on their way that were seen in time."""
    others = (transfer for transfer in current.incoming or () if transfer.transfer_ref != observation.transfer)
    return current.status == "processing" and any(current.is_in_time(transfer) for transfer in others)


def _times(work: Work, current: Transaction) -> PaymentTimes:
    return work.services.rails.times(current.rail, current.env.mode)


async def _count(work: Work, current: Transaction, payment: Credited) -> None:
    """Count the payment of its link, and have the receipt sent if the link has the customer's address and emails arrive."""
    await link_store.record_payment(work.tx, current.env, current.payment_link_id, payment, work.now)
    if current.link_has_email and is_available(work.services):
        await request_mail(work.tx, current.env, current.id, work.now)


async def _post(work: Work, transaction: Transaction, postings: list[Posting]) -> None:
    """Post the change to the ledger and record the balance event."""
    source = Source(SOURCE, transaction.id, transaction.version)
    posted = await post(work, JournalEntry(transaction.env.mode, "payment", source, tuple(postings)))
    cause = Cause(SOURCE, transaction.id, transaction.status, transaction.version)
    await notify.moved(work, transaction, posted, cause)


async def _settings(work: Work, current: Transaction, *, can_convert: bool) -> PaymentSettings:
    """The payment settings. Without a rate for it, money that is late or too much awaits a decision."""
    settings = await payment_settings.of(work.tx, current.env)
    if can_convert:
        return settings
    return msgspec.structs.replace(settings, late_payments="refund_required", overpayment="refund_required")


async def _limit_of(
    work: Work, current: Transaction, amount_minor: int, exchanges: Sequence[Exchange], *, in_part: bool
) -> RefundRequiredReason | None:
    """The limit that a credit and its conversion exceed. Constraints enforce those of balances too."""
    if in_part:
        return "balance_limit"
    if not await priced.fits_positions(work, current, exchanges):
        return "position_limit"
    credited = [
        (current.currency, amount_minor),
        *([(exchanges[0].to_currency, sum(exchange.to_amount_minor for exchange in exchanges))] if exchanges else []),
    ]
    fits = [await fits_balance_limit(work.tx, current.env, code, minor) for code, minor in credited]
    return None if all(fits) else "balance_limit"


def _fee(transaction: Transaction, fee_minor: int) -> list[Posting]:
    if fee_minor <= 0:
        return []
    return [Posting("payment_fee", transaction.currency, fee_minor, available(transaction.env), income("payment_fee"))]
