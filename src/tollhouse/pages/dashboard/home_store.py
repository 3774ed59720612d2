"""SQL of the home page. Volumes, failed payments and refunds are in the running totals."""

from datetime import datetime

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.periods import Span
from tollhouse.ledger.books.running_totals_store import list_added
from tollhouse.pages.dashboard.home_model import (
    CurrencyCount,
    LatestPayment,
    MethodVolume,
    PeriodTotals,
    SetupProgress,
    UndeliveredEvents,
)
from tollhouse.platform.database.pool import Pool, Tx

# Within a quarter hour: from $3 until before $4.
SUCCEEDED = """
    SELECT currency, '' AS type, true AS raised, method_id, sum(credited_minor)::text AS amount, count(*) AS count
    FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND succeeded_at >= $3 AND succeeded_at < $4
    GROUP BY currency, method_id
"""
FAILED = """
    SELECT currency, '' AS type, true AS raised, '' AS method_id, '0' AS amount, count(*) AS count
    FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND status = 'failed' AND updated_at >= $3 AND updated_at < $4
    GROUP BY currency
"""
# Refunds of unapplied money do not reduce the merchant's balance.
REFUNDED = """
    SELECT currency, '' AS type, false AS raised, '' AS method_id, sum(amount_minor - unapplied_minor)::text AS amount,
           count(*) AS count
    FROM refunds
    WHERE merchant_id = $1 AND mode = $2 AND status = 'succeeded' AND unapplied_minor < amount_minor
      AND created_at >= $3 AND created_at < $4
    GROUP BY currency
"""
# The newest payments are selected before the join. A pending payment of an ended link counts as expired.
LATEST = """
    SELECT t.id, l.display_name, t.currency, t.amount_minor, t.method_id, t.created_at,
           CASE WHEN t.status = 'pending' AND t.received_minor = 0
                     AND (l.status IN ('completed', 'expired') OR (l.status = 'active' AND l.expires_at <= $3::timestamptz
                          + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')))
                THEN 'expired' ELSE t.status END AS status
    FROM (SELECT * FROM transactions WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $4) AS t
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = ($1, $2, t.payment_link_id)
    ORDER BY t.created_at DESC, t.id DESC
"""
# Counts stop at $3.
TO_DECIDE = """
    SELECT count(*) FROM (SELECT FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND status = 'refund_required' LIMIT $3) AS counted
"""
# Counts stop at $4.
UNDELIVERED = """
    SELECT (SELECT count(*) FROM (SELECT FROM webhook_failures
            WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3 LIMIT $4) AS counted) AS failed,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND NOT held LIMIT $4) AS counted) AS retrying,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND held LIMIT $4) AS counted) AS held
"""
SETUP = """
    SELECT EXISTS (SELECT FROM projects WHERE merchant_id = $1 AND mode = $2 AND status = 'approved') AS project,
           EXISTS (SELECT FROM transactions
                   WHERE merchant_id = $1 AND mode = $2 AND succeeded_at IS NOT NULL) AS payment,
           EXISTS (SELECT FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active') AS webhook,
           EXISTS (SELECT FROM api_keys WHERE merchant_id = $1 AND mode = $2 AND revoked_at IS NULL) AS api_key,
           EXISTS (SELECT FROM users u JOIN second_factors f ON f.holder_id = u.id
                   WHERE u.merchant_id = $1 AND f.confirmed_at IS NOT NULL) AS second_factor,
           EXISTS (SELECT FROM projects WHERE merchant_id = $1 AND mode = 'live' AND status = 'approved') AS live_project
"""


async def count_period(tx: Tx, env: MerchantEnv, span: Span) -> PeriodTotals:
    """The totals of a span."""
    if not span.starts:
        return PeriodTotals()
    return PeriodTotals(
        [
            MethodVolume(series.currency, series.method_id, part, added.count, added.minor)
            for series, part, added in await list_added(tx, env, "succeeded", span.bounds, SUCCEEDED)
        ],
        [
            CurrencyCount(series.currency, part, added.count)
            for series, part, added in await list_added(tx, env, "failed", span.bounds, FAILED)
        ],
        [
            CurrencyCount(series.currency, part, added.count, added.minor)
            for series, part, added in await list_added(tx, env, "refunded", span.bounds, REFUNDED)
        ],
    )


async def list_latest_payments(tx: Tx, env: MerchantEnv, now: datetime, limit: int) -> list[LatestPayment]:
    """The latest payments with their current status."""
    return [
        LatestPayment(
            id=row["id"],
            name=row["display_name"],
            currency=row["currency"],
            amount_minor=row["amount_minor"],
            method_id=row["method_id"],
            status=row["status"],
            created_at=row["created_at"],
        )
        for row in await tx.fetch(LATEST, env.merchant_id, env.mode, now, limit)
    ]


async def count_to_decide(db: Pool | Tx, env: MerchantEnv, count_max: int) -> int:
    """Count the payments that wait for a decision of the merchant, up to `count_max`."""
    [row] = await db.fetch(TO_DECIDE, env.merchant_id, env.mode, count_max)
    return row["count"]


async def count_undelivered(tx: Tx, env: MerchantEnv, since: datetime, count_max: int) -> UndeliveredEvents:
    """Count the webhook events that failed since then, are retried, or are held; each up to `count_max`."""
    [row] = await tx.fetch(UNDELIVERED, env.merchant_id, env.mode, since, count_max)
    return UndeliveredEvents(row["failed"], row["retrying"], row["held"])


async def get_setup_progress(tx: Tx, env: MerchantEnv) -> SetupProgress:
    """The setup steps of this environment."""
    [row] = await tx.fetch(SETUP, env.merchant_id, env.mode)
    return SetupProgress(
        row["project"], row["payment"], row["webhook"], row["api_key"], row["second_factor"], row["live_project"]
    )
