"""Payments in another currency than their price: the rate that is fixed, and the conversion of what is credited."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments.payment_settings import Settlement
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.catalogue.methods import Method, UnavailableReason
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import MINOR_MAX, percentage
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.conversions import actions, prices, store
from tollhouse.transfers.conversions.model import (
    Conversion,
    Exchange,
    PairRate,
    PairUnavailable,
    PaymentPrice,
    PricedAmount,
    Rate,
    exchange_from,
    exchange_to,
    rate_of,
)
from tollhouse.transfers.conversions.prices import EURO, Price

RATE_VALID_FOR = timedelta(minutes=15)
RATE_DIGITS_MIN = 4


class PaymentCause(Struct, frozen=True):
    """The payment whose money is converted, and the refund or chargeback for which it is converted back, if any."""

    env: MerchantEnv
    transaction_id: UUID
    webhook_url: str | None
    reversal_id: UUID | None = None


def fix_rate(
    method: Method,
    price: tuple[str, int],
    settlement: Settlement,
    known: Mapping[str, Price],
    now: datetime,
    expires_at: datetime,
    catalogue: Catalogue,
) -> PricedAmount | UnavailableReason:
    """The amount to pay by a method for a price (currency and amount), or why there is none. Rounded up, so never zero.

    Money that is kept is not converted: it has no margin, and no position changes.
    """
    code, price_minor = price
    converts = settlement == "convert"
    pair = _pair(method.asset, code, method.rate_margin_basis_points if converts else 0, catalogue)
    rate = _usable_rate(prices.rate_of_pair(pair, known, now))
    if rate is None:
        return "rate_unavailable"
    exchange = exchange_to(pair, rate, price_minor, catalogue)
    if not 0 < exchange.from_amount_minor <= MINOR_MAX or not method.takes(exchange.from_amount_minor):
        return "amount_out_of_range"
    changes = {method.asset: exchange.from_amount_minor - exchange.fee_minor, code: -price_minor}
    if converts and any(known[currency].position.refuses(change) for currency, change in changes.items()):
        return "rate_unavailable"
    source = known[code if method.asset == EURO else method.asset].source
    fixed = PaymentPrice(code, price_minor, rate.number, rate.as_of, source, pair.fee_basis_points, expires_at, settlement)
    return PricedAmount(exchange.from_amount_minor, fixed)


def rate_with_margin(price: PaymentPrice, currency: str, payment_minor: int, catalogue: Catalogue) -> str:
    """What one unit of the currency that is paid is worth to the customer, for pages: at least four digits."""
    return price_of_one((price.currency, price.amount_minor), (currency, payment_minor), catalogue)


def price_of_one(given: tuple[str, int], received: tuple[str, int], catalogue: Catalogue) -> str:
    """What one unit of what is received costs, for pages: at least four digits. Both are currency and minor units."""
    (code, given_minor), (received_code, received_minor) = given, received
    decimals = catalogue.currencies[code].decimals
    whole = Decimal(received_minor).scaleb(-catalogue.currencies[received_code].decimals)
    worth = Decimal(given_minor).scaleb(-decimals) / whole
    places = max(decimals, RATE_DIGITS_MIN - 1 - worth.adjusted())
    return f"{worth.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"


def exchange_at_fixed_rate(price: PaymentPrice, currency: str, payment_minor: int, given_minor: int) -> Exchange | None:
    """The exchange of credited money at the fixed rate. `payment_minor` yields the whole price, another amount its share.

    Rounded down; None if it is worth less than a minor unit.
    """
    to_amount_minor = price.value_of(given_minor, payment_minor)
    if given_minor <= 0 or to_amount_minor <= 0:
        return None
    fee_minor = min(percentage(given_minor, price.margin_bps), given_minor - 1)
    rate = rate_of(price.rate_text, price.as_of)
    return Exchange(currency, given_minor, price.currency, to_amount_minor, rate, fee_minor)


def exchange_at_current_rate(
    rate: Rate, price: PaymentPrice, currency: str, payment_minor: int, given_minor: int, catalogue: Catalogue
) -> Exchange | None:
    """The exchange of money that is credited too late for its rate, at the current one, with the same margin.

    None if it is worth less than a minor unit.
    """
    if (rate.number, rate.as_of) == (price.rate, price.as_of):
        return exchange_at_fixed_rate(price, currency, payment_minor, given_minor)
    pair = _pair(currency, price.currency, price.margin_bps, catalogue)
    exchange = exchange_from(pair, rate, max(0, given_minor), catalogue)
    return exchange if exchange.to_amount_minor > 0 else None


async def get_current_rate(work: Work, env: MerchantEnv, price: PaymentPrice, currency: str) -> Rate | None:
    """The current rate at which money of a payment could be converted; None if there is no recent one."""
    pair = _pair(currency, price.currency, price.margin_bps, work.services.catalogue)
    return _usable_rate(await prices.get_rate(work.tx, env.mode, pair, work.now))


def exchange_back(rate: Rate, price: PaymentPrice, currency: str, back_minor: int, catalogue: Catalogue) -> Exchange:
    """What the merchant gives for money that is given back: at the current rate, with the margin."""
    return exchange_to(_pair(price.currency, currency, price.margin_bps, catalogue), rate, back_minor, catalogue)


def affordable_back(
    rate: Rate, price: PaymentPrice, currency: str, back_minor: int, most_minor: int, catalogue: Catalogue
) -> Exchange | None:
    """What the merchant gives for as much of the money as this amount buys; None if it buys nothing."""
    whole = exchange_back(rate, price, currency, back_minor, catalogue)
    if whole.from_amount_minor <= most_minor:
        return whole
    pair = _pair(price.currency, currency, price.margin_bps, catalogue)
    part = exchange_from(pair, rate, max(0, most_minor), catalogue)
    return part if 0 < part.to_amount_minor <= back_minor else None


def exchange_again(
    rate: Rate, price: PaymentPrice, back: Exchange, returned_minor: int, catalogue: Catalogue
) -> Exchange | None:
    """What money yields that returns after it was converted back: its value now less the margin, at most what it cost.

    None if it is worth less than a minor unit.
    """
    pair = _pair(back.to_currency, price.currency, price.margin_bps, catalogue)
    exchange = exchange_from(pair, rate, returned_minor, catalogue)
    cost_minor = back.from_amount_minor * returned_minor // back.to_amount_minor
    worth_minor = min(exchange.to_amount_minor, cost_minor)
    return msgspec.structs.replace(exchange, to_amount_minor=worth_minor) if worth_minor > 0 else None


async def get_rate_back(work: Work, env: MerchantEnv, price: PaymentPrice, currency: str) -> PairRate:
    """The current rate at which money of a payment is bought back."""
    pair = _pair(price.currency, currency, price.margin_bps, work.services.catalogue)
    return await prices.get_rate(work.tx, env.mode, pair, work.now)


async def fits_positions(tx: Tx, env: MerchantEnv, exchange: Exchange) -> bool:
    """Whether the limits of the platform's positions allow an exchange. The database checks it again."""
    if env.mode != "live":
        return True
    try:
        await actions.ensure_position(tx, exchange)
    except PairUnavailable:
        return False
    return True


