"""SQL of outgoing transfers and daily totals, and the invariants of what leaves."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from tollhouse.accounts.approvals.model import Approvals
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER, DailyCount, OutgoingTransfer, Review

# The day is by the test clock. A null limit is no limit.
ADD_TO_DAY = """
    INSERT INTO withdrawal_days AS d (merchant_id, mode, method_id, day, amount_minor)
    SELECT $1, $2, $3, $4, $5 WHERE $6::bigint IS NULL OR $5::bigint <= $6
    ON CONFLICT (merchant_id, mode, method_id, day) DO UPDATE SET amount_minor = d.amount_minor + excluded.amount_minor
    WHERE $6::bigint IS NULL OR d.amount_minor + excluded.amount_minor <= $6
"""
# Fails where `ADD_TO_DAY` adds nothing.
REQUIRE_DAY = "SELECT withdrawal_days_add($1, $2, $3, $4, $5, $6)"
SUM_OF_DAY = "SELECT amount_minor FROM withdrawal_days WHERE merchant_id = $1 AND mode = $2 AND method_id = $3 AND day = $4"
SUBTRACT_FROM_DAY = """
    UPDATE withdrawal_days SET amount_minor = amount_minor - $5
    WHERE merchant_id = $1 AND mode = $2 AND method_id = $3 AND day = $4
