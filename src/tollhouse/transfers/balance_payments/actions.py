"""Actions of applications, and of their owners, on balance payments.

A reservation outlives the connection that it was made with, so only `pay` checks the connection. It counts as expired from
its time on, whether or not the job has run.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

import msgspec

from tollhouse.accounts.identity.model import ApplicationSuspended, Caller, ConfidentialClientRequired
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock, limits, scopes
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.scopes import Scopes
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import JournalEntry, LedgerTransaction, Posting, Source, available
from tollhouse.ledger.books.post import post
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.balance_payments import store
from tollhouse.transfers.balance_payments.model import (
    CAPTURED,
    BalancePayment,
    CaptureTooLarge,
    NewBalancePayment,
    PartialAmount,
    PayeeApplication,
    PayerSuspended,
    RevokedApplicationCapture,
    SelfPayment,
    minor_of_part,
    parse,
)
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.gate.model import MerchantSuspended
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import CurrencyNotSupported, DuplicateExternalId, InvalidState, RefundTooLarge
from tollhouse.transfers.orders.quotes import ensure_funds
from tollhouse.transfers.orders.store import clock_offset

SOURCE = "balance_payment"
PAY_SCOPE = scopes.parse(["balance-payments:write"]) or Scopes(0)
BATCH_SIZE = 50


async def pay(work: Work, caller: Caller, new: NewBalancePayment) -> BalancePayment:
    """Pay the owner of an application, or reserve the amount.

    Raises `ValidationFailed`, `NotFound`, `DuplicateExternalId`, `CurrencyNotSupported`, `SelfPayment`,
    `ApplicationSuspended`, `ConnectionLimitExceeded` and `InsufficientFunds`.
    """
    currency, amount_minor = parse(new, caller, work.services.catalogue)
    application = await payee_application(work.tx, caller, new, work.now)
    await _ensure_external_id_unused(work.tx, caller, new)
    if currency is None or not currency.balance_payment_supported:
        raise CurrencyNotSupported
    if application.owner_id == caller.env.merchant_id:
        raise SelfPayment
    payment = _new_payment(caller, application, currency.code, amount_minor, new, work.now)
    await _ensure_payable(work, payment, leaves=new.capture)
    await spending.spend(work, "balance_payments", payment.id, payment.currency, payment.amount_minor)
    await gate.let_leave(work.tx, caller.env.merchant_id)
    await ensure_funds(work.tx, payment.env, payment.currency, payment.amount_minor)
    # The database checks the balance and external id again below; any error rolls everything back.
    if new.capture:
        posting = Posting(
            "balance_payment_out", payment.currency, payment.amount_minor, available(payment.env), available(payment.owner)
        )
        posted = await post(work, JournalEntry(payment.env.mode, posting.type, Source(SOURCE, payment.id), (posting,)))
    else:
        source = Source(SOURCE, payment.id)
        hold, posted = await holds.reserve(work, payment.env, source, payment.currency, payment.amount_minor)
        expires_at = (
            work.now + await clock_offset(work.tx, payment.env) + timedelta(seconds=new.expires_in or limits.RESERVATION_S)
        )
        payment = msgspec.structs.replace(payment, hold_id=hold.id, expires_at=expires_at)
    if not await store.insert(work.tx, payment):
        await _ensure_external_id_unused(work.tx, caller, new)
        raise AssertionError("payments are never deleted")
    await _notify(work, payment, posted)
    return payment


async def capture(work: Work, caller: Caller, payment_id: UUID, part: PartialAmount) -> BalancePayment:
    """Capture a reservation or a part of it; the rest is released. Public clients capture all of it.

    Raises `NotFound`, `ValidationFailed`, `MerchantSuspended`, `ApplicationSuspended`, `InvalidState`, `CaptureTooLarge`,
    `ConfidentialClientRequired`, and `ConnectionLimitExceeded` where the limits have expired.
    """
    payment = await store.lock(work.tx, caller.env, caller.client_id, payment_id)
    amount_minor = minor_of_part(part, payment.currency, work.services.catalogue) or payment.amount_minor
    await spending.ensure_unexpired(work, payment.env, "balance_payments", payment.currency)
    return await _capture(work, payment, amount_minor, whole=caller.client_is_public)


async def release(work: Work, caller: Caller, payment_id: UUID) -> BalancePayment:
    """Release a reservation. Raises `NotFound` and `InvalidState`."""
    payment = await store.lock(work.tx, caller.env, caller.client_id, payment_id)
    return await _release(work, payment)


async def refund(work: Work, caller: Caller, payment_id: UUID, part: PartialAmount) -> BalancePayment:
    """Refund a captured payment or a part of it from the owner's balance.

    Raises `NotFound`, `ValidationFailed`, `InvalidState`, `RefundTooLarge`, and `InsufficientFunds` without details, because
    the balance is the owner's.
    """
    payment = await store.lock(work.tx, caller.env, caller.client_id, payment_id)
    return await _refund(work, payment, part)


async def capture_as_owner(
    work: Work, owner: MerchantId, client_id: str, payment_id: UUID, part: PartialAmount
) -> BalancePayment:
    """Capture a reservation as the application's owner.

    Raises as `capture`, `RevokedApplicationCapture`, and `PayerSuspended` where the payer is suspended.
    """
    application = await store.lock_application(work.tx, owner, client_id)
    payment = await store.lock_received(work.tx, application, payment_id)
    amount_minor = minor_of_part(part, payment.currency, work.services.catalogue) or payment.amount_minor
    if application.status == "revoked":
        raise RevokedApplicationCapture
    try:
        return await _capture(work, payment, amount_minor)
    except MerchantSuspended:
        raise PayerSuspended from None


async def release_as_owner(work: Work, owner: MerchantId, client_id: str, payment_id: UUID) -> BalancePayment:
    """Release a reservation as the application's owner, revoked or not. Raises `NotFound` and `InvalidState`."""
    payment = await store.lock_received(work.tx, await store.lock_application(work.tx, owner, client_id), payment_id)
    return await _release(work, payment)


