"""Converts what is credited for a payment in another currency than its price; and back, if it is given back."""

from uuid import UUID

from tollhouse.conversions import payments, positions_store
from tollhouse.conversions.errors import PairUnavailable
from tollhouse.conversions.model import Exchange, Rate, exchange_of_amounts
from tollhouse.conversions.payment_model import PaymentPrice
from tollhouse.conversions.payments import Converted, PaymentCause
from tollhouse.http.services import Work
from tollhouse.ledger import debts
from tollhouse.ledger.store import get_balance, lock_available
from tollhouse.transactions.model import Transaction


async def lock_positions(work: Work, current: Transaction) -> None:
    """Before balances are locked: conversions lock positions first, and would wait for each other in a circle."""
    price = _converted(current)
    if price is not None and current.env.mode == "live":
        await positions_store.lock(work.tx, (current.currency, price.currency))


async def current_rate(work: Work, current: Transaction) -> Rate | None:
    """The current rate for late money; None if it is not converted, or there is no recent rate."""
    price = _converted(current)
    return None if price is None else await payments.get_current_rate(work, current.env, price, current.currency)


def can_be_late(current: Transaction, rate: Rate | None) -> bool:
    """Whether late money can be credited: it is not converted, or there is a current rate."""
    return rate is not None or _converted(current) is None


async def exchange_of(
    work: Work, current: Transaction, given_minor: int, rate: Rate | None, *, at_fixed_rate: bool
) -> Exchange | None:
    """How money that is credited now is converted; None if it is not. Debt in its currency is repaid first.

    Raises `PairUnavailable` if it is too late for the fixed rate and there is no current `rate`.
    """
    price = _converted(current)
    if price is None:
        return None
    left_minor = given_minor - await debts.get_debt(work.tx, current.env, current.currency)
    paid = (price, current.currency, current.amount_minor, left_minor)
    if at_fixed_rate:
        return payments.exchange_at_fixed_rate(*paid)
    if rate is None:
        raise PairUnavailable("rate_stale")
    return payments.exchange_at_current_rate(rate, *paid, work.services.catalogue)


async def convert(work: Work, current: Transaction, exchange: Exchange | None) -> None:
    """Convert credited money, after it was posted."""
    if exchange is not None:
        await payments.convert(work, PaymentCause(current.env, current.id, current.webhook_url), exchange)


async def exchange_back(work: Work, current: Transaction, back_minor: int) -> Exchange | None:
    """What the merchant gives so that money of a payment can be given back; None if the money was kept.

    It costs what that money was credited for, not what it is worth today. Rounded up.
    """
    price = current.price
    converted = None if price is None else await payments.get_converted(work.tx, current.env, current.id)
    return None if price is None or converted is None else _exchange_back(work, current, price, converted, back_minor)


async def convert_back(work: Work, current: Transaction, reversal_id: UUID, exchange: Exchange | None) -> None:
    """Convert money back, before it is given back. Raises `InsufficientFunds`."""
    if exchange is not None:
        await payments.convert(work, PaymentCause(current.env, current.id, current.webhook_url, reversal_id), exchange)


async def convert_back_affordable(work: Work, current: Transaction, reversal_id: UUID, back_minor: int) -> None:
    """Convert back for money that was taken, as far as the balance covers it. The rest becomes debt in its currency."""
    price = current.price
    converted = None if price is None else await payments.get_converted(work.tx, current.env, current.id)
    if price is None or converted is None:
        return
    available_minor = await lock_available(work.tx, current.env, price.currency)
    affordable_minor = min(back_minor, converted.affordable_minor(available_minor))
    await convert_back(work, current, reversal_id, _exchange_back(work, current, price, converted, affordable_minor))


async def convert_again(work: Work, current: Transaction, reversal_id: UUID, returned_minor: int) -> None:
    """Undo `convert_back` for money that returned: at the same rate, less what repaid debt in its currency."""
    back = await payments.find_reversal(work.tx, current.env, current.id, reversal_id)
    if back is None:
        return
    available_minor = (await get_balance(work.tx, current.env, current.currency)).available_minor
    left_minor = min(back.to_amount_minor, returned_minor, available_minor)
    worth_minor = left_minor * back.from_amount_minor // back.to_amount_minor
    if worth_minor > 0:
        given, received = (current.currency, left_minor), (back.from_currency, worth_minor)
        exchange = exchange_of_amounts(given, received, work.now, work.services.catalogue)
        await convert_back(work, current, reversal_id, exchange)


def counted_minor(current: Transaction, credited_minor: int) -> int:
    """What a credited amount counts for the link, in its currency: its share of the price, whatever the rate since."""
    return credited_minor if current.price is None else current.price.value_of(credited_minor, current.amount_minor)


def _exchange_back(
    work: Work, current: Transaction, price: PaymentPrice, converted: Converted, back_minor: int
) -> Exchange | None:
    if back_minor <= 0:
        return None
    given, received = (price.currency, converted.cost_of(back_minor)), (current.currency, back_minor)
    return exchange_of_amounts(given, received, work.now, work.services.catalogue)


def _converted(current: Transaction) -> PaymentPrice | None:
    price = current.price
    return price if price is not None and price.settlement == "convert" else None
