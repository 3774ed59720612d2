"""The warnings about payment links that nobody can pay."""

from typing import LiteralString

from tollhouse.kernel.text import Text
from tollhouse.payments.links.model import UnpayableReason

SENTENCES: dict[UnpayableReason, LiteralString] = {
    "account_suspended": "Customers cannot pay it: the account is suspended.",
    "no_method": "Customers cannot pay it: no payment method takes %(currency)s.",
    "provider_not_configured": "Customers cannot pay it: no payment method for %(currency)s is set up on this server.",
    "provider_down": "Customers cannot pay it now: its payment methods are temporarily unavailable.",
    "disabled_by_operator": "Customers cannot pay it: the operator has turned its payment methods off.",
    "disabled_by_merchant": "Customers cannot pay it: its payment methods are turned off in your payment settings.",
    "amount_out_of_range": "Customers cannot pay it: none of its payment methods takes this amount.",
    "rate_unavailable": "Customers cannot pay it now: there is no current exchange rate for its payment methods.",
}


def warning_of(reason: UnpayableReason | None, currency: str) -> Text | None:
    """The warning for pages; None for links that customers can pay, and for those that have ended."""
    sentence = SENTENCES.get(reason) if reason else None
    return None if sentence is None else Text(sentence, currency=currency)
