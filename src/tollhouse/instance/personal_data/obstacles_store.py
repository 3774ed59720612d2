"""SQL of what prevents that a merchant is erased. Only live mode counts: money of test mode is none."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tollhouse.platform.database.pool import Row, Tx

# Everything that moves money out of a merchant locks it shared.
LOCK = "SELECT id, suspended_at, closed_at FROM merchants WHERE id = $1 FOR UPDATE"
# A payment that expired can still be paid late for some days.
OBSTACLES = """
    SELECT o.name, count(*) AS rows FROM (
        SELECT 'balances that are not zero' AS name FROM ledger_accounts
        WHERE merchant_id = $1 AND mode = 'live' AND balance <> 0
        UNION ALL SELECT 'active holds' FROM ledger_holds WHERE merchant_id = $1 AND mode = 'live' AND status = 'active'
        UNION ALL SELECT 'unfinished payments' FROM transactions
        WHERE merchant_id = $1 AND mode = 'live' AND status IN ('pending', 'processing', 'refund_required')
        UNION ALL SELECT 'expired payments that can still arrive' FROM transactions
        WHERE merchant_id = $1 AND mode = 'live' AND status = 'expired'
          AND updated_at > $2::timestamptz - make_interval(days => coalesce((
              SELECT s.late_monitoring_days FROM merchant_settings s WHERE s.merchant_id = $1 AND s.mode = 'live'), $3::int))
        UNION ALL SELECT 'unfinished refunds' FROM refunds
        WHERE merchant_id = $1 AND mode = 'live' AND status NOT IN ('succeeded', 'failed', 'canceled')
        UNION ALL SELECT 'open chargebacks' FROM chargebacks WHERE merchant_id = $1 AND mode = 'live' AND status = 'open'
        UNION ALL SELECT 'unfinished withdrawals' FROM withdrawals
        WHERE merchant_id = $1 AND mode = 'live' AND status NOT IN ('completed', 'failed', 'canceled')
        UNION ALL SELECT 'transfers that wait' FROM outgoing_transfers
        WHERE merchant_id = $1 AND mode = 'live' AND closed_at IS NULL
        UNION ALL SELECT 'payouts at the bank' FROM bank_payouts
        WHERE merchant_id = $1 AND status IN ('prepared', 'exported')
        UNION ALL SELECT 'reserved balance payments' FROM balance_payments
        WHERE (merchant_id = $1 OR owner_id = $1) AND mode = 'live' AND status = 'reserved'
        UNION ALL SELECT 'unfinished fulfillments' FROM fulfillments
        WHERE merchant_id = $1 AND mode = 'live' AND status IN ('pending', 'processing')) AS o
    GROUP BY o.name ORDER BY o.name
"""
USERS = "SELECT id, email FROM users WHERE merchant_id = $1 ORDER BY created_at, id"


class Obstacle(NamedTuple):
    """What must end first, and how many there are."""

    name: str
    rows: int


async def lock(tx: Tx, merchant_id: UUID) -> Row | None:
    """Lock a merchant. Returns `suspended_at` and `closed_at`; None if there is no such merchant."""
    return await tx.fetchrow(LOCK, merchant_id)


async def list_obstacles(tx: Tx, merchant_id: UUID, now: datetime, late_days: int) -> list[Obstacle]:
    """What must end before the merchant is erased. `late_days` counts for merchants without settings of their own."""
    return [Obstacle(row["name"], row["rows"]) for row in await tx.fetch(OBSTACLES, merchant_id, now, late_days)]


async def list_users(tx: Tx, merchant_id: UUID) -> list[Row]:
    """The users of a merchant (`id`, `email`)."""
    return list(await tx.fetch(USERS, merchant_id))
