"""SQL of what an owner sets for the team."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Tx

LOCK = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
REQUIRED = "SELECT second_factors_required_at IS NOT NULL FROM merchants WHERE id = $1"
LIMITS = "SELECT currency, amount_minor FROM support_refund_limits WHERE merchant_id = $1 ORDER BY currency"
DELETE_LIMITS = "DELETE FROM support_refund_limits WHERE merchant_id = $1"
INSERT_LIMIT = "INSERT INTO support_refund_limits (merchant_id, currency, amount_minor) VALUES ($1, $2, $3)"
REQUIRE = """
    UPDATE merchants SET second_factors_required_at = CASE WHEN $2 THEN coalesce(second_factors_required_at, $3) END
    WHERE id = $1
"""
# Of the payment, all its refunds together.
IS_WITHIN = """
    SELECT true FROM refunds r
    JOIN support_refund_limits l ON (l.merchant_id, l.currency) = (r.merchant_id, r.currency)
    WHERE r.merchant_id = $1 AND r.id = $2 AND l.amount_minor >= (
        SELECT sum(o.amount_minor) FROM refunds o
        WHERE o.transaction_id = r.transaction_id AND o.status NOT IN ('failed', 'canceled'))
"""


async def lock(tx: Tx, merchant_id: MerchantId) -> None:
    """Lock the settings: of two changes, the second sees what the first one wrote."""
    await tx.fetchval(LOCK, merchant_id)


async def refund_limits(db: Pool | Tx, merchant_id: MerchantId) -> dict[str, int]:
    """How much Support may refund of a payment, in minor units by currency."""
    return {row["currency"]: row["amount_minor"] for row in await db.fetch(LIMITS, merchant_id)}


async def are_factors_required(db: Pool | Tx, merchant_id: MerchantId) -> bool:
    """Whether every member needs a second factor."""
    [row] = await db.fetch(REQUIRED, merchant_id)
    return bool(row[0])


async def replace_refund_limits(tx: Tx, merchant_id: MerchantId, limits: Mapping[str, int]) -> None:
    """Set how much Support may refund of a payment."""
    await tx.execute(DELETE_LIMITS, merchant_id)
    for currency, amount_minor in limits.items():
        await tx.execute(INSERT_LIMIT, merchant_id, currency, amount_minor)


async def require_factors(tx: Tx, merchant_id: MerchantId, now: datetime, *, required: bool) -> None:
    """Require a second factor of every member, or no longer."""
    await tx.execute(REQUIRE, merchant_id, required, now)


async def is_refund_within(tx: Tx, merchant_id: MerchantId, refund_id: UUID) -> bool:
    """Whether the refunds of the payment, with this one, are within what Support may refund."""
    return bool(await tx.fetchval(IS_WITHIN, merchant_id, refund_id))
