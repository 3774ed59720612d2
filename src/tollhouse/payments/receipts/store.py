"""SQL of receipts and their numbers."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments.legal_details import LEGAL_FIELDS, LegalDetails
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links.model import LineItem, TaxLine
from tollhouse.payments.receipts.model import PaidPayment, Receipt, Seller
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
