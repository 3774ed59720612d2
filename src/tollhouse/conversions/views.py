"""Pairs, quotes, conversions and rules in the Integration API and in events."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.catalogue.currencies import format_amount
from tollhouse.conversions.model import (
    Conversion,
    ConversionRule,
    ConversionStatus,
    Exchange,
    RuleCreator,
    Trigger,
)
from tollhouse.conversions.prices import PairRate, UnavailableReason
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.orders.quotes import Quote


class ConversionPairView(Struct, frozen=True, kw_only=True):
    """A currency pair. The rate is in major units, before the fee."""

    from_currency: str
    to_currency: str
    available: bool
    unavailable_reason: UnavailableReason | None
    minimum_minor: int
    maximum_minor: int | None
    indicative_rate: str | None
    fee_bps: int
    rate_as_of: Timestamp | None
    mode: Mode
    livemode: bool


class ConversionQuoteView(Struct, frozen=True, kw_only=True):
    """A conversion guaranteed until `expires_at`. The fee is in `from_currency` and included in `from_amount`."""

    id: UUID
    object: Literal["conversion_quote"] = "conversion_quote"
    status: Literal["active"] = "active"
    from_currency: str
    from_amount: str
    from_amount_minor: int
    to_currency: str
    to_amount: str
    to_amount_minor: int
    rate: str
    fee: str
    fee_minor: int
    mode: Mode
    livemode: bool
    created_at: Timestamp
    expires_at: Timestamp


class ConversionView(Struct, frozen=True, kw_only=True):
    """GET /conversions/{id}."""

    id: UUID
    object: Literal["conversion"] = "conversion"
    status: ConversionStatus
    from_currency: str
    from_amount: str
    from_amount_minor: int
    to_currency: str
    to_amount: str
    to_amount_minor: int
    rate: str
    fee: str
    fee_minor: int
    quote_id: UUID | None
    rule_id: UUID | None
    webhook_url: str | None
    external_id: str | None
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    completed_at: Timestamp
    version: int


class ConversionRuleView(Struct, frozen=True, kw_only=True):
    """GET /conversion-rules/{id}."""

    id: UUID
    object: Literal["conversion_rule"] = "conversion_rule"
    from_currency: str
    to_currency: str
    trigger: Trigger
    threshold: str | None
    threshold_minor: int | None
    percent: int
    enabled: bool
    webhook_url: str | None
    created_by: RuleCreator
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    version: int


def pair_view(current: PairRate, env: MerchantEnv) -> ConversionPairView:
    """A pair with its current rate."""
    pair, rate = current.pair, current.rate
    return ConversionPairView(
        from_currency=pair.from_currency,
        to_currency=pair.to_currency,
        available=current.unavailable_reason is None,
        unavailable_reason=current.unavailable_reason,
        minimum_minor=pair.minimum_minor,
        maximum_minor=pair.maximum_minor,
        indicative_rate=None if rate is None else rate.text,
        fee_bps=pair.fee_basis_points,
        rate_as_of=None if rate is None else stamp(rate.as_of),
        mode=env.mode,
        livemode=env.livemode,
    )


def conversion_quote_view(quote: Quote[Exchange]) -> ConversionQuoteView:
    """A new quote."""
    return ConversionQuoteView(
        id=quote.id,
        **_exchange_members(quote.terms),
        mode=quote.env.mode,
        livemode=quote.env.livemode,
        created_at=stamp(quote.created_at),
        expires_at=stamp(quote.expires_at),
    )


def conversion_view(conversion: Conversion) -> ConversionView:
    """A conversion."""
    return ConversionView(
        id=conversion.id,
        status=conversion.status,
        **_exchange_members(conversion.exchange),
        quote_id=conversion.quote_id,
        rule_id=conversion.rule_id,
        webhook_url=conversion.webhook_url,
        external_id=conversion.external_id,
        metadata=conversion.metadata,
        mode=conversion.env.mode,
        livemode=conversion.env.livemode,
        created_at=stamp(conversion.created_at),
        completed_at=stamp(conversion.created_at),
        version=conversion.version,
    )


def rule_view(rule: ConversionRule) -> ConversionRuleView:
    """A conversion rule."""
    threshold_minor = rule.threshold_minor
    return ConversionRuleView(
        id=rule.id,
        from_currency=rule.from_currency,
        to_currency=rule.to_currency,
        trigger=rule.trigger,
        threshold=None if threshold_minor is None else format_amount(threshold_minor, rule.from_currency),
        threshold_minor=threshold_minor,
        percent=rule.percent,
        enabled=rule.enabled,
        webhook_url=rule.webhook_url,
        created_by=rule.created_by,
        mode=rule.env.mode,
        livemode=rule.env.livemode,
        created_at=stamp(rule.created_at),
        updated_at=stamp(rule.updated_at),
        version=rule.version,
    )


def _exchange_members(exchange: Exchange) -> dict[str, Any]:
    return {
        "from_currency": exchange.from_currency,
        "to_currency": exchange.to_currency,
        "rate": exchange.rate.text,
        **pairs(exchange.from_currency, from_amount=exchange.from_amount_minor, fee=exchange.fee_minor),
        **pairs(exchange.to_currency, to_amount=exchange.to_amount_minor),
    }
