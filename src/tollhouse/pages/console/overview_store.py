"""SQL of the overview: the database, the workers, what is to do, and the last check of the invariants."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.pages.console.overview import CheckResult, Overview, ToDo, WorkerHeartbeat
from tollhouse.platform.database.pool import Pool
from tollhouse.webhooks.delivery import jobs as delivery_status

DATABASE = """
    SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS bytes,
           (SELECT name FROM schema_migrations ORDER BY number DESC LIMIT 1) AS migration
"""
WORKERS = "SELECT host, pid, version, first_seen_at, last_seen_at FROM worker_signs ORDER BY last_seen_at DESC LIMIT 20"
LAST_CHECK = "SELECT looked_at, broken, failed_at, failure FROM invariant_watch"
# Ids are in order of time. An event that only waits for a redelivery was delivered or has failed.
OLDEST_UNDELIVERED = """
    SELECT min(e.created_at)
    FROM ((SELECT event_id FROM webhook_deliveries WHERE automatic_at IS NOT NULL ORDER BY event_id LIMIT 1)
          UNION ALL (SELECT event_id FROM webhook_deliveries_later ORDER BY event_id LIMIT 1)) AS waiting
    JOIN webhook_events e ON e.id = waiting.event_id
"""
REFUNDS_IN_PROGRESS = "SELECT count(*) FROM refunds WHERE next_look_at IS NOT NULL"
TO_DO = """
    SELECT p.projects, p.oldest_project_at, w.withdrawals, w.oldest_withdrawal_at, r.refunds, r.oldest_refund_at,
           (SELECT count(*) FROM bank_entry_parts WHERE outcome = 'unmatched') AS transfers,
           (SELECT count(*)
            FROM (SELECT id FROM refunds
                  WHERE rail = 'bank' AND mode = 'live' AND status = 'pending' AND provider_reference IS NOT NULL
                    AND next_look_at IS NOT NULL
                  UNION ALL
                  SELECT id FROM withdrawals
                  WHERE rail = 'bank' AND mode = 'live' AND status = 'processing' AND submission = 'accepted'
                    AND next_look_at IS NOT NULL) accepted
            WHERE NOT EXISTS (SELECT FROM bank_payouts b WHERE b.id = accepted.id AND b.status <> 'prepared')) AS payouts
    FROM (SELECT count(*) AS projects, min(updated_at) AS oldest_project_at
          FROM projects WHERE status = 'in_review' OR pending_changes IS NOT NULL) p,
         (SELECT count(*) AS withdrawals, min(created_at) AS oldest_withdrawal_at
          FROM withdrawals WHERE status = 'pending_review') w,
         (SELECT count(*) AS refunds, min(created_at) AS oldest_refund_at
          FROM outgoing_transfers WHERE kind = 'refund' AND review = 'required' AND closed_at IS NULL) r
"""

UPSERT_HEARTBEAT = """
    INSERT INTO worker_signs (worker_id, host, pid, version, first_seen_at, last_seen_at) VALUES ($1, $2, $3, $4, $5, $5)
    ON CONFLICT (worker_id) DO UPDATE SET last_seen_at = excluded.last_seen_at
"""
DELETE_HEARTBEATS = "DELETE FROM worker_signs WHERE last_seen_at <= $1"
UPSERT_CHECK_RESULT = """
    INSERT INTO invariant_watch (looked_at, broken) VALUES ($1, $2)
    ON CONFLICT (the_last) DO UPDATE
    SET looked_at = excluded.looked_at, broken = excluded.broken, failed_at = NULL, failure = NULL
    WHERE greatest(invariant_watch.looked_at, invariant_watch.failed_at) <= excluded.looked_at
"""
UPSERT_CHECK_FAILURE = """
    INSERT INTO invariant_watch (broken, failed_at, failure) VALUES ('{}', $1, $2)
    ON CONFLICT (the_last) DO UPDATE SET failed_at = excluded.failed_at, failure = excluded.failure
    WHERE greatest(invariant_watch.looked_at, invariant_watch.failed_at) <= excluded.failed_at
"""


async def overview(db: Pool, version: str, now: datetime) -> Overview:
    """Read the state of the service."""
    deliveries = await delivery_status.read_status(db)
    async with db.connection() as tx:
        database = await tx.fetchrow(DATABASE)
        refunds = await tx.fetchval(REFUNDS_IN_PROGRESS)
        last_check = await tx.fetchrow(LAST_CHECK)
        workers = await tx.fetch(WORKERS)
        oldest = await tx.fetchval(OLDEST_UNDELIVERED)
    if database is None:
        raise AssertionError("a statement without FROM answers one row")
    return Overview(
        version=version,
        database_version=database["version"],
        database_bytes=database["bytes"],
        migration=database["migration"],
        workers=[WorkerHeartbeat(**dict(row)) for row in workers],
        last_check=None if last_check is None else CheckResult(**dict(last_check)),
        deliveries=deliveries,
        oldest_undelivered=oldest,
        refunds_in_progress=refunds,
        now=now,
    )


async def to_do(db: Pool) -> ToDo:
    """Count what waits for an operator."""
    row = await db.fetchrow(TO_DO)
    if row is None:
        raise AssertionError("a statement that counts answers one row")
    return ToDo(**dict(row))


async def record_heartbeat(db: Pool, worker_id: UUID, host: str, pid: int, version: str, now: datetime) -> None:
    """Record the heartbeat of a worker."""
    await db.execute(UPSERT_HEARTBEAT, worker_id, host, pid, version, now)


async def delete_heartbeats(db: Pool, until: datetime) -> None:
    """Delete workers without a heartbeat since `until`."""
    await db.execute(DELETE_HEARTBEATS, until)


async def record_check(db: Pool, broken: Sequence[str], now: datetime) -> None:
    """Record the result of a check: a line for each broken invariant."""
    await db.execute(UPSERT_CHECK_RESULT, now, list(broken))


async def record_failed_check(db: Pool, reason: str, now: datetime) -> None:
    """Record that a check could not finish, beside the last result."""
    await db.execute(UPSERT_CHECK_FAILURE, now, reason)
