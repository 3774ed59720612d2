"""Every SQL statement about deliveries that fail, of all merchants: how many, whose, and why."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.operator.model import FailingEvent, FailingMerchant
from tollhouse.platform.db import Pool

# What has failed is in a table of its own; what is retried or held, among the few rows that are still to be sent.
FAILING = """
    WITH failing AS (
        SELECT merchant_id, mode, 'failed' AS status, failed_at AS since FROM webhook_failures WHERE failed_at > $1
        UNION ALL
        SELECT d.merchant_id, d.mode, e.status, e.created_at
        FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
        WHERE (d.held OR d.tries > 0 OR d.lost > 0) AND e.status IN ('retrying', 'held')
    )
    SELECT f.merchant_id, m.business_name, f.mode, count(*) FILTER (WHERE f.status = 'failed') AS failed,
           count(*) FILTER (WHERE f.status = 'retrying') AS retrying, count(*) FILTER (WHERE f.status = 'held') AS held,
           min(f.since) AS since
    FROM failing f JOIN merchants m ON m.id = f.merchant_id
    GROUP BY f.merchant_id, m.business_name, f.mode ORDER BY count(*) DESC, f.merchant_id, f.mode LIMIT $2 OFFSET $3
"""
FAILING_OF_MERCHANT = """
    WITH failing AS (
        SELECT event_id FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
        UNION
        SELECT d.event_id FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
        WHERE d.merchant_id = $1 AND d.mode = $2 AND e.status IN ('retrying', 'held')
    )
    SELECT e.id, e.type, e.status, e.attempts, e.destination_url, e.created_at, e.next_attempt_at,
           a.error, a.http_status, a.started_at
    FROM failing f JOIN webhook_events e ON e.id = f.event_id
    LEFT JOIN webhook_attempts a ON a.event_id = e.id AND a.attempt = e.attempts
    ORDER BY e.created_at DESC, e.id DESC LIMIT $4 OFFSET $5
"""
LOOKED_BACK = timedelta(days=7)


async def failing(db: Pool, now: datetime, limit: int, offset: int) -> list[FailingMerchant]:
    """Merchants whose events failed of late, are retried or held; those with the most first."""
    return [
        FailingMerchant(
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["failed"],
            row["retrying"],
            row["held"],
            stamp(row["since"]),
        )
        for row in await db.fetch(FAILING, now - LOOKED_BACK, limit, offset)
    ]


async def failing_of(db: Pool, env: MerchantEnv, now: datetime, limit: int, offset: int) -> list[FailingEvent]:
    """Those events of one merchant and environment, newest first. What they say is nobody's business here."""
    return [
        FailingEvent(
            row["id"],
            row["type"],
            row["status"],
            row["attempts"],
            urlsplit(row["destination_url"] or "").hostname,
            row["error"],
            row["http_status"],
            stamp_or_none(row["started_at"]),
            stamp_or_none(row["next_attempt_at"]),
            stamp(row["created_at"]),
        )
        for row in await db.fetch(FAILING_OF_MERCHANT, env.merchant_id, env.mode, now - LOOKED_BACK, limit, offset)
    ]
