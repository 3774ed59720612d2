"""SQL of failing deliveries of all merchants."""

from datetime import datetime
from urllib.parse import urlsplit

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.pages.console.model import FAILURES_SHOWN_FOR, FailingEvent, FailingMerchant
from tollhouse.platform.database.pool import Pool

# Failed, retried and held deliveries are in tables of their own, so that the much larger event table is not read.
FAILING = """
    WITH failing AS (
        SELECT merchant_id, mode, 'failed' AS status, failed_at FROM webhook_failures WHERE failed_at > $1
        UNION ALL
        SELECT merchant_id, mode, CASE WHEN held THEN 'held' ELSE 'retrying' END, NULL FROM webhook_deliveries_later
        UNION ALL
        SELECT merchant_id, mode, CASE WHEN held THEN 'held' ELSE 'retrying' END, NULL FROM webhook_deliveries
        WHERE automatic_at IS NOT NULL AND (held OR tries > 0 OR lost > 0)
    )
    SELECT f.merchant_id, m.business_name, f.mode, count(*) FILTER (WHERE f.status = 'failed') AS failed,
           count(*) FILTER (WHERE f.status = 'retrying') AS retrying, count(*) FILTER (WHERE f.status = 'held') AS held,
           max(f.failed_at) AS last_failed_at
    FROM failing f JOIN merchants m ON m.id = f.merchant_id
    GROUP BY f.merchant_id, m.business_name, f.mode ORDER BY count(*) DESC, f.merchant_id, f.mode LIMIT $2 OFFSET $3
"""
# Ids are in order of time: the newest are selected before events are read.
FAILING_OF_MERCHANT = """
    WITH failing AS (
        SELECT event_id FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
        UNION
        SELECT event_id FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2
        UNION
        SELECT event_id FROM webhook_deliveries
        WHERE merchant_id = $1 AND mode = $2 AND automatic_at IS NOT NULL AND (held OR tries > 0 OR lost > 0)
        ORDER BY event_id DESC LIMIT $4 OFFSET $5
    )
    SELECT e.id, e.type, e.status, e.attempts, e.destination_url, e.created_at, e.next_attempt_at,
           a.error, a.http_status, a.started_at
    FROM failing f JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    LEFT JOIN webhook_attempts a ON a.event_id = e.id AND a.attempt = e.attempts
    ORDER BY e.id DESC
"""
DELETE_OLD_FAILURES = """
    DELETE FROM webhook_failures WHERE event_id IN (
        SELECT event_id FROM webhook_failures WHERE failed_at <= $1 ORDER BY failed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def failing(db: Pool, now: datetime, limit: int, offset: int) -> list[FailingMerchant]:
    """Merchants with events that failed recently, are retried or held; those with the most first."""
    return [
        FailingMerchant(
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["failed"],
            row["retrying"],
            row["held"],
            stamp_or_none(row["last_failed_at"]),
        )
        for row in await db.fetch(FAILING, now - FAILURES_SHOWN_FOR, limit, offset)
    ]


async def failing_of(db: Pool, env: MerchantEnv, now: datetime, limit: int, offset: int) -> list[FailingEvent]:
    """The failing events of one merchant and environment, newest first, without their content."""
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
        for row in await db.fetch(FAILING_OF_MERCHANT, env.merchant_id, env.mode, now - FAILURES_SHOWN_FOR, limit, offset)
    ]
