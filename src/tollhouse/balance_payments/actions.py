"""What an application does with a merchant's money, and what its owner does where the application cannot any more.

Each action is one transaction's worth. No connection is asked about: a reservation outlives the one it was made by.
"""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec

from tollhouse.balance_payments import store
from tollhouse.balance_payments.errors import ApplicationRevoked, CaptureTooLarge, SelfPayment
from tollhouse.balance_payments.model import CAPTURED, Application, BalancePayment
from tollhouse.balance_payments.new_payment import NewBalancePayment, PartialAmount, check, part_of
from tollhouse.events.balances import Cause, notify_balance
from tollhouse.http.services import Services
from tollhouse.identity.model import ApplicationSuspended, Caller, ConfidentialClientRequired
from tollhouse.kernel import limits, scopes
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.kernel.scopes import Scopes
from tollhouse.ledger import holds
from tollhouse.ledger.holds import HoldCapture
from tollhouse.ledger.model import JournalEntry, PostedTransaction, Posting, Source, available
from tollhouse.ledger.post import post
from tollhouse.orders.errors import CurrencyNotSupported, DuplicateExternalId, InvalidState, RefundTooLarge
from tollhouse.orders.funds import ensure_funds
from tollhouse.platform.db import Tx

SOURCE = "balance_payment"
MAY_PAY = scopes.parse(["balance-payments:write"]) or Scopes(0)


async def pay(tx: Tx, caller: Caller, new: NewBalancePayment, services: Services, now: datetime) -> BalancePayment:
    """Pay the owner of an application, or set the money aside for it.

    Raises `ValidationFailed`, `NotFound`, `DuplicateExternalId`, `CurrencyNotSupported`, `SelfPayment`,
    `ApplicationSuspended` and `InsufficientFunds`.
    """
    priced = check(new, caller)
    application = await _application(tx, caller, new, now)
    await _refuse_duplicate(tx, caller, new)
    if priced.currency is None or not priced.currency.balance_payment_supported:
        raise CurrencyNotSupported
    if application.owner_id == caller.env.merchant_id:
        raise SelfPayment
    await _refuse_suspended(tx, application.client_id)
    payment = _fresh(caller.env, application, priced.currency.code, priced.amount_minor, new, now)
    await ensure_funds(tx, payment.env, payment.currency, payment.amount_minor)
    # The database judges balance and external_id once more below, and its verdict refuses everything.
    if new.capture:
        posting = Posting(
            "balance_payment_out",
            payment.currency,
            payment.amount_minor,
            available(payment.env),
            available(payment.owner),
        )
        posted = await post(tx, JournalEntry(payment.env.mode, posting.type, Source(SOURCE, payment.id), (posting,), now))
    else:
        source = Source(SOURCE, payment.id)
        hold, posted = await holds.reserve(tx, payment.env, source, payment.currency, payment.amount_minor, now)
        expires_at = (
            now + await store.clock_offset(tx, payment.env) + timedelta(seconds=new.expires_in or limits.RESERVATION_S)
        )
        payment = msgspec.structs.replace(payment, hold_id=hold.id, expires_at=expires_at)
    if not await store.insert(tx, payment):
        await _refuse_duplicate(tx, caller, new)
        raise AssertionError("payments are never deleted")
    await _notify(tx, payment, posted, services, now)
    return payment


async def capture(
    tx: Tx, caller: Caller, payment_id: UUID, part: PartialAmount, services: Services, now: datetime
) -> BalancePayment:
    """Pay what is reserved, or a part of it; the rest is given back. A public client pays all of it.

    Raises `NotFound`, `ValidationFailed`, `ApplicationSuspended`, `InvalidState`, `CaptureTooLarge` and
    `ConfidentialClientRequired`.
    """
    payment = await _held(tx, caller, payment_id)
    amount_minor = part_of(part, payment.currency) or payment.amount_minor
    return await _capture(tx, payment, amount_minor, services, now, whole=caller.client_is_public)


