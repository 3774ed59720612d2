"""The payment methods offered at checkout, and why others are unavailable."""

from datetime import timedelta

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.environments.availability import MethodRequirements, Offer, offers
from tollhouse.environments.payment_settings import PaymentSettings
from tollhouse.payment_links.model import PaymentLink
from tollhouse.rails.configured import Rails


def offers_for(link: PaymentLink, settings: PaymentSettings, rails: Rails, catalogue: Catalogue) -> list[Offer]:
    """The methods shown on the checkout page of a link."""
    requirements = MethodRequirements(link.currency, link.amount_minor)
    return [
        offer
        for offer in offers(link.env.mode, settings, rails, catalogue, requirements)
        if offer.method.asset == link.currency
        and offer.unavailable_reason not in {"not_in_environment", "disabled_by_merchant", "disabled_by_operator"}
        and (link.payment_method_ids is None or offer.method.method_id in link.payment_method_ids)
    ]


def lifetime_min(link: PaymentLink, settings: PaymentSettings, rails: Rails, catalogue: Catalogue) -> timedelta:
    """The least default lifetime of the link: that of the slowest rail by which it can be paid."""
    offered = (one.method.rail for one in offers_for(link, settings, rails, catalogue) if one.available)
    return max((rails.times(name, link.env.mode).link_lifetime_min for name in offered), default=timedelta())
