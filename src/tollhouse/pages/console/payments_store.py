"""SQL of the operators' search for payments of all merchants. Every part is bounded and uses an index."""

from collections.abc import Collection
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool, Row

FOUND_MAX = 1_000
"""How many payments of a customer or link are looked at."""
NEWEST_SEARCHED = 5_000
"""Among how many payments names, external IDs and email addresses are searched."""
COLUMNS = """t.id, t.merchant_id, m.business_name, t.mode, l.display_name, l.external_id, t.method_id, t.currency,
           t.amount_minor, t.received_minor, t.status, t.rail_reference, t.created_at"""
JOINED = "JOIN payment_links l ON l.id = t.payment_link_id JOIN merchants m ON m.id = t.merchant_id"
# Ids are in order of time.
NEWEST = f"SELECT {COLUMNS} FROM transactions t {JOINED} ORDER BY t.id DESC LIMIT $1 OFFSET $2"
# $1: an id of a payment, link, refund, dispute or receipt. $2: references at a rail, of the rails $3. $4: an account or name
# that paid. $5: the beginning of an external id, email address or name, among the newest payments.
SEARCH = f"""
    WITH found AS MATERIALIZED (
        (SELECT id FROM transactions WHERE id = $1)
        UNION (SELECT id FROM transactions WHERE payment_link_id = $1 ORDER BY created_at DESC LIMIT {FOUND_MAX})
        UNION (SELECT transaction_id FROM refunds WHERE id = $1)
        UNION (SELECT id FROM transactions
               WHERE rail = ANY ($3::text[]) AND mode = ANY ('{{live,test}}') AND rail_reference = ANY ($2::text[]))
        UNION (SELECT transaction_id FROM rail_observations
               WHERE mode = 'live' AND payer_account = $4 LIMIT {FOUND_MAX})
        UNION (SELECT transaction_id FROM rail_observations
               WHERE mode = 'live' AND lower(payer_name) = lower($4) LIMIT {FOUND_MAX})
        UNION (SELECT newest.id
               FROM (SELECT id, payment_link_id FROM transactions ORDER BY id DESC LIMIT {NEWEST_SEARCHED}) newest
               JOIN payment_links l ON l.id = newest.payment_link_id
               WHERE l.external_id LIKE $5 OR lower(l.customer_email) LIKE lower($5)
                  OR ' ' || lower(l.display_name) LIKE '% ' || lower($5))
    )
    SELECT {COLUMNS} FROM found CROSS JOIN LATERAL (SELECT * FROM transactions WHERE id = found.id) t {JOINED}
    ORDER BY t.id DESC LIMIT $6 OFFSET $7
"""


class FoundPayment(Struct, frozen=True, kw_only=True):
    """A payment as operators find it. `reference` is the one that the customer states, or the address that is paid."""

    id: UUID
    merchant_id: MerchantId
    business_name: str
    mode: Mode
    display_name: str
    external_id: str | None
    method_id: str
    currency: str
    amount: str
    received: str | None
    status: str
    reference: str
    created_at: Timestamp


class Wanted(Struct, frozen=True):
    """What a search is for: an id, references at a rail, an account or name that paid, and a pattern of names."""

    id: UUID | None
    references: Collection[str]
    payer: str
    pattern: str


async def list_newest(db: Pool, catalogue: Catalogue, limit: int, offset: int) -> list[FoundPayment]:
    """Payments of all merchants, newest first."""
    return [_from_row(row, catalogue) for row in await db.fetch(NEWEST, limit, offset)]


async def search(
    db: Pool, catalogue: Catalogue, wanted: Wanted, rails: Collection[str], limit: int, offset: int
) -> list[FoundPayment]:
    """Payments that match, newest first."""
    values = (wanted.id, list(wanted.references), list(rails), wanted.payer, wanted.pattern)
    return [_from_row(row, catalogue) for row in await db.fetch(SEARCH, *values, limit, offset)]


def _from_row(row: Row, catalogue: Catalogue) -> FoundPayment:
    currency, received_minor = row["currency"], row["received_minor"]
    received = None if received_minor in {0, row["amount_minor"]} else catalogue.format_amount(received_minor, currency)
    amount = catalogue.format_amount(row["amount_minor"], currency)
    return read_row(FoundPayment, row, amount=amount, received=received, reference=row["rail_reference"])