async def refund_as_owner(work: Work, owner: MerchantId, client_id: str, payment_id: UUID) -> BalancePayment:
    """Refund the remaining captured amount as the application's owner, even of a revoked application.

    Always all of it: dashboard requests have no idempotency key, and a repeated full refund fails. Raises `NotFound`,
    `InvalidState` and `InsufficientFunds`.
    """
    payment = await store.lock_received(work.tx, await store.lock_application(work.tx, owner, client_id), payment_id)
    return await _refund(work, payment, PartialAmount())


async def expire(work: Work, env: MerchantEnv, payment_id: UUID) -> bool:
    """Release an expired reservation; False where it is no longer reserved, or has not expired."""
    payment = await store.lock(work.tx, env, None, payment_id)
    if payment.status != "reserved" or payment.status_at(work.now) != "expired":
        return False
    await _release_hold(work, payment, "expired")
    return True


async def payee_application(tx: Tx, caller: Caller, new: NewBalancePayment, now: datetime) -> PayeeApplication:
    """The application whose owner is paid: the token's, or with an API key a connected one. Raises `NotFound`."""
    if caller.client_id is not None:
        return await store.get_payee(tx, caller.client_id)
    return await store.get_connected(tx, caller.env, new.oauth_client_id or "", PAY_SCOPE.mask, now)


async def _ensure_external_id_unused(tx: Tx, caller: Caller, new: NewBalancePayment) -> None:
    """Raises `DuplicateExternalId`, without the id of another application's payment."""
    found = None if new.external_id is None else await store.by_external_id(tx, caller.env, new.external_id)
    if found is not None:
        existing_id, client_id = found
        raise DuplicateExternalId(existing_id if caller.client_id in {None, client_id} else None)


def _new_payment(
    caller: Caller, application: PayeeApplication, code: str, amount_minor: int, new: NewBalancePayment, now: datetime
) -> BalancePayment:
    return BalancePayment(
        id=new_id(),
        env=caller.env,
        client_id=application.client_id,
        owner_id=application.owner_id,
        currency=code,
        amount_minor=amount_minor,
        captured_minor=amount_minor if new.capture else 0,
        hold_id=None,
        status="captured" if new.capture else "reserved",
        description=new.description,
        external_id=new.external_id,
        metadata=new.metadata or {},
        credential_id=caller.credential_id,
        created_at=now,
        updated_at=now,
        expires_at=None,
        resolved_at=now if new.capture else None,
    )


