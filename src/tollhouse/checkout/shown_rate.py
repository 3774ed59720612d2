"""The exchange rate of an attempt as the checkout page shows it."""

from decimal import ROUND_HALF_UP, Decimal

from msgspec import Struct

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.conversions.payments import RATE_VALID_FOR
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.transactions.model import Transaction

DIGITS_MIN = 4


class ShownRate(Struct, frozen=True):
    """What one unit of the currency that is paid is worth, with the margin, and from when to when that is fixed."""

    text: str
    begun_at: Timestamp
    expires_at: Timestamp


def shown_rate(attempt: Transaction | None, catalogue: Catalogue) -> ShownRate | None:
    """The rate of an attempt; None if it is paid in the currency of its link.

    It has the decimals of its currency, and at least four digits.
    """
    if attempt is None or attempt.price is None:
        return None
    price = attempt.price
    paid, priced = catalogue.currencies[attempt.currency], catalogue.currencies[price.currency]
    worth = Decimal(price.amount_minor).scaleb(-priced.decimals) / Decimal(attempt.amount_minor).scaleb(-paid.decimals)
    places = max(priced.decimals, DIGITS_MIN - 1 - worth.adjusted())
    text = f"{worth.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    return ShownRate(text, stamp(price.expires_at - RATE_VALID_FOR), stamp(price.expires_at))
