"""Pairs, quotes, conversions and rules in the Integration API and in events."""

from typing import Annotated, Literal

from msgspec import Struct

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.transfers.conversions.model import Conversion, ConversionRule, Exchange, PairRate, UnavailableReason
from tollhouse.transfers.orders.quotes import Quote


class ConversionPairView(Struct, frozen=True, kw_only=True):
    """A currency pair. The rate is in major units, before the fee."""

    from_currency: str
    to_currency: str
    available: bool
    """Whether the pair can be converted now."""
    unavailable_reason: UnavailableReason | None
    """Why it cannot; null if it can."""
    minimum_minor: int
    """Smallest amount to convert, in minor units."""
    maximum_minor: int | None
    """Largest amount to convert, in minor units; null is unlimited."""
    indicative_rate: Annotated[str | None, example("1.08")]
    """Rate in major units before the fee; it is not guaranteed."""
    fee_bps: Annotated[int, example(0)]
    """Fee, in hundredths of a percent."""
    rate_as_of: Timestamp | None
    mode: Mode
    livemode: bool


@view_of(Quote[Exchange])
class ConversionQuoteView(RecordView, frozen=True, kw_only=True):
    """A conversion guaranteed until `expires_at`. The fee is in `from_currency` and included in `from_amount`."""

    object: Annotated[Literal["conversion_quote"], After("id")] = "conversion_quote"
    status: Annotated[Literal["active"], After("object")] = "active"
    """Always `active`."""
    rate: str


@view_of(Conversion)
class ConversionView(RecordView, frozen=True, kw_only=True):
    """GET /conversions/{id}."""

    object: Annotated[Literal["conversion"], After("id")] = "conversion"
    rate: str
    completed_at: Annotated[Timestamp, After("created_at"), example("2026-11-21T09:30:00.000Z")]


@view_of(ConversionRule)
class ConversionRuleView(RecordView, frozen=True, kw_only=True):
    """GET /conversion-rules/{id}."""

    object: Annotated[Literal["conversion_rule"], After("id")] = "conversion_rule"


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


def conversion_quote_view(quote: Quote[Exchange], catalogue: Catalogue) -> ConversionQuoteView:
    """A new quote."""
    return ConversionQuoteView.of(quote, catalogue, rate=quote.terms.rate.text)


def conversion_view(conversion: Conversion, catalogue: Catalogue) -> ConversionView:
    """A conversion."""
    return ConversionView.of(
        conversion, catalogue, rate=conversion.exchange.rate.text, completed_at=stamp(conversion.created_at)
    )
