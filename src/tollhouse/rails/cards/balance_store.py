"""SQL of balance transactions at card providers: each is stored once, and settled when the ledger has all of it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode, new_id
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.cards.stripe.balance import BalanceTransaction, BalanceTransactionKind

# The first reading begins before the first payment of the rail, which is looked for once.
BEGIN = """
    INSERT INTO provider_balance_cursors (rail, mode, read_until, next_read_at)
    SELECT $1, $2, coalesce((SELECT min(c.created_at) FROM card_payments c
                             JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (c.merchant_id, c.mode, c.transaction_id)
                             WHERE t.rail = $1 AND c.mode = $2), $3), $3
    WHERE NOT EXISTS (SELECT FROM provider_balance_cursors WHERE (rail, mode) = ($1, $2))
    ON CONFLICT (rail, mode) DO NOTHING
"""
GET_READ_UNTIL = "SELECT read_until FROM provider_balance_cursors WHERE rail = $1 AND mode = $2"
CLAIM = """
    UPDATE provider_balance_cursors SET next_read_at = $3::timestamptz + $4::interval
    WHERE rail = $1 AND mode = $2 AND next_read_at <= $3 RETURNING rail
"""
# A cursor that is ahead of the clock was moved while the clock was wrong.
ADVANCE = """
    UPDATE provider_balance_cursors SET read_until = CASE WHEN read_until > $4 THEN $3 ELSE greatest(read_until, $3) END
    WHERE rail = $1 AND mode = $2
"""
INSERT = """
    INSERT INTO provider_balance_transactions (id, rail, mode, external_id, kind, category, source, payment_intent,
                                               object_id, currency, amount_minor, fee_minor, created_at, available_at)
    SELECT n.id, $1, $2, n.external_id, n.kind, n.category, n.source, n.payment_intent, n.object_id, n.currency,
           n.amount_minor, n.fee_minor, n.created_at, n.available_at
    FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[], $10::text[],
                $11::bigint[], $12::bigint[], $13::timestamptz[], $14::timestamptz[])
        AS n (id, external_id, kind, category, source, payment_intent, object_id, currency, amount_minor, fee_minor,
              created_at, available_at)
    ON CONFLICT (rail, mode, external_id) DO NOTHING
"""
# What caused a balance transaction here: the payment `o`, the reversal `v` of a dispute, the refund `r`.
CAUSES = """provider_balance_transactions b
    LEFT JOIN rail_observations o
        ON b.kind IN ('payment', 'dispute')
           AND (o.rail, o.mode, o.external_ref, o.outcome) = (b.rail, b.mode, b.payment_intent, 'confirmed')
    LEFT JOIN payment_reversals v
        ON b.kind = 'dispute' AND (v.merchant_id, v.mode, v.rail, v.external_ref, v.reversal_ref)
                                  = (o.merchant_id, o.mode, b.rail, b.payment_intent, b.source)
    LEFT JOIN refunds r ON b.kind = 'refund' AND (r.id, r.mode, r.rail) = (b.object_id, b.mode, b.rail)"""
# What has its posting, or never will: payments that were reported, refunds and disputes that have ended here. Fees and
# payouts are posted with this. A refund that failed posts nothing; what the provider says of it adds up to zero.
LOCK_SETTLED = f"""
    SELECT b.id, b.rail, b.mode, b.kind, b.currency, b.amount_minor, b.fee_minor,
           coalesce(o.currency, r.currency) AS posted_currency, coalesce(
               CASE b.kind WHEN 'payment' THEN o.amount_minor
                           WHEN 'dispute' THEN CASE WHEN b.amount_minor < 0 THEN -v.amount_minor ELSE v.amount_minor END END,
               CASE WHEN r.status = 'succeeded' THEN -r.amount_minor END) AS posted_minor
    FROM {CAUSES}
    WHERE b.rail = $1 AND b.mode = $2 AND b.settled_at IS NULL
      AND CASE b.kind
          WHEN 'payment' THEN o.transaction_id IS NOT NULL
          WHEN 'refund' THEN r.status <> 'pending'
          WHEN 'dispute' THEN v.status = 'reinstated' OR (v.status = 'reversed' AND b.amount_minor < 0)
          ELSE b.kind <> 'other' END
    ORDER BY b.created_at, b.id LIMIT $3
    FOR UPDATE OF b SKIP LOCKED
"""
SETTLE = """
    UPDATE provider_balance_transactions b
    SET settled_at = $1, posted_currency = n.currency, posted_minor = CASE WHEN n.currency IS NOT NULL THEN n.amount END
    FROM unnest($2::uuid[], $3::text[], $4::bigint[]) AS n (id, currency, amount)
    WHERE b.id = n.id AND b.settled_at IS NULL
"""


class SettledTransaction(Struct, frozen=True):
    """A balance transaction of whose object the ledger has what it will have, which may be in another currency."""

    id: UUID
    rail: str
    mode: Mode
    kind: BalanceTransactionKind
    currency: str
    amount_minor: int
    fee_minor: int
    posted_currency: str | None
    posted_minor: int | None

    @property
    def is_converted(self) -> bool:
        """Whether the provider credited another currency than that of the payment."""
        return self.posted_minor is not None and self.posted_currency != self.currency


async def begin(db: Pool, rail: str, mode: Mode, now: datetime) -> None:
    """Begin to read the balance transactions of a rail, unless that was done."""
    await db.execute(BEGIN, rail, mode, now)


async def claim(db: Pool, rail: str, mode: Mode, now: datetime, interval: timedelta) -> bool:
    """Whether they are due to be read, and by this caller. Nobody else will for this interval."""
    return await db.fetchrow(CLAIM, rail, mode, now, interval) is not None


async def get_read_until(db: Pool, rail: str, mode: Mode) -> datetime:
    """Until when they were read without a gap, after `begin`."""
    [row] = await db.fetch(GET_READ_UNTIL, rail, mode)
    return row["read_until"]


async def advance(db: Pool, rail: str, mode: Mode, read_until: datetime, now: datetime) -> None:
    """Record that everything up to this time was read and stored."""
    await db.execute(ADVANCE, rail, mode, read_until, now)


async def insert(db: Pool, rail: str, mode: Mode, transactions: Sequence[BalanceTransaction]) -> None:
    """Insert those that are not known yet."""
    if transactions:
        await db.execute(
            INSERT,
            *(rail, mode),
            [new_id() for _ in transactions],
            [one.external_id for one in transactions],
            [one.kind for one in transactions],
            [one.category for one in transactions],
            [one.source for one in transactions],
            [one.payment_intent for one in transactions],
            [one.object_id for one in transactions],
            [one.currency for one in transactions],
            [one.amount_minor for one in transactions],
            [one.fee_minor for one in transactions],
            [one.created_at for one in transactions],
            [one.available_at for one in transactions],
        )


async def lock_settled(tx: Tx, rail: str, mode: Mode, limit: int) -> list[SettledTransaction]:
    """Lock those that are to be settled now. Those that another worker has locked are left to it."""
    return [SettledTransaction(*row.values()) for row in await tx.fetch(LOCK_SETTLED, rail, mode, limit)]


async def settle(tx: Tx, settled: Sequence[SettledTransaction], now: datetime) -> None:
    """Settle those that were locked."""
    await tx.execute(
        SETTLE,
        now,
        [one.id for one in settled],
        [one.posted_currency if one.is_converted else None for one in settled],
        [one.posted_minor if one.is_converted else None for one in settled],
    )
