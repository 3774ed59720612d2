"""Conversions in minor units, rounded so that converting back and forth never gains."""

import re
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments.payment_settings import Settlement
from tollhouse.http.record_views import InCurrency
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.kernel.money import format_minor, percentage, trimmed
from tollhouse.platform.database.records import Columns, Internal, Json, Record
from tollhouse.transfers.orders.quotes import Quote

RATE_DECIMALS = 18
ONE = 10**RATE_DECIMALS
BASIS_POINTS = 10_000

RATE_TEXT = re.compile(r"(?P<whole>[0-9]{1,18})(?:\.(?P<part>[0-9]{1,18}))?")
ConversionStatus = Literal["completed"]
Trigger = Literal["on_payment", "on_threshold"]
"""When a rule converts.

on_payment: With each payment.
on_threshold: When the balance reaches the threshold.
"""
UnavailableReason = Literal["rate_stale", "disabled", "position_limit"]
"""Why a pair cannot be converted.

rate_stale: There is no current rate.
disabled: The operator switched it off.
position_limit: The operator's limit for the currency is reached.
"""


class Rate(Struct, frozen=True):
    """Major units of one currency for one of another, in quintillionths (10^-18), and the time of the price."""

    quintillionths: int
    as_of: datetime

    @property
    def text(self) -> str:
        """A decimal string without trailing zeros."""
        return trimmed(format_minor(self.quintillionths, RATE_DECIMALS))

    @property
    def number(self) -> Decimal:
        """The rate as the database stores it."""
        return Decimal(self.text)


def _read_rate(number: Decimal, as_of: datetime) -> Rate:
    return rate_of(f"{number:f}", as_of)


class CurrencyPosition(Struct, frozen=True):
    """What live conversions left the platform with in a currency, negative if it lacks it. `limit_minor` bounds its size."""

    position_minor: int = 0
    limit_minor: int | None = None

    def refuses(self, change_minor: int) -> bool:
        """Whether the limit refuses a change: one that makes the position larger and exceeds it."""
        changed = abs(self.position_minor + change_minor)
        return self.limit_minor is not None and changed > max(self.limit_minor, abs(self.position_minor))


NO_POSITION = CurrencyPosition()


class PairRate(Struct, frozen=True):
    """A pair, its current rate, and why it is unavailable; None where it is available."""

    pair: ConversionPair
    rate: Rate | None
    unavailable_reason: UnavailableReason | None


class Exchange(Struct, frozen=True):
    """The two amounts of a conversion. The fee is part of `from_amount_minor`."""

    from_currency: str
    from_amount_minor: Annotated[int, InCurrency("from_currency")]
    """What you converted."""
    to_currency: str
    to_amount_minor: Annotated[int, InCurrency("to_currency")]
    rate: Annotated[Rate, Columns({"rate": "number", "rate_as_of": "as_of"}, _read_rate)]
    fee_minor: Annotated[int, InCurrency("from_currency")]
    """Fee, which `from_amount` includes."""


class Conversion(Struct, frozen=True, kw_only=True):
    """A completed conversion. The platform is the counterparty, so it completes at once.

    `transaction_id` is the payment whose money was converted; with `reversal_id`, it was
    converted back for that refund or chargeback, or again after it.
    """

    id: UUID
    status: ConversionStatus = "completed"
    """Always `completed`; a conversion is done at once."""
    exchange: Exchange
    quote_id: UUID | None
    rule_id: UUID | None
    """ID of the rule that converted; null for a request."""
    rule_step: Internal[int | None]
    credential_id: Internal[UUID | None] = None
    """The connection or API key that asked for it."""
    transaction_id: UUID | None = None
    """ID of the payment that was converted; null for others."""
    reversal_id: UUID | None = None
    """ID of the conversion that reversed this one; null without one."""
    webhook_url: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    version: int = 1


class RuleCreator(Struct, frozen=True):
    """The creator of a rule: an API key, an application or a dashboard user."""

    type: Literal["api_key", "oauth", "dashboard"]
    """Kind of creator."""
    oauth_client_id: str | None = None


class ConversionRule(Struct, frozen=True, kw_only=True):
    """An automatic conversion: of a share of each payment, or of the balance when it reaches a threshold.

    `seen_version` is the version of the balance up to which entries were processed; `waiting_minor` the sum of payments
    that is still below the minimum of the pair.
    """

    id: UUID
    from_currency: str
    to_currency: str
    trigger: Trigger
    """When it converts."""
    threshold_minor: Annotated[int | None, InCurrency("from_currency")]
    """Balance from which the rule `on_threshold` converts."""
    percent: Annotated[int, example(100)]
    """Share to convert, in percent."""
    enabled: bool
    webhook_url: str | None
    created_by: Annotated[RuleCreator, Columns({"created_by_type": "type", "created_by_client_id": "oauth_client_id"})]
    """Who created the rule."""
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    version: int
    seen_version: Internal[int] = 0
    waiting_minor: Internal[int] = 0
    runs: Internal[int] = 0


