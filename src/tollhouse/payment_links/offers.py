"""The payment methods offered at checkout, with the amounts to pay, and why others are unavailable."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.catalogue.methods import Method, UnavailableReason
from tollhouse.conversions import payments, prices
from tollhouse.conversions.payment_model import PricedAmount
from tollhouse.conversions.prices import Price
from tollhouse.environments.availability import MethodRequirements, offers
from tollhouse.environments.payment_settings import PaymentSettings
from tollhouse.payment_links.model import CheckoutPrice, PaymentLink
from tollhouse.platform.db import Pool
from tollhouse.rails.registry import Rails

HIDDEN: frozenset[UnavailableReason] = frozenset({"not_in_environment", "disabled_by_merchant", "disabled_by_operator"})


class CurrentPrices(Struct, frozen=True):
    """The prices of the currencies in which a link can be paid, at `now`."""

    known: Mapping[str, Price]
    now: datetime


class LinkOffer(Struct, frozen=True):
    """A method for a link, and why it is unavailable. `priced`: what to pay in another currency than that of the link."""

    method: Method
    unavailable_reason: UnavailableReason | None
    priced: PricedAmount | None = None

    @property
    def available(self) -> bool:
        """Whether customers can use it."""
        return self.unavailable_reason is None


async def load_prices(db: Pool, link: PaymentLink, settings: PaymentSettings, now: datetime) -> CurrentPrices | None:
    """The prices for the link; None if it can be paid in its own currency only."""
    others = frozenset(settings.additional_currencies) - {link.currency}
    if not others:
        return None
    return CurrentPrices(await prices.list_prices(db, link.env.mode, others | {link.currency}, now), now)


def offers_for(
    link: PaymentLink,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    current: CurrentPrices | None = None,
    price: CheckoutPrice | None = None,
) -> list[LinkOffer]:
    """The methods for a payment of a link; with prices, those of additional currencies after its own.

    `price` is what the payment costs, by default what the link suggests.
    """
    price_minor = (price or link.suggested_price).amount_minor
    requirements = MethodRequirements(link.currency, price_minor)
    found = [
        LinkOffer(offer.method, offer.unavailable_reason)
        for offer in offers(link.env.mode, settings, rails, catalogue, requirements)
        if offer.method.asset == link.currency and _is_shown(link, offer.method, offer.unavailable_reason)
    ]
    return (
        found if current is None else [*found, *_in_other_currencies(link, settings, rails, catalogue, current, price_minor)]
    )


def lifetime_min(link: PaymentLink, settings: PaymentSettings, rails: Rails, catalogue: Catalogue) -> timedelta:
    """The least default lifetime of the link: that of the slowest rail by which it can be paid."""
    offered = (one.method.rail for one in offers_for(link, settings, rails, catalogue) if one.available)
    return max((rails.times(name, link.env.mode).link_lifetime_min for name in offered), default=timedelta())


def _in_other_currencies(
    link: PaymentLink,
    settings: PaymentSettings,
    rails: Rails,
    catalogue: Catalogue,
    current: CurrentPrices,
    price_minor: int,
) -> Iterator[LinkOffer]:
    """Methods of additional currencies. Bank transfers take days, for which no rate is fixed."""
    expires_at = min(link.expires_at, current.now + link.clock_offset + payments.RATE_VALID_FOR)
    for offer in offers(link.env.mode, settings, rails, catalogue):
        method, reason = offer.method, offer.unavailable_reason
        is_other = method.asset != link.currency and method.asset in settings.additional_currencies
        if not is_other or method.type == "bank_transfer" or not _is_shown(link, method, reason):
            continue
        price = (link.currency, price_minor)
        fixed = payments.fix_rate(method, price, settings.settlement, current.known, current.now, expires_at, catalogue)
        if isinstance(fixed, str):
            yield LinkOffer(method, reason or fixed)
        else:
            yield LinkOffer(method, reason, fixed)


def _is_shown(link: PaymentLink, method: Method, reason: UnavailableReason | None) -> bool:
    chosen = link.payment_method_ids
    return reason not in HIDDEN and (chosen is None or method.method_id in chosen)