async def _ensure_payable(work: Work, payment: BalancePayment, *, leaves: bool) -> None:
    """Raises `ApplicationSuspended` where application or owner is; if the money `leaves`, as `gate.release`."""
    found = await store.find_obstacles(work.tx, payment, work.now)
    if found["is_suspended"]:
        raise ApplicationSuspended
    if leaves and found["waits"]:
        raise gate.waiting(found["waits_until"])


async def _capture(work: Work, payment: BalancePayment, amount_minor: int, *, whole: bool = False) -> BalancePayment:
    """Capture an amount of a locked payment. `whole`: only all of it is allowed."""
    await gate.let_leave(work.tx, payment.env.merchant_id)
    await _ensure_payable(work, payment, leaves=True)
    hold_id = _hold_of(payment, work.now)
    if amount_minor > payment.amount_minor:
        raise CaptureTooLarge({"reserved_minor": payment.amount_minor, "currency": payment.currency})
    if whole and amount_minor != payment.amount_minor:
        raise ConfidentialClientRequired
    # Nothing below this line may refuse.
    changed = payment.captured(amount_minor, work.now)
    await store.update(work.tx, changed)
    captured = HoldCapture("balance_payment_out", amount_minor, available(payment.owner))
    _, posted = await holds.capture_and_release(work, payment.env, hold_id, (captured,))
    await _notify(work, changed, posted)
    return changed


async def _refund(work: Work, payment: BalancePayment, part: PartialAmount) -> BalancePayment:
    """Refund an amount of a locked payment, or all that remains."""
    requested_minor = minor_of_part(part, payment.currency, work.services.catalogue)
    if payment.status not in CAPTURED:
        raise InvalidState(payment.status_at(work.now))
    remaining_minor = payment.refundable_minor
    amount_minor = requested_minor or remaining_minor
    if amount_minor > remaining_minor:
        raise RefundTooLarge({"remaining_minor": remaining_minor, "currency": payment.currency})
    await gate.let_leave(work.tx, payment.owner_id)
    # The database checks the owner's balance below; an error rolls everything back.
    changed = payment.refunded(amount_minor, work.now)
    await store.update(work.tx, changed)
    source = Source(SOURCE, payment.id, changed.refunds)
    posting = Posting(
        "balance_payment_refund", payment.currency, amount_minor, available(payment.owner), available(payment.env)
    )
    posted = await post(work, JournalEntry(payment.env.mode, posting.type, source, (posting,)))
    await _notify(work, changed, posted)
    return changed


async def _release(work: Work, payment: BalancePayment) -> BalancePayment:
    _hold_of(payment, work.now)
    # Nothing below this line may refuse.
    return await _release_hold(work, payment, "released")


def _hold_of(payment: BalancePayment, now: datetime) -> UUID:
    """The hold of a current reservation. Raises `InvalidState`."""
    status = payment.status_at(now)
    if status != "reserved" or payment.hold_id is None:
        raise InvalidState(status)
    return payment.hold_id


async def _release_hold(work: Work, payment: BalancePayment, status: Literal["released", "expired"]) -> BalancePayment:
    changed = payment.released(status, work.now)
    await store.update(work.tx, changed)
    if payment.hold_id is None:
        raise AssertionError("a reservation has its hold")
    _, posted = await holds.release(work, payment.env, payment.hold_id)
    await _notify(work, changed, posted)
    return changed


async def _notify(work: Work, payment: BalancePayment, posted: LedgerTransaction) -> None:
    """Record the event of the changed balance for each of the two merchants."""
    cause = Cause(SOURCE, payment.id, payment.status, payment.version)
    for env in (payment.env, payment.owner):
        part = posted.for_merchant(env)
        if part.entries:
            await notify_balance(work, env, payment.currency, part, cause, None)


async def expire_reservations(services: Services) -> None:
    """Release the reservations that have expired."""
    now = clock.now()
    for env, payment_id in await store.list_due(services.db, now, BATCH_SIZE):
        await services.transact(partial(expire, env=env, payment_id=payment_id), now)