async def was_converted(tx: Tx, env: MerchantEnv, transaction_id: UUID) -> bool:
    """Whether money of a payment was converted to the currency of its price."""
    return any(conversion.reversal_id is None for conversion in await store.list_of_transaction(tx, env, transaction_id))


async def find_reversal(tx: Tx, env: MerchantEnv, transaction_id: UUID, reversal_id: UUID) -> Exchange | None:
    """The exchange by which money was converted back for a refund or chargeback; None if there was none."""
    made = await store.list_of_transaction(tx, env, transaction_id)
    return next((conversion.exchange for conversion in made if conversion.reversal_id == reversal_id), None)


async def convert(work: Work, cause: PaymentCause, exchange: Exchange) -> None:
    """Convert money of a payment, and record the events. Raises `PairUnavailable` where a position limit refuses it."""
    conversion = Conversion(
        id=new_id(),
        env=cause.env,
        exchange=exchange,
        quote_id=None,
        rule_id=None,
        rule_step=None,
        transaction_id=cause.transaction_id,
        reversal_id=cause.reversal_id,
        webhook_url=cause.webhook_url,
        external_id=None,
        metadata={},
        created_at=work.now,
    )
    await actions.execute(work, conversion)


def _usable_rate(current: PairRate) -> Rate | None:
    """The rate, unless it is too old or the operator disabled the pair. Limits of positions depend on the amount."""
    return None if current.unavailable_reason in {"rate_stale", "disabled"} else current.rate


def _pair(from_currency: str, to_currency: str, margin_bps: int, catalogue: Catalogue) -> ConversionPair:
    """The terms of the operator for the pair, with the margin of the method in place of the fee."""
    return msgspec.structs.replace(catalogue.pair(from_currency, to_currency), fee_basis_points=margin_bps)
