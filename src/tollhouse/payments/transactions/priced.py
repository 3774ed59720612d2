"""Converts what is credited for a payment in another currency than its price; and buys it back, if it is given back."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from tollhouse.http.services import Work
from tollhouse.ledger.books import post
from tollhouse.ledger.books.store import get_balance, lock_available
from tollhouse.payments.transactions.model import Transaction
from tollhouse.transfers.conversions import payments, prices_store
from tollhouse.transfers.conversions.model import Exchange, PairUnavailable, PaymentPrice, Rate, RateUnavailable
from tollhouse.transfers.conversions.payments import PaymentCause

POSITION_LIMIT = "position_limit"


async def lock_positions(work: Work, current: Transaction) -> None:
    """Before balances are locked: conversions lock positions first, and would wait for each other in a circle."""
    price = _converted(current)
    if price is not None and current.env.mode == "live":
        await prices_store.lock_positions(work.tx, (current.currency, price.currency))


async def current_rate(work: Work, current: Transaction) -> Rate | None:
    """The current rate for late money; None if it is not converted, or there is no recent rate."""
    price = _converted(current)
    return None if price is None else await payments.get_current_rate(work, current.env, price, current.currency)


def needs_current_rate(current: Transaction, arrived_minor: int, *, expected: bool) -> bool:
    """Whether some of what arrives can only be converted at the current rate: it is late, or more than was asked for."""
    return not expected or current.received_minor + arrived_minor > current.amount_minor


def can_be_late(current: Transaction, rate: Rate | None) -> bool:
    """Whether late money can be credited: it is not converted, or there is a current rate."""
    return rate is not None or _converted(current) is None


async def exchanges_of(
    work: Work, current: Transaction, given_minor: int, rate: Rate | None, *, at_fixed_rate: bool
) -> tuple[Exchange, ...]:
    """How money that is credited now is converted. Debt in its currency is repaid first.

    The fixed rate is for the amount that was asked for: what exceeds it is converted at the current one. Raises
    `PairUnavailable` if the current `rate` is needed, and there is none.
    """
    price = _converted(current)
    if price is None or given_minor <= 0:
        return ()
    left_minor = given_minor - await post.get_debt(work.tx, current.env, current.currency)
    fixed_minor = min(left_minor, current.amount_minor) if at_fixed_rate else 0
    if at_fixed_rate and rate is not None and rate.number == price.rate:
        fixed_minor = left_minor
    made: list[Exchange | None] = []
    paid = (price, current.currency, current.amount_minor)
    if fixed_minor > 0:
        made.append(payments.exchange_at_fixed_rate(*paid, fixed_minor))
    if left_minor > fixed_minor:
        if rate is None:
            raise PairUnavailable("rate_stale")
        made.append(payments.exchange_at_current_rate(rate, *paid, left_minor - fixed_minor, work.services.catalogue))
    return tuple(exchange for exchange in made if exchange is not None)


async def convert(work: Work, current: Transaction, exchanges: Sequence[Exchange]) -> None:
    """Convert credited money, after it was posted."""
    for exchange in exchanges:
        await payments.convert(work, PaymentCause(current.env, current.id, current.webhook_url), exchange)


async def fits_positions(work: Work, current: Transaction, exchanges: Sequence[Exchange]) -> bool:
    """Whether the limits of the platform's positions, which are locked, allow these conversions together."""
    if not exchanges:
        return True
    names = ("from_amount_minor", "to_amount_minor", "fee_minor")
    sums = {name: sum(getattr(exchange, name) for exchange in exchanges) for name in names}
    return await payments.fits_positions(work.tx, current.env, msgspec.structs.replace(exchanges[0], **sums))


async def exchange_back(work: Work, current: Transaction, back_minor: int) -> Exchange | None:
    """What the merchant gives so that money of a payment can be given back; None if the money was kept.

    It costs what that money costs today, with the margin, whatever the payment yielded. Raises `RateUnavailable`.
    """
    price = await _was_converted(work, current)
    if price is None or back_minor <= 0:
        return None
    rate = await payments.get_rate_back(work, current.env, price, current.currency)
    if rate.rate is None or rate.unavailable_reason is not None:
        raise RateUnavailable(rate.unavailable_reason or "rate_stale")
    exchange = payments.exchange_back(rate.rate, price, current.currency, back_minor, work.services.catalogue)
    if not await payments.fits_positions(work.tx, current.env, exchange):
        raise RateUnavailable(POSITION_LIMIT)
    return exchange


async def convert_back(work: Work, current: Transaction, reversal_id: UUID, exchange: Exchange | None) -> None:
    """Convert money back, before it is given back. Raises `InsufficientFunds` and `RateUnavailable`."""
    if exchange is None:
        return
    try:
        await _convert_for(work, current, reversal_id, exchange)
    except PairUnavailable as error:
        raise RateUnavailable(POSITION_LIMIT) from error


async def convert_back_affordable(work: Work, current: Transaction, reversal_id: UUID, back_minor: int) -> None:
    """Buy money that was taken, at the current rate, as far as the balance covers it. The rest is debt in its currency.

    All of it is debt where there is no rate, or where a position limit refuses it: a chargeback is never refused.
    """
    price = await _was_converted(work, current)
    if price is None or back_minor <= 0:
        return
    rate = await payments.get_rate_back(work, current.env, price, current.currency)
    if rate.rate is None or rate.unavailable_reason is not None:
        return
    available_minor = await lock_available(work.tx, current.env, price.currency)
    terms = (current.currency, back_minor, available_minor, work.services.catalogue)
    exchange = payments.affordable_back(rate.rate, price, *terms)
    if exchange is not None and await payments.fits_positions(work.tx, current.env, exchange):
        await _convert_for(work, current, reversal_id, exchange)


async def convert_again(work: Work, current: Transaction, reversal_id: UUID, returned_minor: int) -> None:
    """Convert money that returned after `convert_back`, less what repaid debt in its currency.

    It yields its value of today less the margin, at most what it cost. It stays in its currency where there is no rate,
    or where a position limit refuses it.
    """
    price = current.price
    back = None if price is None else await payments.find_reversal(work.tx, current.env, current.id, reversal_id)
    if price is None or back is None:
        return
    rate = await payments.get_current_rate(work, current.env, price, current.currency)
    available_minor = (await get_balance(work.tx, current.env, current.currency)).available_minor
    left_minor = min(back.to_amount_minor, returned_minor, available_minor)
    if rate is None or left_minor <= 0:
        return
    exchange = payments.exchange_again(rate, price, back, left_minor, work.services.catalogue)
    if exchange is not None and await payments.fits_positions(work.tx, current.env, exchange):
        await _convert_for(work, current, reversal_id, exchange)


def counted_minor(current: Transaction, credited_minor: int) -> int:
    """What a credited amount counts for the link, in its currency: its share of the price, whatever the rate since."""
    return credited_minor if current.price is None else current.price.value_of(credited_minor, current.amount_minor)


async def _was_converted(work: Work, current: Transaction) -> PaymentPrice | None:
    """The price of a payment whose money was converted; None if it was kept."""
    is_converted = current.price is not None and await payments.was_converted(work.tx, current.env, current.id)
    return current.price if is_converted else None


async def _convert_for(work: Work, current: Transaction, reversal_id: UUID, exchange: Exchange) -> None:
    """Convert for a refund or chargeback, in either direction."""
    await payments.convert(work, PaymentCause(current.env, current.id, current.webhook_url, reversal_id), exchange)


def _converted(current: Transaction) -> PaymentPrice | None:
    price = current.price
    return price if price is not None and price.settlement == "convert" else None
