"""SQL of statistics of fulfillments. Those that ended are in the running totals, by creation; open ones are counted."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books.running_totals_store import list_added
from tollhouse.platform.database.pool import Pool

# Within a quarter hour: created from $3 until before $4.
FULFILLED = """
    SELECT currency, status AS type, false AS raised, product_id AS method_id,
           sum(unit_price_minor * delivered_quantity)::text AS amount, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
      AND status NOT IN ('pending', 'processing')
      AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)
    GROUP BY currency, status, product_id
"""
DELIVERED = """
    SELECT '' AS currency, status || ' ' || delivery_seconds(created_at, completed_at) AS type, true AS raised,
           product_id AS method_id, sum(delivered_quantity)::text AS amount, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
      AND status NOT IN ('pending', 'processing') AND completed_at IS NOT NULL
      AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)
    GROUP BY 2, 4
"""
# $3: the starts of the parts, and the end of the last one. Parts are numbered from 1. The index has no completed
# fulfillments.
OPEN = """
    SELECT width_bucket(created_at, $3::timestamptz[]) AS part, status, product_id, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND status IN ('pending', 'processing')
      AND created_at >= ($3::timestamptz[])[1] AND created_at < ($3::timestamptz[])[cardinality($3::timestamptz[])]
      AND ($4::text IS NULL OR product_id = $4) AND ($5::uuid IS NULL OR project_id = $5)
    GROUP BY 1, 2, 3
"""


class FulfillmentPart(Struct, frozen=True, kw_only=True):
    """Fulfillments of a product and status that were created in a part of the period. Parts are numbered from 1.

    Either `count` of them with what was charged for them, or `deliveries` that took `seconds` with their `units`.
    """

    number: int
    status: str
    product_id: str
    count: int = 0
    currency: str = ""
    charged_minor: int = 0
    deliveries: int = 0
    seconds: int = 0
    units: int = 0


async def list_parts(
    db: Pool, env: MerchantEnv, bounds: Sequence[datetime], product_id: str | None, project_id: UUID | None
) -> list[FulfillmentPart]:
    """What was ordered between these moments, read in one snapshot."""
    only = (product_id, project_id)
    async with db.connection() as tx, tx.snapshot():
        opened = await tx.fetch(OPEN, env.merchant_id, env.mode, bounds, *only)
        fulfilled = await list_added(tx, env, "fulfilled", bounds, FULFILLED, only)
        delivered = await list_added(tx, env, "delivered", bounds, DELIVERED, only)
    found = [
        FulfillmentPart(number=row["part"], status=row["status"], product_id=row["product_id"], count=row["count"])
        for row in opened
    ]
    for series, number, added in fulfilled:
        part = FulfillmentPart(
            number=number,
            status=series.type,
            product_id=series.method_id,
            count=added.count,
            currency=series.currency,
            charged_minor=added.minor,
        )
        found.append(part)
    for series, number, added in delivered:
        status, seconds = series.type.split()
        part = FulfillmentPart(
            number=number,
            status=status,
            product_id=series.method_id,
            deliveries=added.count,
            seconds=int(seconds),
            units=added.minor,
        )
        found.append(part)
    return found
