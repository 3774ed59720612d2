"""SQL of what is in flight between the balance at a card provider and the ledger."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.rails.cards.balance_store import CAUSES

RECENT = timedelta(days=1)
"""How long a payment or dispute may be in the ledger or at the provider alone. Afterwards it is a difference."""

# Of balance transactions that are not settled, those that have a cause here. Their fees are not posted yet. Their amounts
# may be: payments, refunds and disputes are posted by whoever reports them, and settled a little later.
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
    return {currency: {cause: one for cause, one in causes.items() if one} for currency, causes in found.items()}


def _open(rows: list[Row]) -> Iterator[tuple[str, str, int]]:
    for row in rows:
        cause = "provider_fees" if row["kind"] == "fee" else f"{row['kind']}s"
        yield row["currency"], cause, row["amount_minor"]
        yield row["currency"], "provider_fees", -row["fee_minor"]
