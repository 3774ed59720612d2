"""Settling: what a rail saw becomes the state of a payment, money on the balance, and events; all in one transaction.

Everything that changes a payment locks its link first, then the accounts: always in this order.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.audit import record
from tollhouse.audit.changes import made
from tollhouse.catalogue import payment_settings
from tollhouse.catalogue.currencies import CURRENCIES, priced
from tollhouse.catalogue.methods import Fees, fees_of
from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.events.balances import Cause
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.refusals import NotFound
from tollhouse.ledger.model import Line, Posting, Source, available, income, rail, unapplied
from tollhouse.ledger.post import has_room, post
from tollhouse.payments import store, tell, transactions_store, verdict
from tollhouse.payments.model import Transaction
from tollhouse.payments.refusals import NotNow
from tollhouse.platform.db import Tx
from tollhouse.platform.log import log
from tollhouse.rails.provider import Observation
from tollhouse.web.house import House

SOURCE = "transaction"


async def observe(house: House, rail_name: str, mode: Mode, seen: Observation, now: datetime) -> Transaction | None:
    """Let a rail's observation take effect; the payment it changed. None: nothing did, such as for a repeated one."""

    async def deed(tx: Tx) -> Transaction | None:
        found = await transactions_store.by_reference(tx, rail_name, mode, seen.reference)
        if found is None:
            log.error("observation of no payment", part=rail_name, mode=mode)
            return None
        return await settle(tx, *found, seen, house, now)

    return await house.db.transact(deed)


async def settle(
    tx: Tx,
    env: MerchantEnv,
    transaction_id: UUID,
    seen: Observation,
    house: House,
    now: datetime,
    *,
    fees: Fees | None = None,
) -> Transaction | None:
    """The same for the attempt of this id. `fees` are the method's own unless said."""
    present = await hold_still(tx, env, transaction_id)
    if seen.currency is not None and seen.currency not in CURRENCIES:
        log.error("observation in an unknown currency", part=present.rail, mode=env.mode)
        return None
    if seen.outcome == "confirmed":
        return await _confirm(tx, present, seen, fees or fees_of(present.method_id), house, now)
    if not await transactions_store.note_observation(tx, present, seen, present.id, now):
        return None
    if seen.outcome == "failed":
        return await fail(tx, present, seen.failure_code or "card_declined", house, now) if present.is_open else None
    return await _follow(tx, present, seen, now)


