"""What an event is about, as lists and pages of events show it: the kind of object, its amount, and its page."""

from typing import NamedTuple

import msgspec
from msgspec import Struct

from tollhouse.webhooks.endpoints.model import WebhookEvent

PARTS = {
    "transaction": "payments",
    "payment_link": "payment-links",
    "withdrawal": "withdrawals",
    "conversion": "conversions",
}
"""The part of the dashboard that has the page of such an object."""
KINDS = {
    "transaction": "Payment",
    "payment_link": "Payment link",
    "withdrawal": "Withdrawal",
    "conversion": "Conversion",
    "balance": "Balance",
    "fulfillment": "Fulfillment",
    "balance_payment": "Balance payment",
}
TEST = "Test event"


class SubjectLink(NamedTuple):
    """The page of an event's object, and its kind."""

    path: str
    kind: str


class EventSubject(Struct, frozen=True):
    """What an event is about. Objects without an amount have an empty one, and those without a page no link."""

    label: str
    id: str
    amount: str
    currency: str
    link: SubjectLink | None


class _Object(Struct):
    object: str = ""
    id: str = ""
    currency: str | None = None
    amount: str | None = None
    delta: str | None = None
    from_currency: str | None = None
    from_amount: str | None = None


class _Data(Struct):
    object: _Object
    test: bool = False


class _Payload(Struct):
    data: _Data


def subject_of(event: WebhookEvent) -> EventSubject:
    """The object in the payload of an event."""
    data = msgspec.json.decode(event.payload, type=_Payload).data
    shown, part = data.object, PARTS.get(data.object.object)
    link = None if part is None or data.test else SubjectLink(f"/{event.env.mode}/{part}/{shown.id}", shown.object)
    amount, currency = shown.amount or shown.delta or shown.from_amount, shown.currency or shown.from_currency
    if amount is None or currency is None:
        amount = currency = ""
    is_test = data.test or event.destination_source == "test"
    return EventSubject(TEST if is_test else KINDS.get(shown.object, shown.object), shown.id, amount, currency, link)
