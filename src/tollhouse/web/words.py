"""Words that pages show and that nobody wrote as a sentence: what is stored, such as a status, and spans of time.

A page shows them by the filter `told`. They stand here so that catalogues know them.
"""

ENVIRONMENTS = ("test", "live")
STATUSES = (
    "active",
    "approved",
    "canceled",
    "captured",
    "closed",
    "completed",
    "confirmed",
    "delivered",
    "disabled",
    "enabled",
    "expired",
    "exported",
    "failed",
    "held",
    "in review",
    "invited",
    "on",
    "partially completed",
    "partially refunded",
    "paused",
    "pending",
    "pending review",
    "prepared",
    "processing",
    "refunded",
    "refused",
    "rejected",
    "released",
    "reserved",
    "retrying",
    "returned",
    "revoked",
    "skipped",
    "succeeded",
    "suspended",
)
KINDS = ("confidential", "public", "automatic", "manual", "test", "refund", "withdrawal")
DEEDS = (
    "merchant suspended",
    "merchant reactivated",
    "project approved",
    "project rejected",
    "balance adjusted",
    "operator invited",
    "operator joined",
    "operator closed",
    "withdrawal approved",
    "withdrawal rejected",
    "statement imported",
    "transfer assigned",
    "transfer dismissed",
    "batch exported",
    "payout refused",
)
SPANS = (
    "1 day",
    "%(count)s days",
    "1 hour",
    "%(count)s hours",
    "1 minute",
    "%(count)s minutes",
    "1 second",
    "%(count)s seconds",
)
COUNTS = (
    "more than %(count)s",
    "1 active connection",
    "more than %(count)s active connections",
    "entry",
    "entries",
    "was",
    "were",
    "wait",
    "waits",
    "none",
)
PROVIDER_FIELDS = ("Account holder name", "Reference")
METHODS = (
    "Test payment in %(currency)s",
    "Test withdrawal in %(currency)s",
    "SEPA bank transfer",
    "USD Coin on Ethereum",
    "Tether USD on Ethereum",
)
