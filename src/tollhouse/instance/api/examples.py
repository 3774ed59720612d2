"""Examples of members that mean the same in many types. Any other example stands at its field."""

from collections.abc import Mapping
from typing import Any

from tollhouse.http.openapi_schemas import ExampleValues

CLIENT_ID = "thc_4fJ2kQ9sXv7LmB3nRt6Yc1"
METHOD = "sandbox:EUR"
SCOPES = ["payments:read", "payments:write"]

MEMBERS: Mapping[str, Any] = {
    "mode": "test",
    "livemode": False,
    "has_more": False,
    "version": 1,
    "amount": "4.20",
    "currency": "EUR",
    "decimals": 2,
    "default_currency": "EUR",
    "from_currency": "EUR",
    "to_currency": "USD",
    "rate": "1.08",
    "minimum_minor": 1,
    "maximum_minor": 1_000_000,
    "business_name": "Corner Shop",
    "display_name": "Corner Shop",
    "email": "you@example.com",
    "receiver": "Nina Nowak",
    "external_id": "order-1001",
    "metadata": {"order": "1001"},
    "webhook_url": "https://shop.example/hooks/tollhouse",
    "website_url": "https://northwind.example",
    "method_id": METHOD,
    "payment_method_ids": [METHOD],
    "network": "sandbox",
    "network_fee_mode": "deduct",
    "provider_fields": {},
    "product_id": "sandbox:gems",
    "client_id": CLIENT_ID,
    "oauth_client_id": CLIENT_ID,
    "scopes": SCOPES,
    "scope": " ".join(SCOPES),
    "code": "EUR",
    "expires_at": "2026-11-22T09:30:00.000Z",
    "from": "2026-11-01T00:00:00.000Z",
    "to": "2026-12-21T09:30:00.000Z",
}
MINOR: Mapping[str, int] = dict.fromkeys(
    (
        "amount",
        "amount_received",
        "net",
        "refundable_amount",
        "available",
        "total",
        "balance_after",
        "debit",
        "receive",
        "from_amount",
        "cost",
        "charged",
        "captured",
        "payments_gross",
        "closing",
    ),
    420,
) | {"to_amount": 453, "unit_price": 42, "price": 42}
USUAL = ExampleValues(members=MEMBERS, minor=MINOR)
