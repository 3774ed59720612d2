"""The payment methods offered at checkout, and why others are unavailable."""

from tollhouse.catalogue.availability import MethodRequirements, Offer, offers
from tollhouse.catalogue.methods import Method, UnavailableReason
from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.kernel.ids import Mode
from tollhouse.payment_links.model import PaymentLink
from tollhouse.rails.configured import error


def offers_for(link: PaymentLink, settings: PaymentSettings) -> list[Offer]:
    """The methods shown on the checkout page of a link."""
    requirements = MethodRequirements(link.currency, link.amount_minor)
    return [
        offer
        for offer in offers(link.env.mode, settings, rail_error, requirements)
        if offer.method.asset == link.currency
        and offer.unavailable_reason not in {"not_in_environment", "disabled_by_merchant", "disabled_by_operator"}
        and (link.payment_method_ids is None or offer.method.method_id in link.payment_method_ids)
    ]


def rail_error(method: Method, mode: Mode) -> UnavailableReason | None:
    """Why the method's rail is unavailable in this mode; None if it is available."""
    return error(method.rail, mode)