"""
TODAY = """
    SELECT (($3::timestamptz + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0'))
            AT TIME ZONE 'UTC')::date AS today
"""
INSERT = OUTGOING_TRANSFER.insert
INSERT_SECONDED = f"{INSERT} RETURNING second_member_required"
GET = f"SELECT {OUTGOING_TRANSFER.columns} FROM outgoing_transfers WHERE id = $1"
LOCK = f"{GET} FOR NO KEY UPDATE"
APPROVE = """
    UPDATE outgoing_transfers
    SET approvals = $2, approvals_by_command = $3, approvals_needed = $4, review = $5, reviewed_at = $6,
        review_note = coalesce($7, review_note), single_operator = $8
    WHERE id = $1
"""
# With what else the merchant sends in this currency: parts do not avoid the second operator.
SECOND = "UPDATE outgoing_transfers SET second_member_id = $2, second_member_at = $3 WHERE id = $1"
# Who answers for what a key or a connection asks.
MAKER = """
    SELECT k.created_by FROM api_keys k WHERE k.id = $1
    UNION ALL SELECT g.granted_by FROM oauth_grants g WHERE g.id = $1
"""
APPROVALS_NEEDED = "SELECT outgoing_transfers_needed(o, $2::bigint, $3) AS needed FROM outgoing_transfers o WHERE o.id = $1"
REJECT = """
    UPDATE outgoing_transfers SET review = 'rejected', reviewed_at = $2, review_note = $3
    WHERE id = $1 AND released_at IS NULL
"""
# Without a row it need not wait; `until` is null where it never leaves.
WAIT = """
    SELECT nullif(w.until, 'infinity') AS until
    FROM (SELECT outgoing_transfers_wait_until(o, $2) AS until FROM outgoing_transfers o WHERE o.id = $1) w
    WHERE w.until IS NOT NULL
"""
RELEASE = "UPDATE outgoing_transfers SET released_at = $2 WHERE id = $1 AND released_at IS NULL AND closed_at IS NULL"
CLOSE = "UPDATE outgoing_transfers SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL"
# Which payouts a statement shows as debited, matched or not. Some banks return the id in capitals.
FIND_DEBITED = """
    SELECT p.end_to_end_id FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id AND e.side = 'debit'
    WHERE lower(p.end_to_end_id) = ANY ($1::text[])
"""
LOCK_ACTIVE_MERCHANTS = "SELECT id FROM merchants WHERE id = ANY ($1::uuid[]) AND suspended_at IS NULL ORDER BY id FOR SHARE"
# From merchants or customers by a rail. What the bank's statements clear afterwards left before.
I23_OUT = """
    SELECT format('transaction %s pays %s %s by %s, and no released transfer stands behind it', l.id, sum(p.amount),
                  p.currency, a.code) AS line
    FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id AND p.mode = l.mode
    JOIN ledger_accounts a ON a.id = p.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
    WHERE l.id = ANY ($1::uuid[]) AND l.source_type NOT IN ('bank_entry', 'bank_transfer')
      AND NOT (l.source_type = 'adjustment' AND EXISTS (SELECT FROM operator_actions o WHERE o.id = l.source_id))
      AND NOT (l.source_type = 'chargeback' AND EXISTS (SELECT FROM chargebacks c WHERE c.id = l.source_id))
      AND NOT (l.source_type = 'payment_reversal' AND EXISTS (SELECT FROM payment_reversals v WHERE v.id = l.source_id))
      AND NOT (l.source_type = 'rail_float' AND EXISTS (
          SELECT FROM rail_floats f WHERE f.id = l.source_id AND (f.mode, f.currency, 'rail:' || f.rail)
                                                                = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'chain_payout' AND EXISTS (
          SELECT FROM chain_payouts n WHERE n.id = l.source_id AND n.status IN ('completed', 'failed')
            AND (n.mode, n.fee_currency, 'rail:' || n.rail) = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'balance_transaction' AND EXISTS (
          SELECT FROM provider_balance_transactions b WHERE b.id = l.source_id AND b.settled_at IS NOT NULL
            AND (b.mode, b.currency, 'rail:' || b.rail) = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'bitcoin_batch' AND EXISTS (
          SELECT FROM bitcoin_batches b WHERE b.id = l.source_id AND b.status = 'confirmed'
            AND (b.mode, 'BTC', 'rail:' || b.rail) = (p.mode, p.currency, a.code)))
      AND NOT EXISTS (
          SELECT FROM outgoing_transfers o
          WHERE o.id = l.source_id AND o.kind = l.source_type AND o.released_at IS NOT NULL
            AND o.review IN ('not_required', 'approved', 'before_reviews')
            AND (o.mode, o.currency, 'rail:' || o.rail) = (p.mode, p.currency, a.code))
    GROUP BY l.id, p.currency, a.code
"""
I23_SAME = """
    SELECT format('transfer %s of %s %s to %s is not what its %s asks for', o.id, o.amount_minor, o.currency, o.receiver,
                  o.kind) AS line
    FROM outgoing_transfers o
    LEFT JOIN refunds r ON o.kind = 'refund' AND r.id = o.id
    LEFT JOIN withdrawals w ON o.kind = 'withdrawal' AND w.id = o.id
    WHERE o.id = ANY ($1::uuid[])
      AND ((o.merchant_id, o.mode, o.currency, o.amount_minor)
           IS DISTINCT FROM (coalesce(r.merchant_id, w.merchant_id), coalesce(r.mode, w.mode),
                             coalesce(r.currency, w.currency), coalesce(r.amount_minor, w.receive_minor))
           OR (o.closed_at IS NOT NULL) <> (coalesce(r.status, w.status) IN ('failed', 'canceled')))
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I23", "every outgoing amount has a released transfer", I23_OUT, "ledger"),
    Invariant("I23", "a transfer matches its withdrawal or refund", I23_SAME, "outgoing_transfer"),
)


async def today(tx: Tx, env: MerchantEnv, now: datetime) -> date:
    """The day in UTC, by the merchant's test clock."""
    row = await tx.read_row(TODAY, env.merchant_id, env.mode, now)
    if row is None:
        raise AssertionError("the statement has one row")
    return row["today"]


async def add_to_day(tx: Tx, env: MerchantEnv, count: DailyCount, limit_minor: int | None) -> bool:
    """Add to a day's total. False, and nothing is added, if that would exceed the limit."""
    values = (env.merchant_id, env.mode, count.method_id, count.day, count.amount_minor, limit_minor)
    return await tx.try_write(ADD_TO_DAY, *values, strict=REQUIRE_DAY)


async def sum_of_day(tx: Tx, env: MerchantEnv, method_id: str, day: date) -> int:
    """The total of a day."""
    return await tx.fetchval(SUM_OF_DAY, env.merchant_id, env.mode, method_id, day) or 0


async def subtract_from_day(tx: Tx, env: MerchantEnv, count: DailyCount) -> None:
    """Subtract from a day's total."""
    await tx.execute(SUBTRACT_FROM_DAY, env.merchant_id, env.mode, count.method_id, count.day, count.amount_minor)


async def insert(tx: Tx, new: OutgoingTransfer) -> None:
    """Insert a transfer."""
    await tx.write(INSERT, *OUTGOING_TRANSFER.values(new))


async def insert_seconded(tx: Tx, new: OutgoingTransfer) -> bool:
    """Insert a transfer of a merchant whose team has second members. Whether one has to approve it."""
    return bool(await tx.fetchval(INSERT_SECONDED, *OUTGOING_TRANSFER.values(new)))


async def find_maker(tx: Tx, credential_id: UUID) -> UUID | None:
    """The user who made a key or gave a connection."""
    return await tx.fetchval(MAKER, credential_id)


async def second(tx: Tx, transfer_id: UUID, user_id: UUID, now: datetime) -> None:
    """Record a second member's approval of a locked transfer."""
    await tx.execute(SECOND, transfer_id, user_id, now)


async def get(db: Pool | Tx, transfer_id: UUID) -> OutgoingTransfer | None:
    """The transfer of this id."""
    return await OUTGOING_TRANSFER.find(db, GET, transfer_id)


async def lock(tx: Tx, transfer_id: UUID) -> OutgoingTransfer | None:
    """Lock the transfer and return it."""
    return await OUTGOING_TRANSFER.find(tx, LOCK, transfer_id)


async def find_wait(tx: Tx, transfer_id: UUID, now: datetime) -> Row | None:
    """Why a transfer waits after a change of an address: `until`, null if it never leaves. None if it does not wait."""
    return await tx.fetchrow(WAIT, transfer_id, now)


async def approve(
    tx: Tx, transfer_id: UUID, approvals: Approvals, review: Review, reviewed_at: datetime | None, note: str | None
) -> None:
    """Write the approvals and the review of a locked transfer."""
    values = (list(approvals.given), approvals.by_command, approvals.needed, review, reviewed_at, note)
    await tx.execute(APPROVE, transfer_id, *values, approvals.single_operator)


async def approvals_needed(db: Pool | Tx, transfer_id: UUID, now: datetime, above_minor: int | None = None) -> int:
    """How many operators approve a transfer that exists. `above_minor`: the present threshold of its method, if any."""
    row = await db.fetchrow(APPROVALS_NEEDED, transfer_id, above_minor, now)
    if row is None:
        raise AssertionError("transfers are never deleted")
    return row["needed"]


async def reject(tx: Tx, transfer_id: UUID, reason: str, now: datetime) -> bool:
    """Reject an unreleased transfer. False if it was released."""
    return await tx.execute(REJECT, transfer_id, now, reason) == 1


async def release(tx: Tx, transfer_id: UUID, now: datetime) -> bool:
    """Release a transfer. False if it was released or closed."""
    return await tx.execute(RELEASE, transfer_id, now) == 1


async def close(tx: Tx, transfer_id: UUID, now: datetime) -> bool:
    """Close a transfer. False if it was closed."""
    return await tx.execute(CLOSE, transfer_id, now) == 1


async def find_debited(tx: Tx, transfer_ids: Sequence[UUID]) -> set[UUID]:
    """Those of these transfers that a statement shows as debited."""
    rows = await tx.fetch(FIND_DEBITED, [transfer_id.hex for transfer_id in transfer_ids])
    return {UUID(hex=row["end_to_end_id"]) for row in rows}


async def lock_active_merchants(tx: Tx, merchant_ids: set[MerchantId]) -> set[MerchantId]:
    """The merchants among these that are not suspended, locked against suspension."""
    return {MerchantId(row["id"]) for row in await tx.fetch(LOCK_ACTIVE_MERCHANTS, list(merchant_ids))}


def review_members(row: Row, catalogue: Catalogue, *amounts: str) -> dict[str, Any]:
    """The members of a row of a review queue, with these amounts as text."""
    members = dict(row)
    texts = {name: catalogue.format_amount(members.pop(f"{name}_minor"), row["currency"]) for name in amounts}
    return members | texts | {"created_at": stamp(row["created_at"])}
