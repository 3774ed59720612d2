"""What the PDF file of a receipt says, in the language of the reader and the time zone of the seller."""

from typing import Literal

from msgspec import Struct

from tollhouse.http.local_formats import Formats
from tollhouse.http.texts import Texts
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, zone_of
from tollhouse.kernel.text import Text
from tollhouse.payments.receipts import labels
from tollhouse.payments.receipts.model import Receipt

TEST_NOTE = "This is a test payment. No real money was moved."
PARTLY_REFUNDED = "Part of this payment was refunded."
FULLY_REFUNDED = "This payment was fully refunded."
REVERSED_NOTE = "The customer's bank has reversed this payment."
UNPRINTABLE_NOTE = "A question mark stands for a character that this file cannot show. The receipt's page shows it."
Pair = tuple[str, str]


class DocumentLine(Struct, frozen=True):
    """A line of the sum: its label and amount."""

    label: str
    amount: str
    kind: Literal["addend", "total", "included"]


class ReceiptDocument(Struct, frozen=True, kw_only=True):
    """A receipt as text. The same document is the same file."""

    language: str
    title: str
    number: Pair
    issued_on: str
    seller_name: str
    seller_label: str
    seller: tuple[str, ...]
    lines: tuple[DocumentLine, ...]
    facts: tuple[Pair, ...]
    notes: tuple[str, ...]
    unprintable_note: str


def receipt_document(receipt: Receipt, language: str, catalogue: Catalogue) -> ReceiptDocument:
    """The document of a receipt, with the amounts that are current."""
    texts, paid = Texts(language), receipt.payment
    formats = Formats(language, zone_of(receipt.seller.time_zone))
    paid_at = stamp(paid.succeeded_at)
    facts = [
        (labels.PRODUCT, paid.display_name),
        (labels.PAID, f"{formats.long_day(paid_at)}, {formats.hour(paid_at)}"),
        (labels.METHOD, texts.translate(catalogue.label_of(paid.method_id))),
        (labels.ORDER, paid.external_id or ""),
        (labels.PAYMENT_ID, str(paid.transaction_id)),
    ]
    return ReceiptDocument(
        language=language,
        title=texts.translate(Text("Receipt %(number)s", number=receipt.number)),
        number=(texts.translate(labels.NUMBER), receipt.number),
        issued_on=paid_at,
        seller_name=receipt.seller.name,
        seller_label=texts.translate(labels.SOLD_BY),
        seller=tuple(receipt.seller.lines(language)),
        lines=tuple(
            DocumentLine(
                texts.translate(line.label),
                formats.money(catalogue.format_amount(line.amount_minor, line.currency), line.currency),
                line.kind,
            )
            for line in receipt.lines
        ),
        facts=tuple((texts.translate(label), value) for label, value in facts if value),
        notes=tuple(texts.translate(note) for note in _notes(receipt)),
        unprintable_note=texts.translate(UNPRINTABLE_NOTE),
    )


def _notes(receipt: Receipt) -> list[str]:
    paid = receipt.payment
    notes: list[str] = [] if paid.env.livemode else [TEST_NOTE]
    if paid.refunded_minor:
        notes.append(FULLY_REFUNDED if paid.refunded_minor >= paid.received_minor else PARTLY_REFUNDED)
    if paid.charged_back_minor:
        notes.append(REVERSED_NOTE)
    return notes