async def release(tx: Tx, caller: Caller, payment_id: UUID, services: Services, now: datetime) -> BalancePayment:
    """Give back what is reserved. Raises `NotFound` and `InvalidState`."""
    return await _release(tx, await _held(tx, caller, payment_id), services, now)


async def refund(
    tx: Tx, caller: Caller, payment_id: UUID, part: PartialAmount, services: Services, now: datetime
) -> BalancePayment:
    """Pay back what was captured, or a part of it, from the owner's balance.

    Raises `NotFound`, `ValidationFailed`, `InvalidState`, `RefundTooLarge` and `InsufficientFunds`, whose details are the
    owner's
    own and not told to whoever holds a merchant's token.
    """
    return await _refund(tx, await _held(tx, caller, payment_id), part, services, now)


async def capture_as_owner(
    tx: Tx, owner: MerchantId, client_id: str, payment_id: UUID, part: PartialAmount, services: Services, now: datetime
) -> BalancePayment:
    """The owner takes what its application reserved. Raises as `capture`, and `ApplicationRevoked`."""
    payment, revoked = await _owned(tx, owner, client_id, payment_id)
    amount_minor = part_of(part, payment.currency) or payment.amount_minor
    if revoked:
        raise ApplicationRevoked
    return await _capture(tx, payment, amount_minor, services, now)


async def release_as_owner(
    tx: Tx, owner: MerchantId, client_id: str, payment_id: UUID, services: Services, now: datetime
) -> BalancePayment:
    """The owner gives back what its application reserved, revoked or not. Raises `NotFound` and `InvalidState`."""
    payment, _ = await _owned(tx, owner, client_id, payment_id)
    return await _release(tx, payment, services, now)


async def refund_as_owner(
    tx: Tx, owner: MerchantId, client_id: str, payment_id: UUID, services: Services, now: datetime
) -> BalancePayment:
    """The owner pays back all that is left of what its application captured, revoked or not.

    Never a part: a request at the dashboard has no key, and asking for everything twice gives it back once. Raises
    `NotFound`, `InvalidState` and `InsufficientFunds`.
    """
    payment, _ = await _owned(tx, owner, client_id, payment_id)
    return await _refund(tx, payment, PartialAmount(), services, now)


async def expire_due(tx: Tx, env: MerchantEnv, payment_id: UUID, services: Services, now: datetime) -> bool:
    """Give back a reservation whose time is over; False where somebody was first, or its time is not over."""
    payment = await store.lock(tx, env, None, payment_id)
    if payment is None or payment.status != "reserved" or payment.status_at(now) != "expired":
        return False
    await _give_back(tx, payment, "expired", services, now)
    return True


async def _application(tx: Tx, caller: Caller, new: NewBalancePayment, now: datetime) -> Application:
    """Who is paid. With an API key, only an application that the merchant is connected to. Raises `NotFound`."""
    if caller.client_id is not None:
        return await store.application(tx, caller.client_id)
    found = await store.connected(tx, caller.env, new.oauth_client_id or "", MAY_PAY.mask, now)
    if found is None:
        raise NotFound
    return found


async def _refuse_duplicate(tx: Tx, caller: Caller, new: NewBalancePayment) -> None:
    """Raises `DuplicateExternalId`. Another application's payment is not named to this one."""
    found = None if new.external_id is None else await store.named(tx, caller.env, new.external_id)
    if found is not None:
        existing_id, client_id = found
        raise DuplicateExternalId(existing_id if caller.client_id in {None, client_id} else None)


def _fresh(
    env: MerchantEnv, application: Application, code: str, amount_minor: int, new: NewBalancePayment, now: datetime
) -> BalancePayment:
    return BalancePayment(
        id=new_id(),
        env=env,
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
        created_at=now,
        updated_at=now,
        expires_at=None,
        resolved_at=now if new.capture else None,
    )


async def _held(tx: Tx, caller: Caller, payment_id: UUID) -> BalancePayment:
    payment = await store.lock(tx, caller.env, caller.client_id, payment_id)
    if payment is None:
        raise NotFound
    return payment


