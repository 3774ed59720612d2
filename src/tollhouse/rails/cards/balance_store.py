"""SQL of balance transactions at card providers: each is stored once, and settled when the ledger has all of it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple

from tollhouse.kernel.ids import Mode, new_id
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.rails.cards.stripe.observed import BalanceTransaction, BalanceTransactionKind

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
RECENT = timedelta(days=1)
"""How long a payment or dispute may be in the ledger or at the provider alone. Afterwards it is a difference."""
# Of balance transactions that are not settled, those that have a cause here. Their fees are not posted yet. Their amounts
# may be: payments, refunds and disputes are posted when they are reported, and settled a little later.
OPEN = f"""
    SELECT b.kind, b.currency, sum(CASE WHEN posted THEN 0 ELSE b.amount_minor END)::bigint AS amount_minor,
           sum(b.fee_minor)::bigint AS fee_minor
    FROM {CAUSES}
    CROSS JOIN LATERAL (SELECT CASE b.kind
        WHEN 'payment' THEN o.transaction_id IS NOT NULL
        WHEN 'refund' THEN coalesce(r.status = 'succeeded', false)
        WHEN 'dispute' THEN coalesce(v.status = 'reinstated' OR (v.status = 'reversed' AND b.amount_minor < 0), false)
        ELSE false END AS posted) p
    WHERE b.rail = $1 AND b.mode = $2 AND b.settled_at IS NULL
      AND CASE b.kind
          WHEN 'payment' THEN p.posted OR (b.created_at > $3 AND EXISTS (
              SELECT FROM transactions t WHERE (t.id, t.mode, t.rail) = (b.object_id, b.mode, b.rail)))
          WHEN 'refund' THEN r.status IN ('pending', 'succeeded')
          WHEN 'dispute' THEN p.posted OR (b.created_at > $3 AND o.transaction_id IS NOT NULL)
          ELSE b.kind <> 'other' END
    GROUP BY b.kind, b.currency
"""
# What was posted and has no balance transaction.
POSTED = """
    WITH recent AS MATERIALIZED (
        SELECT t.source_type, t.source_id, p.currency,
               CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END AS moved
        FROM ledger_transactions t
        JOIN ledger_postings p ON p.transaction_id = t.id AND p.mode = t.mode
        JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id)
        WHERE t.created_at > $3 AND t.mode = $2 AND a.mode = $2 AND a.code = 'rail:' || $1
          AND t.source_type IN ('transaction', 'refund', 'chargeback', 'payment_reversal'))
    SELECT 'payment' AS kind, r.currency, sum(r.moved)::bigint AS amount_minor
    FROM recent r
    WHERE r.source_type = 'transaction' AND NOT EXISTS (
        SELECT FROM rail_observations o JOIN provider_balance_transactions b ON b.payment_intent = o.external_ref
        WHERE o.transaction_id = r.source_id AND (o.rail, o.mode, o.outcome) = ($1, $2, 'confirmed')
          AND (b.rail, b.mode, b.kind) = ($1, $2, 'payment'))
    GROUP BY r.currency
    UNION ALL
    SELECT 'refund', r.currency, sum(r.moved)::bigint
    FROM recent r
    WHERE r.source_type = 'refund' AND NOT EXISTS (
        SELECT FROM provider_balance_transactions b
        WHERE b.object_id = r.source_id AND (b.rail, b.mode, b.kind) = ($1, $2, 'refund')
          AND sign(b.amount_minor) = sign(r.moved))
    GROUP BY r.currency
    UNION ALL
    SELECT 'dispute', r.currency, sum(r.moved)::bigint
    FROM recent r
    WHERE r.source_type IN ('chargeback', 'payment_reversal') AND NOT EXISTS (
        SELECT FROM payment_reversals v JOIN provider_balance_transactions b ON b.payment_intent = v.external_ref
        WHERE r.source_id IN (v.id, v.chargeback_id) AND (v.rail, v.mode) = ($1, $2)
          AND (b.rail, b.mode, b.kind, b.source) = ($1, $2, 'dispute', v.reversal_ref)
          AND sign(b.amount_minor) = sign(r.moved))
    GROUP BY r.currency
"""
CONVERTED = """
    SELECT currency, sum(amount_minor)::bigint AS amount_minor
    FROM (SELECT currency, amount_minor FROM provider_balance_transactions
          WHERE rail = $1 AND mode = $2 AND posted_currency IS NOT NULL
          UNION ALL
          SELECT posted_currency, -posted_minor FROM provider_balance_transactions
          WHERE rail = $1 AND mode = $2 AND posted_currency IS NOT NULL) parts
    GROUP BY currency
