"""Which methods a customer could pay with, and why the others cannot be used."""

from msgspec import Struct

from tollhouse.catalogue.methods import LIVE_METHODS, SANDBOX_METHODS, Method, UnavailableReason
from tollhouse.kernel.ids import Mode
from tollhouse.payments.model import PaymentLink
from tollhouse.rails.configured import rail


class Offer(Struct, frozen=True):
    """A method, and why it is not available; None when it is."""

    method: Method
    unavailable_reason: UnavailableReason | None

    @property
    def available(self) -> bool:
        """Whether a customer can choose it now."""
        return self.unavailable_reason is None

    def narrowed(self, currency: str | None, amount_minor: int | None) -> "Offer":
        """The same offer for a payment of this currency and amount."""
        if not self.available:
            return self
        if currency is not None and currency != self.method.asset:
            return Offer(self.method, "currency_not_supported")
        if amount_minor is not None and not self.method.takes(amount_minor):
            return Offer(self.method, "amount_out_of_range")
        return self


def offers(mode: Mode) -> list[Offer]:
    """Every method of the house, in an environment. The sandbox's exist in test only; the others are listed always."""
    if mode == "test":
        live = [Offer(method, "not_in_environment") for method in LIVE_METHODS]
        return [*(_offer(method, mode) for method in SANDBOX_METHODS), *live]
    return [_offer(method, mode) for method in LIVE_METHODS]


def offers_for(link: PaymentLink) -> list[Offer]:
    """The methods that the checkout page of this link shows."""
    return [
        offer.narrowed(link.currency, link.amount_minor)
        for offer in offers(link.env.mode)
        if offer.method.asset == link.currency
        and offer.unavailable_reason != "not_in_environment"
        and (link.payment_method_ids is None or offer.method.method_id in link.payment_method_ids)
    ]


def _offer(method: Method, mode: Mode) -> Offer:
    provider = rail(method.rail, mode)
    if provider is None:
        return Offer(method, "provider_not_configured")
    health = provider.health()
    return Offer(method, None if health.available else health.reason or "provider_down")
