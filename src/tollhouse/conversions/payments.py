"""Payments in another currency than their price: the rate that is fixed, and the conversion of what is credited."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.catalogue.conversion_pairs import ConversionPair
from tollhouse.catalogue.methods import Method, UnavailableReason
from tollhouse.conversions import actions, prices, store
from tollhouse.conversions.model import Conversion, Exchange, PairRate, Rate, exchange_from, exchange_to, rate_of
from tollhouse.conversions.payment_model import PaymentPrice, PricedAmount
from tollhouse.conversions.prices import EURO, Price
from tollhouse.environments.payment_settings import Settlement
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import MINOR_MAX, percentage
from tollhouse.platform.db import Tx

RATE_VALID_FOR = timedelta(minutes=15)
RATE_DIGITS_MIN = 4


class PaymentCause(Struct, frozen=True):
    """The payment whose money is converted, and the refund or chargeback for which it is converted back, if any."""

    env: MerchantEnv
    transaction_id: UUID
    webhook_url: str | None
    reversal_id: UUID | None = None


class Converted(Struct, frozen=True):
    """The money of a payment that was converted, and what it yielded."""

    given_minor: int
    received_minor: int

    def cost_of(self, back_minor: int) -> int:
        """What converting so much back costs: the share of what it yielded, rounded up, and at least 1."""
        return max(1, -(-back_minor * self.received_minor // self.given_minor))

    def affordable_minor(self, most_minor: int) -> int:
        """How much can be converted back for at most this."""
        return most_minor * self.given_minor // self.received_minor


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
    if converts and any(known[one].position.refuses(change) for one, change in changes.items()):
        return "rate_unavailable"
    source = known[code if method.asset == EURO else method.asset].source
    fixed = PaymentPrice(code, price_minor, rate.number, rate.as_of, source, pair.fee_basis_points, expires_at, settlement)
    return PricedAmount(exchange.from_amount_minor, fixed)


def rate_with_margin(price: PaymentPrice, currency: str, payment_minor: int, catalogue: Catalogue) -> str:
    """What one unit of the currency that is paid is worth to the customer, for pages: at least four digits."""
    paid, priced = catalogue.currencies[currency].decimals, catalogue.currencies[price.currency].decimals
    worth = Decimal(price.amount_minor).scaleb(-priced) / Decimal(payment_minor).scaleb(-paid)
    places = max(priced, RATE_DIGITS_MIN - 1 - worth.adjusted())
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


async def get_converted(tx: Tx, env: MerchantEnv, transaction_id: UUID) -> Converted | None:
    """What a payment was converted to in all, leaving out what was converted back; None if nothing was."""
    made = [one.exchange for one in await store.list_of_transaction(tx, env, transaction_id) if one.reversal_id is None]
    if not made:
        return None
    return Converted(sum(one.from_amount_minor for one in made), sum(one.to_amount_minor for one in made))


async def find_reversal(tx: Tx, env: MerchantEnv, transaction_id: UUID, reversal_id: UUID) -> Exchange | None:
    """The exchange by which money was converted back for a refund or chargeback; None if there was none."""
    made = await store.list_of_transaction(tx, env, transaction_id)
    return next((one.exchange for one in made if one.reversal_id == reversal_id), None)


async def convert(work: Work, cause: PaymentCause, exchange: Exchange) -> None:
    """Convert money of a payment, and record the events. Position limits do not refuse it."""
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
    """The rate, unless it is too old or the operator disabled the pair. Limits of positions are of new payments only."""
    return None if current.unavailable_reason in {"rate_stale", "disabled"} else current.rate


def _pair(from_currency: str, to_currency: str, margin_bps: int, catalogue: Catalogue) -> ConversionPair:
    """The terms of the operator for the pair, with the margin of the method in place of the fee."""
    return msgspec.structs.replace(catalogue.pair(from_currency, to_currency), fee_basis_points=margin_bps)