"""
# What is never settled, or not for a day: nothing here has caused it.
UNEXPLAINED = """
    SELECT b.rail, b.external_id, b.category, b.source, b.currency, b.amount_minor, b.fee_minor, b.created_at
    FROM provider_balance_transactions b
    WHERE b.mode = 'live' AND b.settled_at IS NULL
      AND (b.kind = 'other' OR (b.kind IN ('payment', 'dispute', 'refund') AND b.created_at < $1))
      AND NOT EXISTS (SELECT FROM refunds r WHERE b.kind = 'refund' AND r.id = b.object_id AND r.status = 'pending')
    ORDER BY b.created_at DESC, b.id DESC LIMIT $2
"""
I33_POSTED = """
    SELECT format('balance transaction %s of %s took %s %s, the ledger has %s', b.external_id, b.rail,
                  e.taken, b.currency, coalesce(l.taken, 0)) AS line
    FROM provider_balance_transactions b
    CROSS JOIN LATERAL (
        SELECT b.fee_minor - CASE WHEN b.kind IN ('payout', 'fee') THEN b.amount_minor ELSE 0 END AS taken) e
    LEFT JOIN LATERAL (
        SELECT sum(CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END) AS taken
        FROM ledger_transactions t
        JOIN ledger_postings p ON p.transaction_id = t.id AND p.currency = b.currency
        JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code = 'rail:' || b.rail
        WHERE (t.source_type, t.source_id, t.mode) = ('balance_transaction', b.id, b.mode)) l ON true
    WHERE coalesce(l.taken, 0) <> CASE WHEN b.settled_at IS NULL THEN 0 ELSE e.taken END
"""
I33_KNOWN = """
    SELECT format('ledger transaction %s is of no balance transaction %s', t.id, t.source_id) AS line
    FROM ledger_transactions t
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'balance_transaction'
      AND NOT EXISTS (SELECT FROM provider_balance_transactions b WHERE (b.id, b.mode) = (t.source_id, t.mode))
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I33", "fees and payouts of a provider are in the ledger once", I33_POSTED, costly=True),
    Invariant("I33", "what is posted of a provider is one of its balance transactions", I33_KNOWN, "ledger"),
)


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
        rows = [(new_id(), *astuple(transaction)) for transaction in transactions]
        await db.execute(INSERT, rail, mode, *zip(*rows, strict=True))


async def lock_settled(tx: Tx, rail: str, mode: Mode, limit: int) -> list[SettledTransaction]:
    """Lock those that are to be settled now. Those that another worker has locked are left to it."""
    return [SettledTransaction(*row.values()) for row in await tx.fetch(LOCK_SETTLED, rail, mode, limit)]


async def settle(tx: Tx, settled: Sequence[SettledTransaction], now: datetime) -> None:
    """Settle those that were locked."""
    await tx.execute(
        SETTLE,
        now,
        [item.id for item in settled],
        [item.posted_currency if item.is_converted else None for item in settled],
        [item.posted_minor if item.is_converted else None for item in settled],
    )


class UnexplainedTransaction(Struct, frozen=True):
    """A balance transaction that nothing here has caused. `source` is the object at the provider."""

    rail: str
    external_id: str
    category: str
    source: str | None
    currency: str
    amount_minor: int
    fee_minor: int
    created_at: datetime


async def list_unexplained(db: Pool, now: datetime, limit: int) -> list[UnexplainedTransaction]:
    """The newest balance transactions that nothing here has caused."""
    return [UnexplainedTransaction(*row.values()) for row in await db.fetch(UNEXPLAINED, now - RECENT, limit)]


async def list_in_flight(tx: Tx, rail: str, mode: Mode, now: datetime) -> dict[str, dict[str, int]]:
    """By currency and cause, what the provider has and the ledger does not (above zero), or the other way round."""
    since = now - RECENT
    found: dict[str, dict[str, int]] = {}
    for currency, cause, amount_minor in (
        *_open(await tx.fetch(OPEN, rail, mode, since)),
        *((row["currency"], f"{row['kind']}s", -row["amount_minor"]) for row in await tx.fetch(POSTED, rail, mode, since)),
        *((row["currency"], "converted", row["amount_minor"]) for row in await tx.fetch(CONVERTED, rail, mode)),
    ):
        causes = found.setdefault(currency, {})
        causes[cause] = causes.get(cause, 0) + amount_minor
    return {currency: {cause: amount for cause, amount in causes.items() if amount} for currency, causes in found.items()}


def _open(rows: list[Row]) -> Iterator[tuple[str, str, int]]:
    for row in rows:
        cause = "provider_fees" if row["kind"] == "fee" else f"{row['kind']}s"
        yield row["currency"], cause, row["amount_minor"]
        yield row["currency"], "provider_fees", -row["fee_minor"]
