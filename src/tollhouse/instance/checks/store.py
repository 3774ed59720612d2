"""SQL of a check: its lock, its progress, new rows, and rows that they affect."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database.pool import Tx

LOCK_KEY = 0x63686563  # "chec"

LOCK = "SELECT pg_advisory_xact_lock($1)"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"
MIGRATION = "SELECT max(number) FROM schema_migrations"
# A transaction that is not visible in this snapshot is new to the next check, whatever its ids or times.
HERE = """
    SELECT pg_current_snapshot()::text AS snapshot, (SELECT system_identifier FROM pg_control_system()) AS cluster,
           (SELECT count(*) FROM (SELECT FROM row_digests LIMIT $1) AS counted) AS rows
"""
STATE = """
    SELECT verified::text AS verified, verified_at, again_kind, again_id, full_at
    FROM check_state WHERE cluster = $1 AND pg_snapshot_xmax(verified) <= pg_snapshot_xmax($2::text::pg_snapshot)
"""
KEEP_STATE = """
    INSERT INTO check_state (cluster, verified, verified_at, again_kind, again_id, full_at)
    VALUES ($1, $2::text::pg_snapshot, $3, $4, $5, $6)
    ON CONFLICT (the_only) DO UPDATE
    SET cluster = excluded.cluster, verified = excluded.verified, verified_at = excluded.verified_at,
        again_kind = excluded.again_kind, again_id = excluded.again_id, full_at = excluded.full_at
"""
COUNTS = "SELECT kind, count(*) AS rows FROM row_digests GROUP BY kind"

# What was written by transactions from $1 on that the snapshot $2 did not see, in the order of those transactions.
NEW = """
    SELECT kind, id, xact::text AS xact FROM row_digests
    WHERE xact >= coalesce($1::text::xid8, pg_snapshot_xmin($2::text::pg_snapshot))
      AND NOT pg_visible_in_snapshot(xact, $2::text::pg_snapshot)
    ORDER BY xact LIMIT $3
"""
OF_TRANSACTION = "SELECT kind, id, xact::text AS xact FROM row_digests WHERE xact = $1::text::xid8"

# The rows whose money these ledger transactions moved.
TOUCHED = """
    WITH moved AS (SELECT DISTINCT source_type, source_id FROM ledger_transactions WHERE id = ANY ($1::uuid[])),
    payment AS (
        SELECT source_id AS id FROM moved WHERE source_type = 'transaction'
        UNION SELECT r.transaction_id FROM moved JOIN refunds r ON r.id = source_id WHERE source_type = 'refund'
        UNION SELECT c.transaction_id FROM moved JOIN chargebacks c ON c.id = source_id WHERE source_type = 'chargeback'
        UNION SELECT v.transaction_id FROM moved JOIN payment_reversals v ON v.id = source_id
        WHERE source_type = 'payment_reversal'
    )
    SELECT 'payment' AS kind, id FROM payment
    UNION ALL SELECT 'link', t.payment_link_id FROM payment p JOIN transactions t ON t.id = p.id
    UNION ALL SELECT source_type, source_id FROM moved
    WHERE source_type IN ('refund', 'chargeback', 'withdrawal', 'balance_payment', 'conversion', 'fulfillment')
    UNION ALL SELECT 'outgoing_transfer', o.id FROM moved JOIN outgoing_transfers o ON o.id = source_id
    UNION ALL SELECT 'payout', b.id FROM moved JOIN bank_payouts b ON b.id = source_id
    UNION ALL SELECT 'hold', h.id FROM moved JOIN ledger_holds h USING (source_type, source_id)
"""


class State(Struct, frozen=True):
    """The progress of the last check without findings. `again` is where the check of old rows continues."""

    verified: str
    verified_at: datetime
    again: tuple[str, UUID] | None
    full_at: datetime


class Here(Struct, frozen=True):
    """The database at the start of a check: its snapshot, cluster, and number of rows, counted up to a limit."""

    snapshot: str
    cluster: int
    rows: int


class NewRow(Struct, frozen=True):
    """An unchecked row and the transaction that wrote it."""

    kind: str
    id: UUID
    xact: str


async def lock(tx: Tx, *, wait: bool) -> bool:
    """Lock against other checks until the transaction ends; `wait` for a running one."""
    if wait:
        await tx.execute(LOCK, LOCK_KEY)
        return True
    return bool(await tx.fetchval(TRY_LOCK, LOCK_KEY))


async def migration(tx: Tx) -> int:
    """The last applied migration."""
    return int(await tx.fetchval(MIGRATION))


async def here(tx: Tx, rows_max: int) -> Here:
    """The current state of the database."""
    row = await tx.fetchrow(HERE, rows_max)
    if row is None:
        raise AssertionError("a statement without FROM answers one row")
    return Here(**dict(row))


async def state(tx: Tx, at: Here) -> State | None:
    """The progress of the last check; None if it is of another cluster or of a later time."""
    row = await tx.fetchrow(STATE, at.cluster, at.snapshot)
    if row is None:
        return None
    again = None if row["again_kind"] is None else (row["again_kind"], row["again_id"])
    return State(row["verified"], row["verified_at"], again, row["full_at"])


async def keep_state(tx: Tx, at: Here, new: State) -> None:
    """Store the progress of this check."""
    kind, last_id = new.again or (None, None)
    await tx.execute(KEEP_STATE, at.cluster, new.verified, new.verified_at, kind, last_id, new.full_at)


async def counts(tx: Tx) -> dict[str, int]:
    """The number of rows of each kind."""
    return {row["kind"]: row["rows"] for row in await tx.fetch(COUNTS)}


async def new_rows(tx: Tx, since: str, after: str | None, limit: int) -> tuple[list[NewRow], str | None]:
    """Rows of whole transactions that the snapshot `since` did not see, and the transaction from which there may be more."""
    rows = [NewRow(**dict(row)) for row in await tx.fetch(NEW, after, since, limit)]
    if len(rows) < limit:
        return rows, None
    last = rows[-1].xact
    whole = [row for row in rows if row.xact != last]
    if whole:
        return whole, last
    return [NewRow(**dict(row)) for row in await tx.fetch(OF_TRANSACTION, last)], str(int(last) + 1)


async def touched(tx: Tx, ledger_ids: Sequence[UUID]) -> list[tuple[str, UUID]]:
    """The kind and id of the rows whose money these ledger transactions moved."""
    return [(row["kind"], row["id"]) for row in await tx.fetch(TOUCHED, list(ledger_ids))]