CONVERSION = Record(Conversion, "conversions")
CONVERSION_QUOTE = Record(Quote[Exchange], "conversion_quotes")
RULE = Record(ConversionRule, "conversion_rules")


def rate_between(from_price: Fraction, to_price: Fraction, as_of: datetime) -> Rate:
    """The rate from one currency to another, by their prices per euro; rounded down, so that there and back never gains."""
    return Rate(int(to_price / from_price * ONE), as_of)


def rate_of(text: str, as_of: datetime) -> Rate:
    """A rate of its decimal string."""
    parts = RATE_TEXT.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text} is not a rate")
    return Rate(int(parts["whole"]) * ONE + int((parts["part"] or "").ljust(RATE_DECIMALS, "0")), as_of)


def exchange_from(pair: ConversionPair, rate: Rate, from_amount_minor: int, catalogue: Catalogue) -> Exchange:
    """The exchange of an amount. The fee is deducted first; the result is rounded down."""
    fee_minor = percentage(from_amount_minor, pair.fee_basis_points)
    scaled, whole = _scales(pair, rate, catalogue)
    to_amount_minor = (from_amount_minor - fee_minor) * scaled // whole
    return Exchange(pair.from_currency, from_amount_minor, pair.to_currency, to_amount_minor, rate, fee_minor)


def exchange_to(pair: ConversionPair, rate: Rate, to_amount_minor: int, catalogue: Catalogue) -> Exchange:
    """The exchange that yields an amount, with the smallest possible amount to convert."""
    scaled, whole = _scales(pair, rate, catalogue)
    net_minor = -(-to_amount_minor * whole // scaled)
    # The fee is rounded up, so the net amount is rounded down.
    from_minor = -(-net_minor * BASIS_POINTS // (BASIS_POINTS - pair.fee_basis_points))
    fee_minor = percentage(from_minor, pair.fee_basis_points)
    return Exchange(pair.from_currency, from_minor, pair.to_currency, to_amount_minor, rate, fee_minor)


def _scales(pair: ConversionPair, rate: Rate, catalogue: Catalogue) -> tuple[int, int]:
    """The rate between minor units as numerator and denominator."""
    from_decimals, to_decimals = (
        catalogue.currencies[pair.from_currency].decimals,
        catalogue.currencies[pair.to_currency].decimals,
    )
    return rate.quintillionths * 10**to_decimals, ONE * 10**from_decimals


class PairUnavailable(ApiError):
    """422: the pair is unavailable; `details.unavailable_reason` says why."""

    code, status, message = "method_unavailable", 422, "This currency pair is currently unavailable."

    def __init__(self, reason: str) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}})


class RateUnavailable(ApiError):
    """422: what a refund costs cannot be converted now; `details.unavailable_reason` says why."""

    code, status = "pair_unavailable", 422
    message = "This refund needs a conversion, for which there is no rate at the moment. Try again later."
    solution = "Try again later. Nothing was changed."

    def __init__(self, reason: str) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}})


class RuleConflict(ApiError):
    """409: another rule converts from this currency, or the rules would form a cycle."""

    code, status, message = "conversion_rule_conflict", 409, "The rule conflicts with another rule."
    solution = "Change or end the other rule first."

    def __init__(self, conflicting_id: UUID) -> None:
        super().__init__(members={"details": {"conflicting_id": str(conflicting_id)}})


class RuleChanged(ApiError):
    """409: the rule was changed since it was read."""

    code, status, message = "conversion_rule_changed", 409, "The rule has changed. Retrieve it and try again."
    solution = "Read the rule again, apply your change to it, and send it with the new `version`."

    def __init__(self, version: int) -> None:
        super().__init__(members={"details": {"version": version}})


class PaymentPrice(Struct, frozen=True):
    """A price and the rate that was fixed for it: major units of `currency` for one of the currency that is paid.

    The amount to pay is `amount_minor` of the price at this rate, with the margin of the platform, rounded up.
    """

    currency: str
    amount_minor: int
    rate: Decimal
    as_of: datetime
    source: str
    margin_bps: int
    expires_at: datetime
    settlement: Settlement

    @property
    def rate_text(self) -> str:
        """The rate as a decimal string without trailing zeros."""
        return trimmed(f"{self.rate:f}")

    def value_of(self, given_minor: int, payment_minor: int) -> int:
        """What an amount is worth of the price, rounded down. `payment_minor` is the amount to pay for all of it."""
        return given_minor * self.amount_minor // payment_minor


class PricedAmount(Struct, frozen=True):
    """An amount to pay, and the price that it pays."""

    amount_minor: int
    price: PaymentPrice
