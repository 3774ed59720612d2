"""Every SQL statement about statistics of fulfillments. A row is of one group, or with `whole` of all groups."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row

Selection = tuple[datetime, datetime, str | None, UUID | None, str | None]
"""Start, end, product, project and grouping."""

COUNTS = """
    SELECT key, grouping(key) = 1 AS whole, count(*) AS count, count(*) FILTER (WHERE status = 'completed') AS completed,
           count(*) FILTER (WHERE status = 'partially_completed') AS partially_completed,
           count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'canceled') AS canceled,
           count(*) FILTER (WHERE status IN ('pending', 'processing')) AS pending,
           sum(delivered_quantity)::bigint AS quantity_delivered,
           ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY took_s))::bigint AS p50_seconds,
           ceil(percentile_cont(0.95) WITHIN GROUP (ORDER BY took_s))::bigint AS p95_seconds
    FROM (SELECT f.*, extract(epoch FROM completed_at - created_at)::double precision AS took_s,
                 CASE $7::text WHEN 'day' THEN to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
                               WHEN 'product' THEN product_id WHEN 'status' THEN status END AS key
          FROM fulfillments f
          WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
            AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)) x
    GROUP BY GROUPING SETS ((), (key)) HAVING count(*) > 0 ORDER BY key
"""
COSTS = """
    SELECT key, grouping(key) = 1 AS whole, currency, sum(unit_price_minor * delivered_quantity)::bigint AS charged
    FROM (SELECT f.*, CASE $7::text WHEN 'day' THEN to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
                                    WHEN 'product' THEN product_id WHEN 'status' THEN status END AS key
          FROM fulfillments f
          WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
            AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)) x
    GROUP BY GROUPING SETS ((currency), (key, currency)) HAVING sum(delivered_quantity) > 0 ORDER BY currency
"""


async def get(db: Pool, env: MerchantEnv, selection: Selection) -> tuple[list[Row], list[Row]]:
    """The counts, and the charged amounts by currency, in one snapshot."""
    async with db.connection() as tx, tx.snapshot():
        row = (env.merchant_id, env.mode)
        return await tx.fetch(COUNTS, *row, *selection), await tx.fetch(COSTS, *row, *selection)
