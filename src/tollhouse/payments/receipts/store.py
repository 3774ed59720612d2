"""SQL of receipts, their numbers, and the emails with them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments.legal_details import LEGAL_FIELDS, LegalDetails
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links.model import LineItem, TaxLine
from tollhouse.payments.receipts.model import PaidPayment, Receipt, Seller
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Row, Tx

# Only a payment that was credited has a receipt.
FIND = """
    SELECT t.id, t.merchant_id, t.mode, t.currency, t.amount_minor, t.received_minor, t.refunded_minor,
           t.charged_back_minor, t.method_id, t.succeeded_at, t.price_minor, t.quantity, l.token, l.display_name,
           l.external_id, l.customer_email, l.tax_lines, l.line_items, l.currency AS link_currency,
           l.amount_minor AS link_amount_minor, r.year, r.number, r.seller
    FROM transactions t
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    LEFT JOIN receipts r ON r.transaction_id = t.id
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.id = $3 AND t.succeeded_at IS NOT NULL
"""
SELLER = """
    SELECT business_name, time_zone, legal_name, address_line1, address_line2, postal_code, city, country, tax_id,
           register_entry
    FROM merchants WHERE id = $1
"""
# Of requests for the receipt of the same payment, the next statement of the second one sees the receipt of the first.
LOCK_PAYMENT = """
    SELECT id FROM transactions WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND succeeded_at IS NOT NULL
    FOR NO KEY UPDATE
"""
# The counter is taken and the receipt inserted in one statement: no number is lost, none is used twice.
ISSUE = """
    WITH counted AS (
        INSERT INTO receipt_counters AS c (merchant_id, mode, year, last_number)
        SELECT $1, $2, $4, 1 WHERE NOT EXISTS (SELECT FROM receipts WHERE transaction_id = $3)
        ON CONFLICT (merchant_id, mode, year) DO UPDATE SET last_number = c.last_number + 1
        RETURNING last_number
    )
    INSERT INTO receipts (transaction_id, merchant_id, mode, year, number, seller, issued_at)
    SELECT $3, $1, $2, $4, last_number, $5::jsonb, $6 FROM counted
"""
TAX_LINES = msgspec.json.Decoder(tuple[TaxLine, ...])
LINE_ITEMS = msgspec.json.Decoder(tuple[LineItem, ...])
SELLERS = msgspec.json.Decoder(Seller)
I24_NUMBERS = """
    SELECT format('%s %s %s has %s receipts, the last number is %s', c.merchant_id, c.mode, c.year, count(r.number),
                  c.last_number) AS line
    FROM receipt_counters c LEFT JOIN receipts r ON (r.merchant_id, r.mode, r.year) = (c.merchant_id, c.mode, c.year)
    GROUP BY c.merchant_id, c.mode, c.year
    HAVING (count(r.number), coalesce(max(r.number), 0)) <> (c.last_number, c.last_number)
"""
I24_PAID = """
    SELECT format('receipt of transaction %s, which was never credited', t.id) AS line
    FROM receipts r JOIN transactions t ON t.id = r.transaction_id WHERE t.succeeded_at IS NULL
"""
INVARIANTS = (
    Invariant("I24", "the numbers of receipts have no gaps", I24_NUMBERS, costly=True),
    Invariant("I24", "every receipt is of a credited payment", I24_PAID, costly=True),
)
MAILS_MAX = 3
"""Emails for each payment, as the constraint of the table says too."""
RequestedBy = Literal["payer", "merchant"]
# Nothing can be sent before the payment is credited, so this one is always the first.
REQUEST_MAIL = """
    INSERT INTO receipt_mails (transaction_id, ordinal, merchant_id, mode, requested_by, requested_at, next_attempt_at)
    VALUES ($3, 1, $1, $2, 'payment', $4, $4) ON CONFLICT DO NOTHING
"""
LIST_WAITING_MAILS = """
    SELECT m.merchant_id, m.mode, m.transaction_id, coalesce(t.payer_language, 'en') AS language, m.attempts
    FROM receipt_mails m JOIN transactions t ON t.id = m.transaction_id
    WHERE m.handled_at IS NULL AND m.next_attempt_at <= $2 ORDER BY m.next_attempt_at LIMIT $1
"""
MARK_HANDLED = """
    UPDATE receipt_mails SET handled_at = $2, withheld = $3, next_attempt_at = NULL
    WHERE transaction_id = $1 AND requested_by = 'payment' AND handled_at IS NULL
"""
WITHHOLD = """
    UPDATE receipt_mails SET handled_at = $2, withheld = true, next_attempt_at = NULL
    WHERE handled_at IS NULL AND transaction_id IN (SELECT id FROM transactions WHERE payment_link_id = ANY ($1::uuid[]))
"""
SCHEDULE_RETRY = """
    UPDATE receipt_mails SET attempts = $2 + 1, next_attempt_at = $3
    WHERE transaction_id = $1 AND requested_by = 'payment' AND handled_at IS NULL AND attempts = $2
"""
LOCK_RECEIPT = "SELECT transaction_id FROM receipts WHERE transaction_id = $1 FOR UPDATE"
INSERT_MAIL = """
    INSERT INTO receipt_mails (transaction_id, ordinal, merchant_id, mode, requested_by, requested_at, handled_at)
    SELECT $3, coalesce(max(ordinal), 0) + 1, $1, $2, $4, $5, $5 FROM receipt_mails WHERE transaction_id = $3
    HAVING count(*) < $6
