"""SQL of limits and their uses."""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.spending.model import ExceededLimit, LimitKind, Limits, Spent, read_limits
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx

SPEND = """
    SELECT reason, period, limit_minor, remaining_minor, resets_at FROM limits_spend($1, $2, $3, $4, $5, $6, $7, $8)
"""
# Waits for those who spend, so that nothing passes by the old limits afterwards.
LOCK = "SELECT limits_lock(merchant_id, mode, spender) FROM limits_of_credential($1) WHERE merchant_id = $2"
GET = "SELECT limits FROM limits_of_credential($1) WHERE merchant_id = $2"
GET_STANDING = """
    SELECT c.limits, EXISTS (SELECT FROM oauth_grants g WHERE g.id = $1 AND g.proposals_only)
           OR EXISTS (SELECT FROM api_keys k WHERE k.id = $1 AND k.proposals_only) AS proposals_only
    FROM limits_of_credential($1) c WHERE c.merchant_id = $2
"""
REPLACE = "SELECT limits_replace($1, $2)"
SPENT = """
    SELECT u.kind, u.currency, sum(u.amount_minor - u.given_back_minor)::bigint AS month,
           coalesce(sum(u.amount_minor - u.given_back_minor) FILTER (WHERE u.used_at > e.present - interval '24 hours'),
                    0)::bigint AS day
    FROM (SELECT c.merchant_id, c.mode, c.spender, time_of_environment(c.merchant_id, c.mode, $2) AS present
          FROM limits_of_credential($1) c) e
    JOIN limit_uses u ON (u.merchant_id, u.mode, u.spender) = (e.merchant_id, e.mode, e.spender)
                         AND u.used_at > e.present - interval '30 days'
    GROUP BY u.kind, u.currency
"""
COUNT_RECIPIENTS = (
    "SELECT count(*) FROM withdrawal_recipients WHERE merchant_id = $1 AND mode = $2 AND id = ANY ($3::uuid[])"
)
DELETE_OLD = """
    DELETE FROM limit_uses WHERE (merchant_id, source_id, kind) IN (
        SELECT merchant_id, source_id, kind FROM limit_uses
        WHERE used_at <= $1 ORDER BY used_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def spend(
    tx: Tx,
    credential_id: UUID,
    kind: LimitKind,
    source_id: UUID,
    currency: str,
    amount_minor: int,
    now: datetime,
    *,
    rail: str | None = None,
    account: str | None = None,
) -> ExceededLimit | None:
    """Record a use; the limit that refuses it, and then nothing is recorded. Others of the same spender wait."""
    row = await tx.fetchrow(SPEND, credential_id, kind, source_id, currency, amount_minor, rail, account, now)
    if row is None:
        return None
    return ExceededLimit(
        period=row["period"],
        limit_minor=row["limit_minor"],
        remaining_minor=row["remaining_minor"],
        resets_at=stamp_or_none(row["resets_at"]),
        reason=row["reason"],
    )


async def lock(tx: Tx, merchant_id: UUID, credential_id: UUID) -> Limits | None:
    """The limits of a connection or key, by which nothing is spent until the end of the transaction; None without it."""
    await tx.execute(LOCK, credential_id, merchant_id)
    row = await tx.fetchrow(GET, credential_id, merchant_id)
    return None if row is None else read_limits(row["limits"])


async def lock_standing(tx: Tx, merchant_id: UUID, credential_id: UUID) -> tuple[Limits, bool]:
    """The limits of a connection or key, and whether it may only propose, which do not change until the transaction ends."""
    await tx.execute(LOCK, credential_id, merchant_id)
    row = await tx.fetchrow(GET_STANDING, credential_id, merchant_id)
    if row is None:
        raise AssertionError("a credential of another merchant")
    return read_limits(row["limits"]), row["proposals_only"]


async def replace(tx: Tx, credential_id: UUID, new: Limits) -> None:
    """Write the limits of a locked connection or key."""
    await tx.execute(REPLACE, credential_id, new.stored)


async def get(db: Pool | Tx, merchant_id: UUID, credential_id: UUID) -> Limits:
    """The limits of a connection or key."""
    row = await db.fetchrow(GET, credential_id, merchant_id)
    return read_limits(row["limits"] if row else None)


async def get_spent(db: Pool | Tx, credential_id: UUID, now: datetime) -> Spent:
    """What the spender of a credential has used, by kind and currency: in minor units of the last `day` and `month`."""
    return {(row["kind"], row["currency"]): dict(row) for row in await db.fetch(SPENT, credential_id, now)}


async def are_recipients(db: Pool | Tx, env: MerchantEnv, recipients: tuple[UUID, ...]) -> bool:
    """Whether all these are saved recipients of the environment."""
    [row] = await db.fetch(COUNT_RECIPIENTS, env.merchant_id, env.mode, list(recipients))
    return row["count"] == len(set(recipients))
