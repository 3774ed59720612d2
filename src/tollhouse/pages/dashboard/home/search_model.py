"""What people type into the search, and what it finds."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.ids import ID_PATTERN, Mode, parse_id
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable

TEXT_CHARS_MAX = 200
ID = re.compile(ID_PATTERN)
TOKEN = re.compile(r"[a-z2-7]{26}")
SHORT_ID = re.compile("([0-9a-f]{8})(?:\N{HORIZONTAL ELLIPSIS}|[.]{3})([0-9a-f]{4})")
"""An ID as pages show it: its first eight and its last four characters."""
RECEIPT_NUMBER = re.compile(r"([12][0-9]{3})-([0-9]{6,9})")
LIKE_SIGNS = re.compile(r"([\\%_])")

ObjectKind = Literal[
    "payment",
    "payment_link",
    "refund",
    "withdrawal",
    "balance_payment",
    "received_balance_payment",
    "conversion",
    "fulfillment",
    "project",
    "event",
    "request",
]
PATHS: Mapping[ObjectKind, str] = {
    "payment": "payments/{id}",
    "payment_link": "payment-links/{id}",
    "refund": "payments/{parent}",
    "withdrawal": "withdrawals/{id}",
    "balance_payment": "balance-payments/{id}",
    "received_balance_payment": "balance-payments/received/{parent}/{id}",
    "conversion": "conversions/{id}",
    "fulfillment": "fulfillments/{id}",
    "project": "projects/{id}",
    "event": "developers/events/{id}",
    "request": "developers/requests/{id}",
}
"""The page of each kind of object. A refund is shown on the page of its payment, which is its `parent`."""


class SearchQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?q=` of the search. Empty: nothing was searched yet."""

    q: str = ""

    @property
    def text(self) -> str:
        """The typed text; any white space is one space."""
        return " ".join(self.q.split())

    @property
    def rejection(self) -> Translatable:
        """Why this cannot be searched; empty if it can."""
        if len(self.text) > TEXT_CHARS_MAX:
            return Text("Enter at most %(most)s characters.", most=TEXT_CHARS_MAX)
        return "" if self.text.isprintable() else "Enter text without control characters."


class FoundObject(Struct, frozen=True):
    """An object by its ID or token."""

    kind: ObjectKind
    mode: Mode
    id: UUID
    parent: str | None = None

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/{self.mode}/{PATHS[self.kind].format(id=self.id, parent=self.parent)}"


class FoundCustomer(Struct, frozen=True):
    """A customer by email address: the ID of a payment link, and the number of payments, counted up to a limit."""

    id: UUID
    email: str
    payments: int


class FoundOrder(Struct, frozen=True):
    """A withdrawal, refund, conversion, balance payment or fulfillment."""

    found: FoundObject
    currency: str
    amount_minor: int
    status: str
    external_id: str | None
    created_at: datetime


class TypedAmounts(Struct, frozen=True):
    """The amounts that a text can mean: codes of currencies, each with its amount in minor units."""

    currencies: list[str]
    minors: list[int]


def named_id(text: str) -> UUID | None:
    """The ID that the text is, or the last one in the path of the URL that it is."""
    lower = text.lower()
    if parse_id(lower) is not None:
        return parse_id(lower)
    found = ID.findall(_path_of(lower))
    return parse_id(found[-1]) if found else None


class ShortId(Struct, frozen=True):
    """An ID as pages show it: the smallest and the largest ID that begins so, and how it ends."""

    first: UUID
    last: UUID
    end: str


def named_short_id(text: str) -> ShortId | None:
    """The shortened ID that the text is."""
    found = SHORT_ID.fullmatch(text.lower())
    if found is None:
        return None
    start, end = found.groups()
    return ShortId(UUID(start + "0" * 24), UUID(start + "f" * 24), end)


def named_receipt(text: str) -> tuple[int, int] | None:
    """The year and the number of the receipt whose number the text is, also after a word such as "No."."""
    found = RECEIPT_NUMBER.fullmatch(text.rpartition(" ")[2])
    return None if found is None else (int(found[1]), int(found[2]))


def named_token(text: str) -> str | None:
    """The token of a payment link that the text is, or that stands in the URL of a checkout page."""
    if TOKEN.fullmatch(text):
        return text
    token = _path_of(text).partition("/pay/")[2].split("/")[0]
    return token if TOKEN.fullmatch(token) else None


def typed_amounts(text: str, currencies: Mapping[str, Currency]) -> TypedAmounts:
    """The text as an amount of each currency that it can be one of."""
    found = [
        (code, minor)
        for code, currency in currencies.items()
        if (minor := parse_amount(read_amount(text, currency), currency.decimals)) is not None
    ]
    return TypedAmounts([code for code, _ in found], [minor for _, minor in found])


def prefix_pattern(text: str) -> str:
    """The LIKE pattern of what begins with the text."""
    return LIKE_SIGNS.sub(r"\\\1", text) + "%"


def _path_of(text: str) -> str:
    """The path of a URL; empty for any other text."""
    if not text.startswith(("http://", "https://", "/")):
        return ""
    try:
        return urlsplit(text).path
    except ValueError:
        return ""
