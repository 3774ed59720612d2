"""The exchange rate of an attempt as the checkout page shows it."""

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.payments.transactions.model import Transaction
from tollhouse.transfers.conversions.payments import RATE_VALID_FOR, rate_with_margin


class ShownRate(Struct, frozen=True):
    """What one unit of the currency that is paid is worth, with the margin, and from when to when that is fixed."""

    text: str
    begun_at: Timestamp
    expires_at: Timestamp


def shown_rate(attempt: Transaction | None, catalogue: Catalogue) -> ShownRate | None:
    """The rate of an attempt; None if it is paid in the currency of its link."""
    if attempt is None or attempt.price is None:
        return None
    price = attempt.price
    text = rate_with_margin(price, attempt.currency, attempt.amount_minor, catalogue)
    begun_at = max(attempt.created_at, price.expires_at - RATE_VALID_FOR)  # the link may end before the rate would
    return ShownRate(text, stamp(begun_at), stamp(price.expires_at))