async def _owned(tx: Tx, owner: MerchantId, client_id: str, payment_id: UUID) -> tuple[BalancePayment, bool]:
    """The held payment of one of the owner's applications, and whether that one is revoked. Raises `NotFound`."""
    found = await store.lock_own(tx, owner, client_id)
    payment = None if found is None else await store.lock_owned(tx, found[0], payment_id)
    if found is None or payment is None:
        raise NotFound
    return payment, found[1]


async def _refuse_suspended(tx: Tx, client_id: ClientId) -> None:
    """A suspended application, or a suspended owner's, takes no money, whoever asks. Raises `ApplicationSuspended`."""
    if await store.is_suspended(tx, client_id):
        raise ApplicationSuspended


async def _capture(
    tx: Tx, payment: BalancePayment, amount_minor: int, services: Services, now: datetime, *, whole: bool = False
) -> BalancePayment:
    """Pay so much of a locked payment. `whole`: all of it or nothing."""
    await _refuse_suspended(tx, payment.client_id)
    hold_id = _hold_of(payment, now)
    if amount_minor > payment.amount_minor:
        raise CaptureTooLarge({"reserved_minor": payment.amount_minor, "currency": payment.currency})
    if whole and amount_minor != payment.amount_minor:
        raise ConfidentialClientRequired
    # Nothing below this line may refuse.
    changed = payment.captured(amount_minor, now)
    await store.change(tx, changed)
    paid = HoldCapture("balance_payment_out", amount_minor, available(payment.owner))
    _, posted = await holds.capture_and_release(tx, payment.env, hold_id, (paid,), now)
    await _notify(tx, changed, posted, services, now)
    return changed


async def _refund(tx: Tx, payment: BalancePayment, part: PartialAmount, services: Services, now: datetime) -> BalancePayment:
    """Pay back so much of a locked payment, or all that is left."""
    asked_minor = part_of(part, payment.currency)
    if payment.status not in CAPTURED:
        raise InvalidState(payment.status_at(now))
    left_minor = payment.refundable_minor
    amount_minor = asked_minor or left_minor
    if amount_minor > left_minor:
        raise RefundTooLarge({"remaining_minor": left_minor, "currency": payment.currency})
    # The database judges the owner's balance below, and its verdict refuses everything.
    changed = payment.refunded(amount_minor, now)
    await store.change(tx, changed)
    source = Source(SOURCE, payment.id, changed.refunds)
    posting = Posting(
        "balance_payment_refund", payment.currency, amount_minor, available(payment.owner), available(payment.env)
    )
    posted = await post(tx, JournalEntry(payment.env.mode, posting.type, source, (posting,), now))
    await _notify(tx, changed, posted, services, now)
    return changed


async def _release(tx: Tx, payment: BalancePayment, services: Services, now: datetime) -> BalancePayment:
    _hold_of(payment, now)
    # Nothing below this line may refuse.
    return await _give_back(tx, payment, "released", services, now)


def _hold_of(payment: BalancePayment, now: datetime) -> UUID:
    """The hold of a standing reservation. Raises `InvalidState`."""
    standing = payment.status_at(now)
    if standing != "reserved" or payment.hold_id is None:
        raise InvalidState(standing)
    return payment.hold_id


async def _give_back(
    tx: Tx, payment: BalancePayment, status: Literal["released", "expired"], services: Services, now: datetime
) -> BalancePayment:
    changed = payment.given_back(status, now)
    await store.change(tx, changed)
    if payment.hold_id is None:
        raise AssertionError("a reservation has its hold")
    _, posted = await holds.release(tx, payment.env, payment.hold_id, now)
    await _notify(tx, changed, posted, services, now)
    return changed


async def _notify(tx: Tx, payment: BalancePayment, posted: PostedTransaction, services: Services, now: datetime) -> None:
    """Tell each of the two merchants what it did to its own balance."""
    cause = Cause(SOURCE, payment.id, payment.status, payment.version)
    for env in (payment.env, payment.owner):
        part = posted.for_merchant(env)
        if part.entries:
            await notify_balance(tx, env, payment.currency, part, cause, None, services, now)
