"""Every SQL statement of the home page. The sums are read from their indexes, whatever else a payment's row holds."""

from datetime import datetime

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.periods import Span
from tollhouse.overview.model import Came, Count, Counted, Deliveries, Payment, Setup
from tollhouse.platform.db import Row, Tx

# $3: when the parts begin, and when the last of them ends. The first part is number 1.
CAME = """
    SELECT currency, method_id, width_bucket(succeeded_at, $3::timestamptz[]) AS part,
           count(*) AS payments, sum(credited_minor)::text AS gross
    FROM transactions
    WHERE merchant_id = $1 AND mode = $2
      AND succeeded_at >= ($3::timestamptz[])[1] AND succeeded_at < ($3::timestamptz[])[cardinality($3::timestamptz[])]
    GROUP BY 1, 2, 3
"""
FAILED = """
    SELECT currency, count(*) AS count FROM transactions
    WHERE merchant_id = $1 AND mode = $2 AND status = 'failed' AND updated_at >= $3 AND updated_at < $4
    GROUP BY currency
"""
# What the merchant never had is given back without taking anything from it.
REFUNDED = """
    SELECT currency, count(*) AS count, sum(amount_minor - unapplied_minor)::text AS refunded FROM refunds
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
      AND status = 'succeeded' AND unapplied_minor < amount_minor
    GROUP BY currency
"""
# The newest are picked before their links are looked at. An attempt is over when its link is, though nobody may have
# written that down yet.
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
# Counted no further than $4: more is told as "or more".
UNDELIVERED = """
    SELECT (SELECT count(*) FROM (SELECT FROM webhook_failures
            WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3 LIMIT $4) AS them) AS failed,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND NOT held LIMIT $4) AS them) AS retrying,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later
            WHERE merchant_id = $1 AND mode = $2 AND held LIMIT $4) AS them) AS held
"""
SETUP = """
    SELECT EXISTS (SELECT FROM projects WHERE merchant_id = $1 AND mode = $2 AND status = 'approved') AS project,
           EXISTS (SELECT FROM transactions
                   WHERE merchant_id = $1 AND mode = 'test' AND succeeded_at IS NOT NULL) AS test_payment,
           EXISTS (SELECT FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active') AS webhook,
           EXISTS (SELECT FROM api_keys WHERE merchant_id = $1 AND mode = $2 AND revoked_at IS NULL) AS api_key,
           EXISTS (SELECT FROM users u JOIN second_factors f ON f.holder_id = u.id
                   WHERE u.merchant_id = $1 AND f.confirmed_at IS NOT NULL) AS second_factor,
           EXISTS (SELECT FROM oauth_clients WHERE merchant_id = $1 AND status <> 'revoked') AS application
"""


async def counted(tx: Tx, env: MerchantEnv, span: Span) -> Counted:
    """Everything that is counted in a span. One without parts has nothing."""
    if not span.starts:
        return Counted()
    whose, ends = (env.merchant_id, env.mode), (span.starts[0], span.end)
    return Counted(
        [_came(row) for row in await tx.fetch(CAME, *whose, span.bounds)],
        [Count(row["currency"], row["count"]) for row in await tx.fetch(FAILED, *whose, *ends)],
        [Count(row["currency"], row["count"], int(row["refunded"])) for row in await tx.fetch(REFUNDED, *whose, *ends)],
    )


async def latest(tx: Tx, env: MerchantEnv, now: datetime, limit: int) -> list[Payment]:
    """The latest attempts to pay, as they stand."""
    return [
        Payment(
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


async def undelivered(tx: Tx, env: MerchantEnv, since: datetime, most: int) -> Deliveries:
    """Webhook events that failed since then, and those that still wait to be sent again; each counted up to `most`."""
    [row] = await tx.fetch(UNDELIVERED, env.merchant_id, env.mode, since, most)
    return Deliveries(row["failed"], row["retrying"], row["held"])


async def setup(tx: Tx, env: MerchantEnv) -> Setup:
    """What is set up in this environment; the test payment counts for both."""
    [row] = await tx.fetch(SETUP, env.merchant_id, env.mode)
    return Setup(
        row["project"], row["test_payment"], row["webhook"], row["api_key"], row["second_factor"], row["application"]
    )


def _came(row: Row) -> Came:
    return Came(row["currency"], row["method_id"], row["part"], row["payments"], int(row["gross"]))
