"""Labels of stored values, such as a status, and of periods, for pages.

Pages show them with the filter `translate`. They are listed here so that the catalogues contain them. The words of
statuses and of operators' actions are those of their own lists.
"""

from datetime import timedelta
from typing import LiteralString

from tollhouse.kernel.text import Text

ENVIRONMENTS = ("test", "live")
STATUSES = ("given up", "no review needed", "not required", "refund required")
"""Statuses that pages call otherwise than the API. All others are those of `http.statuses`."""
ENTRIES = (
    "adjustment",
    "balance payment in",
    "balance payment out",
    "balance payment refund",
    "chargeback",
    "chargeback fee",
    "chargeback reversal",
    "conversion fee",
    "conversion in",
    "conversion out",
    "fulfillment",
    "fulfillment refund",
    "hold",
    "network fee",
    "payment",
    "payment fee",
    "refund reversal",
    "release",
    "settlement",
    "test funding",
    "withdrawal fee",
    "withdrawal return",
)
"""What changed a balance, unless one of the kinds below applies."""
ROLES = ("owner", "administrator", "finance", "support", "developer", "read only")
"""What a member of a merchant is."""
SOURCES = ("transaction", "conversion", "balance payment")
ACCOUNTS = ("available", "debt")
REFUND_REASONS = (
    "Requested by customer",
    "Duplicate",
    "Fraud",
    "Problem with the product or service",
    "Another reason",
)
DISPUTE_REASONS = (
    "bank cannot process",
    "check returned",
    "credit not processed",
    "customer initiated",
    "debit not authorized",
    "duplicate",
    "fraudulent",
    "general",
    "incorrect account details",
    "insufficient funds",
    "noncompliant",
    "product not received",
    "product unacceptable",
    "subscription canceled",
    "unrecognized",
    "reorganized",
)
"""What card networks and banks give as the reason of a dispute."""
STEPS = (
    "accepted",
    "after cancel",
    "balance limit",
    "position limit",
    "chargeback lost",
    "chargeback won",
    "duplicate",
    "late",
    "payment charged back",
    "receiver invalid",
    "refund declined",
    "refund requested",
    "refund returned",
    "returned by bank",
    "underpaid",
    "vanished",
    "reorganized",
    "reinstated",
    "wrong asset",
)
"""Entries of a timeline besides the state of a payment."""
SCHEDULE_FAILURES = (
    "amount above maximum",
    "amount below fees",
    "amount below minimum",
    "daily limit exceeded",
    "insufficient funds",
    "invalid receiver",
    "method unavailable",
    "recipient deleted",
    "recipient not active",
    "recipient not saved",
)
"""Why the run of a withdrawal schedule created no withdrawal."""
EVIDENCE = (
    "product description",
    "customer name",
    "customer email address",
    "customer IP address",
    "customer communication",
    "billing address",
    "shipping address",
    "shipping carrier",
    "shipping date",
    "shipping tracking number",
    "service date",
    "service documentation",
    "access activity log",
    "refund policy",
    "cancellation policy",
    "cancellation rebuttal",
    "duplicate charge explanation",
    "further explanation",
)
"""The texts of the evidence of a dispute."""
KINDS = ("confidential", "public", "automatic", "manual", "test", "refund", "withdrawal", "local administrator")
SPANS: tuple[tuple[int, LiteralString, LiteralString], ...] = (
    (86_400, "1 day", "%(count)s days"),
    (3_600, "1 hour", "%(count)s hours"),
    (60, "1 minute", "%(count)s minutes"),
    (1, "1 second", "%(count)s seconds"),
)
"""The units of a span of time, with their length in seconds."""
COUNTS = (
    "1 active connection",
    "none",
)
CURRENCIES = ("Euro", "US Dollar", "Pound Sterling", "Japanese Yen")
PROVIDER_FIELDS = (
    "Account holder name",
    "Reference",
    "Street name",
    "Building number",
    "Postcode",
    "Town",
    "Town name",
    "Country",
    "8 or 11 capital letters and digits. Banks outside the EEA can require it.",
    "Two capital letters, such as GB.",
)
METHODS = (
    "Card",
    "SEPA bank transfer",
    "USD Coin on Ethereum",
    "Tether USD on Ethereum",
)


def span(time: timedelta) -> Text:
    """`3 minutes`: a span of time in the largest unit that fits."""
    seconds = max(0, int(time.total_seconds()))
    length, one, many = next((unit for unit in SPANS if seconds >= unit[0]), SPANS[-1])
    count = seconds // length
    return Text(one if count == 1 else many, count=count)
