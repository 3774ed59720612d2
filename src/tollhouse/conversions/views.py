"""Pairs, quotes, conversions and rules as the Integration API and the events show them."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.catalogue.currencies import format_amount
from tollhouse.conversions.model import (
    Conversion,
    ConversionStatus,
    CreatedBy,
    Exchange,
    Quote,
    Rule,
    Trigger,
)
from tollhouse.conversions.prices import Offer, UnavailableReason
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode


class PairView(Struct, frozen=True, kw_only=True):
    """One pair, available or not. The rate is what is got for one, in major units, before the fee."""

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


class QuoteView(Struct, frozen=True, kw_only=True):
    """What a conversion brings, until `expires_at`. The fee is in the currency that is given, and within its amount."""

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


class RuleView(Struct, frozen=True, kw_only=True):
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
    created_by: CreatedBy
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    version: int


def pair_view(offer: Offer, env: MerchantEnv) -> PairView:
    """A pair as it is now."""
    terms, rate = offer.pair, offer.rate
    return PairView(
        from_currency=terms.from_currency,
        to_currency=terms.to_currency,
        available=offer.unavailable_reason is None,
        unavailable_reason=offer.unavailable_reason,
        minimum_minor=terms.minimum_minor,
        maximum_minor=terms.maximum_minor,
        indicative_rate=None if rate is None else rate.text,
        fee_bps=terms.fee_basis_points,
        rate_as_of=None if rate is None else stamp(rate.as_of),
        mode=env.mode,
        livemode=env.livemode,
    )


def quote_view(quote: Quote) -> QuoteView:
    """A quote that was made just now."""
    return QuoteView(
        id=quote.id,
        **_exchange(quote.exchange),
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
        **_exchange(conversion.exchange),
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


def rule_view(rule: Rule) -> RuleView:
    """A rule as it is now."""
    threshold_minor = rule.threshold_minor
    return RuleView(
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


def _exchange(made: Exchange) -> dict[str, Any]:
    return {
        "from_currency": made.from_currency,
        "to_currency": made.to_currency,
        "rate": made.rate.text,
        **pairs(made.from_currency, from_amount=made.from_amount_minor, fee=made.fee_minor),
        **pairs(made.to_currency, to_amount=made.to_amount_minor),
    }
