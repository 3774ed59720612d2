"""The price of a payment that is made in another currency than that of its link."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from tollhouse.accounts.environments.payment_settings import Settlement
from tollhouse.kernel.money import trimmed


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
