"""What a conversion costs and brings, in whole minor units: rounded so that nobody gains by converting to and fro."""

import re
from datetime import datetime
from fractions import Fraction
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.conversion_pairs import ConversionPair
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.money import format_minor, percentage

RATE_DECIMALS = 18
ONE = 10**RATE_DECIMALS
WHOLE = 10_000
"""All basis points."""

RATE_TEXT = re.compile(r"(?P<whole>[0-9]{1,18})(?:\.(?P<part>[0-9]{1,18}))?")
ConversionStatus = Literal["completed"]
Trigger = Literal["on_payment", "on_threshold"]


class Rate(Struct, frozen=True):
    """How much of one currency is got for one of the other, in quintillionths; and how old that is."""

    quintillionths: int
    as_of: datetime

    @property
    def text(self) -> str:
        """As a decimal string, without zeros at its end."""
        return format_minor(self.quintillionths, RATE_DECIMALS).rstrip("0").rstrip(".")


class Exchange(Struct, frozen=True):
    """What is given, what of it is the fee, and what is got."""

    from_currency: str
    to_currency: str
    rate: Rate
    from_amount_minor: int
    fee_minor: int
    to_amount_minor: int


class Quote(Struct, frozen=True, kw_only=True):
    """An exchange that is kept to for a while, once."""

    id: UUID
    env: MerchantEnv
    exchange: Exchange
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


class Conversion(Struct, frozen=True, kw_only=True):
    """An exchange that was made. The house itself is the other side, so it is complete at once."""

    id: UUID
    env: MerchantEnv
    exchange: Exchange
    quote_id: UUID | None
    rule_id: UUID | None
    rule_step: int | None
    webhook_url: str | None
    external_id: str | None
    metadata: dict[str, str]
    created_at: datetime
    status: ConversionStatus = "completed"
    version: int = 1


class CreatedBy(Struct, frozen=True):
    """Who made a rule: an API key, an application, or a person at the dashboard."""

    type: Literal["api_key", "oauth", "dashboard"]
    oauth_client_id: str | None = None


class Rule(Struct, frozen=True, kw_only=True):
    """What is converted by itself: a share of each payment, or of the balance when it reaches a threshold.

    `seen_version` counts the entries of the balance that were looked at, `waiting_minor` is what payments brought and was
    too little to convert.
    """

    id: UUID
    env: MerchantEnv
    from_currency: str
    to_currency: str
    trigger: Trigger
    threshold_minor: int | None
    percent: int
    enabled: bool
    webhook_url: str | None
    created_by: CreatedBy
    version: int
    created_at: datetime
    updated_at: datetime
    seen_version: int = 0
    waiting_minor: int = 0
    runs: int = 0


def rate_between(one: Fraction, other: Fraction, as_of: datetime) -> Rate:
    """How much of the other currency is got for one of this, by what one euro buys of each; rounded down.

    There and back again is then never more than one, whatever the prices.
    """
    return Rate(int(other / one * ONE), as_of)


def rate_of(text: str, as_of: datetime) -> Rate:
    """A rate as the database shows it."""
    parts = RATE_TEXT.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text} is no rate")
    return Rate(int(parts["whole"]) * ONE + int((parts["part"] or "").ljust(RATE_DECIMALS, "0")), as_of)


def giving(pair: ConversionPair, rate: Rate, from_amount_minor: int) -> Exchange:
    """What is got for this amount, the fee taken from it first; rounded down."""
    fee_minor = percentage(from_amount_minor, pair.fee_basis_points)
    got_minor = _got(pair, rate, from_amount_minor - fee_minor)
    return Exchange(pair.from_currency, pair.to_currency, rate, from_amount_minor, fee_minor, got_minor)


def getting(pair: ConversionPair, rate: Rate, to_amount_minor: int) -> Exchange:
    """The least that must be given to get this amount, the fee included."""
    scaled, whole = _scales(pair, rate)
    net_minor = -(-to_amount_minor * whole // scaled)
    # The fee is rounded up, so that what is left of an amount is a share of it rounded down.
    from_minor = -(-net_minor * WHOLE // (WHOLE - pair.fee_basis_points))
    fee_minor = percentage(from_minor, pair.fee_basis_points)
    return Exchange(pair.from_currency, pair.to_currency, rate, from_minor, fee_minor, to_amount_minor)


def _got(pair: ConversionPair, rate: Rate, net_minor: int) -> int:
    scaled, whole = _scales(pair, rate)
    return net_minor * scaled // whole


def _scales(pair: ConversionPair, rate: Rate) -> tuple[int, int]:
    """The rate between minor units, as a numerator and a denominator."""
    given, got = CURRENCIES[pair.from_currency].decimals, CURRENCIES[pair.to_currency].decimals
    return rate.quintillionths * 10**got, ONE * 10**given
