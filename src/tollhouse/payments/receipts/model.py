"""The receipt of a payment: its number, its seller and its amounts."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments.legal_details import LegalDetails
from tollhouse.http.languages import ENGLISH
from tollhouse.http.texts import Texts
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.text import Text, Translatable
from tollhouse.payments.links.model import LineItem, TaxLine
from tollhouse.payments.receipts import labels

VAT_ID = re.compile(r"[A-Z]{2}[0-9A-Z+*]{2,13}")
"""A VAT identification number of the European Union: the country and up to 13 characters."""


class Seller(Struct, frozen=True):
    """The merchant when the receipt was issued. Dates are in its time zone."""

    name: str
    time_zone: str
    legal: LegalDetails = LegalDetails()

    def lines(self, language: str = ENGLISH) -> list[str]:
        """Name, address, tax ID with its label, and register entry, a text for each line."""
        legal = self.legal
        names = [legal.legal_name or self.name]
        if legal.legal_name and legal.legal_name != self.name:
            names.append(self.name)
        tax_ids = [Texts(language).translate(_tax_id(legal.tax_id))] if legal.tax_id else []
        return [*names, *legal.address_lines(language), *tax_ids, *filter(None, (legal.register_entry,))]


class ReceiptLine(Struct, frozen=True):
    """A line of the receipt. What was returned is negative. Items, net amount and taxes have the currency of the price.

    Each total is the sum of the addends since the one before, and that one. What a total includes follows it and is not
    added.
    """

    label: Translatable
    amount_minor: int
    currency: str
    kind: Literal["addend", "total", "included"] = "addend"


class PaidPayment(Struct, frozen=True, kw_only=True):
    """A payment that was credited, with the link that it paid.

    `link_amount_minor` is in the currency of the link, and the price of one if the payment has a quantity.
    `price_minor` is what it paid in the currency of the link, if it was made in another one.
    """

    transaction_id: UUID
    env: MerchantEnv
    token: str
    display_name: str
    external_id: str | None
    customer_email: str | None
    currency: str
    amount_minor: int
    received_minor: int
    refunded_minor: int
    charged_back_minor: int
    method_id: str
    succeeded_at: datetime
    link_currency: str
    link_amount_minor: int
    tax_lines: tuple[TaxLine, ...]
    line_items: tuple[LineItem, ...]
    price_minor: int | None = None
    quantity: int | None = None

    @property
    def price(self) -> tuple[str, int]:
        """The currency and amount of the price."""
        return (self.currency, self.amount_minor) if self.price_minor is None else (self.link_currency, self.price_minor)

    @property
    def is_whole(self) -> bool:
        """Whether it is for what the link sells; not if it is for another amount, such as a second payment of it."""
        return self.price == (self.link_currency, self.link_amount_minor * (self.quantity or 1))

    @property
    def items(self) -> tuple[LineItem, ...]:
        """What was sold, if that is more than a name."""
        if not self.is_whole:
            return ()
        if self.quantity is None:
            return self.line_items
        return (LineItem(self.display_name, self.quantity, self.link_amount_minor),)

    @property
    def taxes(self) -> tuple[TaxLine, ...]:
        """The taxes of the payment."""
        times = self.quantity or 1
        return tuple(TaxLine(line.name, line.amount_minor * times) for line in self.tax_lines) if self.is_whole else ()


class Receipt(Struct, frozen=True, kw_only=True):
    """The receipt of a payment. Number and seller never change; returned amounts are current."""

    year: int
    ordinal: int
    seller: Seller
    payment: PaidPayment

    @property
    def number(self) -> str:
        """`2026-001847`."""
        return f"{self.year}-{self.ordinal:06d}"

    @property
    def path(self) -> str:
        """The path of the checkout page with the receipt."""
        return f"/pay/{self.payment.token}?payment={self.payment.transaction_id}"

    @property
    def file_name(self) -> str:
        """The name of the PDF file."""
        return f"receipt-{self.number}.pdf"

    @property
    def lines(self) -> list[ReceiptLine]:
        """What was sold, what was paid, the taxes in it, and what was returned since."""
        return list(_lines(self.payment))


def _tax_id(entered: str) -> Text:
    """With the label that it has in the European Union, or that of a national number."""
    if VAT_ID.fullmatch(entered.replace(" ", "")):
        return Text("VAT ID: %(tax_id)s", tax_id=entered)
    return Text("Tax number: %(tax_id)s", tax_id=entered)


def _lines(paid: PaidPayment) -> Iterator[ReceiptLine]:
    currency, (price_currency, price_minor) = paid.currency, paid.price
    for item in paid.items:
        label = Text("%(quantity)s \N{MULTIPLICATION SIGN} %(name)s", quantity=item.quantity, name=item.name)
        yield ReceiptLine(label, item.amount_minor, price_currency)
    difference_minor, is_exchanged = paid.received_minor - paid.amount_minor, paid.price_minor is not None
    if is_exchanged or difference_minor:
        yield _sum(labels.PRICE if is_exchanged else labels.AMOUNT, price_minor, price_currency)
        yield from _included(paid)
    if difference_minor:
        if is_exchanged:
            yield ReceiptLine(labels.AMOUNT, paid.amount_minor, currency)
        yield ReceiptLine(labels.OVERPAID if difference_minor > 0 else labels.NOT_PAID, difference_minor, currency)
    yield _sum(labels.TOTAL_PAID, paid.received_minor, currency)
    if not (is_exchanged or difference_minor):
        yield from _included(paid)
    if paid.refunded_minor:
        yield ReceiptLine(labels.REFUNDED, -paid.refunded_minor, currency)
    if paid.charged_back_minor:
        yield ReceiptLine(labels.REVERSED, -paid.charged_back_minor, currency)
    if paid.refunded_minor or paid.charged_back_minor:
        remaining_minor = max(0, paid.received_minor - paid.refunded_minor - paid.charged_back_minor)
        yield _sum(labels.REMAINING, remaining_minor, currency)


def _sum(label: str, amount_minor: int, currency: str) -> ReceiptLine:
    return ReceiptLine(label, amount_minor, currency, "total")


def _included(paid: PaidPayment) -> Iterator[ReceiptLine]:
    """The taxes that the price includes, and what it is without them."""
    taxes, (currency, price_minor) = paid.taxes, paid.price
    for line in taxes:
        yield ReceiptLine(Text("including %(name)s", name=line.name), line.amount_minor, currency, "included")
    if taxes:
        net_minor = price_minor - sum(line.amount_minor for line in taxes)
        yield ReceiptLine(labels.NET, net_minor, currency, "included")
