"""SQL that finds payments which an unmatched transfer may belong to. Every part is bounded and uses an index."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database.pool import Pool
from tollhouse.rails.bank.files.transfer import NAME

FIND = """
    WITH payer AS MATERIALIZED (
        (SELECT merchant_id FROM rail_observations WHERE mode = 'live' AND payer_account = $5 LIMIT 100)
        UNION
        (SELECT merchant_id FROM rail_observations WHERE mode = 'live' AND lower(payer_name) = lower($6) LIMIT 100)
    ), found AS MATERIALIZED (
        (SELECT id FROM transactions WHERE rail = $1 AND mode = 'live' AND rail_reference = ANY($4))
        UNION
        (SELECT id FROM transactions
         WHERE rail = $1 AND mode = 'live' AND currency = $2 AND amount_minor = $3 AND status IN ('pending', 'expired')
         ORDER BY created_at DESC LIMIT 50)
    )
    SELECT t.id, m.business_name, l.display_name, l.external_id, t.currency, t.amount_minor, t.status, t.created_at,
           t.rail_reference AS reference, t.rail_reference = ANY($4) AS is_near,
           t.merchant_id IN (SELECT merchant_id FROM payer) AS has_payer_before
    FROM found f
    CROSS JOIN LATERAL (SELECT * FROM transactions WHERE id = f.id) t
    JOIN payment_links l ON l.id = t.payment_link_id JOIN merchants m ON m.id = t.merchant_id
"""


class Candidate(Struct, frozen=True, kw_only=True):
    """A payment that a transfer may belong to.

    `is_near`: its reference is one mistake away. `has_payer_before`: the payer has paid this merchant before.
    """

    id: UUID
    business_name: str
    display_name: str
    external_id: str | None
    currency: str
    amount_minor: int
    status: str
    created_at: datetime
    reference: str
    is_near: bool
    has_payer_before: bool


async def find_candidates(
    db: Pool, currency: str, amount_minor: int, near: Collection[str], account: str | None, name: str | None
) -> list[Candidate]:
    """Payments with one of the references in `near`, and the newest unpaid ones of this amount."""
    rows = await db.fetch(FIND, NAME, currency, amount_minor, list(near), account, name)
    return [Candidate(**dict(row)) for row in rows]