async def hold_still(tx: Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction:
    """The payment, which nobody else changes until this transaction ends. Raises `NotFound`."""
    found = await transactions_store.hold_still(tx, env, transaction_id)
    if found is None:
        raise NotFound
    return found


async def fail(tx: Tx, present: Transaction, failure_code: str, house: House, now: datetime) -> Transaction:
    """Let an open attempt fail, and say so; part of the money, where it is there, then waits for the merchant."""
    failed = await change(tx, verdict.fail(present, failure_code), failure_code, now)
    event_type = "payment.failed" if failed.status == "failed" else "payment.refund_required"
    await tell.payment(tx, event_type, failed, house, now)
    return failed


async def accept(tx: Tx, env: MerchantEnv, transaction_id: UUID, house: House, now: datetime) -> Transaction:
    """Take money that waits for a decision. Raises `NotFound`, `NotNow` and `BalanceLimitExceeded`."""
    present = await hold_still(tx, env, transaction_id)
    if not present.acceptable:
        raise NotNow(present.status_at(now))
    # The database judges the room on the balance once more below, and its verdict refuses everything.
    taken = verdict.accept(present)
    fee_minor = max(present.fee_minor, fees_of(present.method_id).of(taken.credited_minor))
    taken = msgspec.structs.replace(taken, fee_minor=fee_minor, succeeded_at=present.succeeded_at or now)
    accepted = await change(tx, taken, "accepted", now)
    lines = [Line("payment", present.currency, present.unapplied_minor, unapplied(present.rail), available(env))]
    if present.status == "refund_required":
        await store.count_payment(tx, env, present.payment_link_id, present.id, present.unapplied_minor, now)
        await tell.payment(tx, "payment.succeeded", accepted, house, now)
    await _post(tx, accepted, [*lines, *_fee(accepted, fee_minor - present.fee_minor)], house, now)
    about = made(amount=priced(present.unapplied_minor, present.currency))
    await record.note(tx, env, "payment.accepted", now, subject=present.id, changed=about)
    return accepted


async def change(tx: Tx, new: Transaction, detail: str | None, now: datetime) -> Transaction:
    """Write a payment that is held still, as judged; as it is then."""
    moved = await transactions_store.move(tx, new, detail, now)
    if moved is None:
        raise AssertionError("nobody else changes a payment whose link is locked")
    return moved


async def _confirm(
    tx: Tx, present: Transaction, seen: Observation, fees: Fees, house: House, now: datetime
) -> Transaction | None:
    """Money is there for good. What one payment cannot count is kept apart, and the rest of it as a payment of its own."""
    fits_minor = MINOR_MAX - present.received_minor
    stray = verdict.is_stray(present, seen.currency)
    first = seen if stray or seen.amount_minor <= fits_minor else msgspec.structs.replace(seen, amount_minor=fits_minor)
    target_id = new_id() if stray else present.id
    if not await transactions_store.note_observation(tx, present, first, target_id, now):
        return None
    if stray:
        return await _take_stray(tx, present, target_id, seen, house, now)
    rest_minor = seen.amount_minor - first.amount_minor
    received = await _receive(tx, present, first.amount_minor, fees, house, now, in_part=rest_minor > 0)
    if rest_minor:
        rest = msgspec.structs.replace(seen, amount_minor=rest_minor, external_ref=f"{seen.external_ref}/rest")
        rest_id = new_id()
        await transactions_store.note_observation(tx, present, rest, rest_id, now)
        await _take_stray(tx, received, rest_id, rest, house, now)
    return received


async def _receive(
    tx: Tx, present: Transaction, arrived_minor: int, fees: Fees, house: House, now: datetime, *, in_part: bool
) -> Transaction:
    """Apply money or keep it apart. `in_part`: more came with it than a payment can count, and nothing of it is applied."""
    env, currency = present.env, present.currency
    exact = verdict.fits(present, arrived_minor, now)
    settings = PaymentSettings() if exact else await payment_settings.of(tx, env)
    judged = verdict.receive(present, arrived_minor, settings, now)
    fee_minor = fees.of(judged.credited_minor) if judged.credited_minor else 0
    credited_minor = judged.credited_minor
    if credited_minor and (in_part or not await has_room(tx, env, currency, credited_minor - fee_minor)):
        judged = verdict.overflow(present, arrived_minor)
        credited_minor = fee_minor = 0
    apart_minor = judged.unapplied_minor - present.unapplied_minor
    detail = judged.refund_required_reason or (None if exact else f"{CURRENCIES[currency].format(arrived_minor)} received")
    received = await change(tx, msgspec.structs.replace(judged, fee_minor=fee_minor), detail, now)
    lines: list[Line] = []
    if apart_minor < 0:  # what was kept apart before is applied now, together with what has just come
        lines.append(Line("payment", currency, arrived_minor, rail(present.rail), unapplied(present.rail)))
        lines.append(Line("payment", currency, credited_minor, unapplied(present.rail), available(env)))
    else:
        if credited_minor:
            lines.append(Line("payment", currency, credited_minor, rail(present.rail), available(env)))
        if apart_minor:
            lines.append(Line("payment", currency, apart_minor, rail(present.rail), unapplied(present.rail)))
    if received.status == "succeeded":
        await store.count_payment(tx, env, present.payment_link_id, present.id, credited_minor, now)
        await tell.payment(tx, "payment.succeeded", received, house, now)
    if received.status == "refund_required" or (received.status == "succeeded" and received.unapplied_minor > 0):
        await tell.payment(tx, "payment.refund_required", received, house, now)
    await _post(tx, received, [*lines, *_fee(received, fee_minor)], house, now)
    return received


async def _take_stray(
    tx: Tx, beside: Transaction, stray_id: UUID, seen: Observation, house: House, now: datetime
) -> Transaction:
    """Keep money apart that came where nothing was to be paid, as a payment of its own."""
    reason = verdict.stray_reason(beside, seen.currency, now)
    await transactions_store.begin_stray(tx, beside, stray_id, seen, reason, now)
    stray = await transactions_store.one(tx, beside.env, stray_id)
    if stray is None:
        raise AssertionError("it was begun just now")
    await tell.payment(tx, "payment.refund_required", stray, house, now)
    line = Line("payment", stray.currency, stray.received_minor, rail(stray.rail), unapplied(stray.rail))
    await _post(tx, stray, [line], house, now)
    return stray


async def _follow(tx: Tx, present: Transaction, seen: Observation, now: datetime) -> Transaction | None:
    """Money on its way, or not any more: no money moves and nobody is told."""
    facts = {"confirmations": seen.confirmations, "required_confirmations": seen.required_confirmations}
    if seen.outcome == "vanished":
        gone = msgspec.structs.replace(present, status="pending", confirmations=None, required_confirmations=None)
        return await change(tx, gone, "vanished", now) if present.status == "processing" else None
    in_time = present.status == "processing" or (present.status == "pending" and present.link_standing(now) == "active")
    if not in_time:
        return None
    return await change(tx, msgspec.structs.replace(present, status="processing", **facts), None, now)


async def _post(tx: Tx, transaction: Transaction, lines: list[Line], house: House, now: datetime) -> None:
    """Post a transition, and tell what it did to the balance."""
    source = Source(SOURCE, transaction.id, transaction.version)
    posted = await post(tx, Posting(transaction.env.mode, "payment", source, tuple(lines), now))
    cause = Cause(SOURCE, transaction.id, transaction.status, transaction.version)
    await tell.moved(tx, transaction, posted, cause, house, now)


def _fee(transaction: Transaction, fee_minor: int) -> list[Line]:
    if fee_minor <= 0:
        return []
    return [Line("payment_fee", transaction.currency, fee_minor, available(transaction.env), income("payment_fee"))]