"""
LIST_MAILS = """
    SELECT requested_by, requested_at, withheld FROM receipt_mails
    WHERE transaction_id = $1 AND handled_at IS NOT NULL ORDER BY ordinal
"""
FIND_VERIFIED_ADDRESS = """
    SELECT u.email FROM users u JOIN members m ON m.user_id = u.id AND m.removed_at IS NULL
    WHERE m.merchant_id = $1 AND u.email_key = $2 AND u.verified_at IS NOT NULL
"""


class PaymentReceipt(Struct, frozen=True):
    """A payment that was credited, and its receipt if it has one already."""

    payment: PaidPayment
    receipt: Receipt | None


async def find(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> PaymentReceipt | None:
    """The payment and its receipt; None if there is no such payment or it was never credited."""
    row = await db.fetchrow(FIND, env.merchant_id, env.mode, transaction_id)
    if row is None:
        return None
    payment = _payment(row)
    if row["number"] is None:
        return PaymentReceipt(payment, None)
    seller = SELLERS.decode(row["seller"])
    return PaymentReceipt(payment, Receipt(year=row["year"], ordinal=row["number"], seller=seller, payment=payment))


async def seller(db: Pool | Tx, env: MerchantEnv) -> Seller:
    """The merchant as it is now, with its business name."""
    [row] = await db.fetch(SELLER, env.merchant_id)
    return Seller(row["business_name"], row["time_zone"], LegalDetails(**{name: row[name] for name in LEGAL_FIELDS}))


async def issue(tx: Tx, payment: PaidPayment, year: int, seller: Seller, now: datetime) -> None:
    """Give the payment the next number of the year, unless it has a receipt."""
    env = payment.env
    if await tx.fetchrow(LOCK_PAYMENT, env.merchant_id, env.mode, payment.transaction_id) is not None:
        stored = msgspec.json.encode(seller).decode()
        await tx.execute(ISSUE, env.merchant_id, env.mode, payment.transaction_id, year, stored, now)


def _payment(row: Row) -> PaidPayment:
    return PaidPayment(
        transaction_id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        token=row["token"],
        display_name=row["display_name"],
        external_id=row["external_id"],
        customer_email=row["customer_email"],
        currency=row["currency"],
        amount_minor=row["amount_minor"],
        received_minor=row["received_minor"],
        refunded_minor=row["refunded_minor"],
        charged_back_minor=row["charged_back_minor"],
        method_id=row["method_id"],
        succeeded_at=row["succeeded_at"],
        link_currency=row["link_currency"],
        link_amount_minor=row["link_amount_minor"],
        tax_lines=TAX_LINES.decode(row["tax_lines"]),
        line_items=LINE_ITEMS.decode(row["line_items"]),
        price_minor=row["price_minor"],
        quantity=row["quantity"],
    )


class WaitingMail(Struct, frozen=True):
    """A receipt that the worker has to send, the language of the customer, and how often it could not be made."""

    env: MerchantEnv
    transaction_id: UUID
    language: str
    attempts: int


class ReceiptMail(Struct, frozen=True):
    """An email with a receipt that was sent or withheld."""

    requested_by: Literal["payment", "payer", "merchant"]
    requested_at: datetime
    withheld: bool


async def request_mail(tx: Tx, env: MerchantEnv, transaction_id: UUID, now: datetime) -> None:
    """Have the worker send the receipt of a payment that is being credited. A second time it has no effect."""
    await tx.write(REQUEST_MAIL, env.merchant_id, env.mode, transaction_id, now)


async def list_waiting_mails(db: Pool, limit: int, now: datetime) -> list[WaitingMail]:
    """The receipts to send, the longest due first."""
    return [
        WaitingMail(
            MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["transaction_id"], row["language"], row["attempts"]
        )
        for row in await db.fetch(LIST_WAITING_MAILS, limit, now)
    ]


async def schedule_retry(db: Pool, waiting: WaitingMail, at: datetime) -> None:
    """Try to make this receipt again then."""
    await db.execute(SCHEDULE_RETRY, waiting.transaction_id, waiting.attempts, at)


async def mark_handled(tx: Tx, transaction_id: UUID, now: datetime, *, withheld: bool) -> bool:
    """Mark the receipt as handled; False if somebody else did."""
    return await tx.execute(MARK_HANDLED, transaction_id, now, withheld) == 1


async def withhold(tx: Tx, link_ids: Sequence[UUID], now: datetime) -> None:
    """Withhold the receipts of these links that are still to be sent. Waits for one that is being enqueued."""
    await tx.execute(WITHHOLD, list(link_ids), now)


async def insert_mail(tx: Tx, env: MerchantEnv, transaction_id: UUID, requested_by: RequestedBy, now: datetime) -> bool:
    """Count an email that is sent now; False if there were `MAILS_MAX`."""
    await tx.fetchrow(LOCK_RECEIPT, transaction_id)
    return await tx.execute(INSERT_MAIL, env.merchant_id, env.mode, transaction_id, requested_by, now, MAILS_MAX) == 1


async def list_mails(db: Pool, transaction_id: UUID) -> list[ReceiptMail]:
    """The emails of a payment's receipt, oldest first."""
    rows = await db.fetch(LIST_MAILS, transaction_id)
    return [ReceiptMail(row["requested_by"], row["requested_at"], row["withheld"]) for row in rows]


async def find_verified_address(db: Pool | Tx, env: MerchantEnv, email_key: str) -> str | None:
    """The verified address of a user of the merchant as it was verified; None if there is none."""
    row = await db.fetchrow(FIND_VERIFIED_ADDRESS, env.merchant_id, email_key)
    return None if row is None else row["email"]
