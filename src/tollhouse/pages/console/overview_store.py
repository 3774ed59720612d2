"""SQL of the overview and of failing deliveries: database, workers, rails, what is to do, the last check of invariants."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.pages.console.overview import CheckResult, Overview, ToDo, WorkerHeartbeat
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.invariants import Invariant
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


LIST_MEASURED = """
    SELECT rail, r.reason, r.facts, r.checked_at, p.reason AS payout_reason, p.currencies_down, p.facts AS payout_facts,
           p.checked_at AS payouts_checked_at
    FROM rail_health r FULL JOIN chain_payout_health p USING (rail, mode) WHERE mode = 'live'
"""


class MeasuredRail(Struct, frozen=True, kw_only=True):
    """The last measurement of a rail and of its payouts, None before the first. A reason says why there are none."""

    reason: str | None
    facts: dict[str, Any]
    checked_at: datetime | None
    payout_reason: str | None
    currencies_down: frozenset[str]
    payout_facts: dict[str, Any]
    payouts_checked_at: datetime | None


async def list_measured(db: Pool) -> dict[str, MeasuredRail]:
    """The measurements by rail."""
    return {
        row["rail"]: read_row(
            MeasuredRail,
            row,
            facts=_facts(row["facts"]),
            currencies_down=frozenset(row["currencies_down"] or ()),
            payout_facts=_facts(row["payout_facts"]),
        )
        for row in await db.fetch(LIST_MEASURED)
    }


def _facts(raw: str | None) -> dict[str, Any]:
    return {} if raw is None else msgspec.json.decode(raw)


I20_ADJUSTED = """
    SELECT format('ledger transaction %s adjusts a balance by no action %s of an operator', t.id, t.source_id) AS line
    FROM ledger_transactions t
    LEFT JOIN operator_actions a ON (a.id, a.action, a.mode) = (t.source_id, 'balance_adjusted', t.mode)
    CROSS JOIN LATERAL (
        SELECT sum(CASE m.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END) AS moved,
               bool_and((m.merchant_id, p.currency) = (a.merchant_id, a.currency)) AS of_merchant
        FROM ledger_postings p
        JOIN ledger_accounts m ON m.id IN (p.debit_account_id, p.credit_account_id) AND m.guarded
        WHERE p.transaction_id = t.id AND p.type = 'adjustment') l
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'adjustment'
      AND (l.of_merchant IS NOT TRUE OR a.amount_minor IS DISTINCT FROM l.moved)
"""
I20_POSTED = """
    SELECT format('action %s adjusted a balance and is not in the ledger', a.id) AS line
    FROM operator_actions a
    WHERE a.id = ANY ($1::uuid[]) AND a.action = 'balance_adjusted'
      AND NOT EXISTS (SELECT FROM ledger_transactions t WHERE t.source_type = 'adjustment' AND t.source_id = a.id)
"""
I29_RECORDED = """
    SELECT format('action %s %s has no record with a hash of the address', a.id, a.action) AS line
    FROM operator_actions a
    WHERE a.id = ANY ($1::uuid[]) AND a.action IN ('person_exported', 'person_erased')
      AND NOT EXISTS (
          SELECT FROM data_subject_requests r
          WHERE r.id = a.subject_id AND r.kind = CASE a.action WHEN 'person_erased' THEN 'erasure' ELSE 'export' END)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I20", "every adjustment has an operator's action", I20_ADJUSTED, "ledger"),
    Invariant("I20", "operators' adjustments are in the ledger", I20_POSTED, "operator_action"),
    Invariant("I29", "exports and erasures of people are recorded", I29_RECORDED, "operator_action"),
)


# Failed, retried and held deliveries are in tables of their own, so that the much larger event table is not read.
FAILING = """
    WITH failing AS (
        SELECT merchant_id, mode, 'failed' AS status, failed_at FROM webhook_failures WHERE failed_at > $1
        UNION ALL
        SELECT merchant_id, mode, CASE WHEN held THEN 'held' ELSE 'retrying' END, NULL FROM webhook_deliveries_later
        UNION ALL
        SELECT merchant_id, mode, CASE WHEN held THEN 'held' ELSE 'retrying' END, NULL FROM webhook_deliveries
        WHERE automatic_at IS NOT NULL AND (held OR tries > 0 OR lost > 0)
    )
    SELECT f.merchant_id, m.business_name, f.mode, count(*) FILTER (WHERE f.status = 'failed') AS failed,
           count(*) FILTER (WHERE f.status = 'retrying') AS retrying, count(*) FILTER (WHERE f.status = 'held') AS held,
           max(f.failed_at) AS last_failed_at
    FROM failing f JOIN merchants m ON m.id = f.merchant_id
    GROUP BY f.merchant_id, m.business_name, f.mode ORDER BY count(*) DESC, f.merchant_id, f.mode LIMIT $2 OFFSET $3
"""
# Ids are in order of time: the newest are selected before events are read.
FAILING_OF_MERCHANT = """
    WITH failing AS (
        SELECT event_id FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
        UNION
        SELECT event_id FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2
        UNION
        SELECT event_id FROM webhook_deliveries
        WHERE merchant_id = $1 AND mode = $2 AND automatic_at IS NOT NULL AND (held OR tries > 0 OR lost > 0)
        ORDER BY event_id DESC LIMIT $4 OFFSET $5
    )
    SELECT e.id AS event_id, e.type, e.status, e.attempts, e.destination_url, e.created_at, e.next_attempt_at,
           a.error, a.http_status, a.started_at AS attempted_at
    FROM failing f JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    LEFT JOIN webhook_attempts a ON a.event_id = e.id AND a.attempt = e.attempts
    ORDER BY e.id DESC
"""
DELETE_OLD_FAILURES = """
    DELETE FROM webhook_failures WHERE event_id IN (
        SELECT event_id FROM webhook_failures WHERE failed_at <= $1 ORDER BY failed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


FAILURES_SHOWN_FOR = timedelta(days=7)
"""How long a failed event stays in the list of failing deliveries."""


class FailingMerchant(Struct, frozen=True):
    """The number of events of a merchant's environment that failed recently, are retried, or are held."""

    merchant_id: UUID
    business_name: str
    mode: Mode
    failed: int
    retrying: int
    held: int
    last_failed_at: Timestamp | None


class FailingEvent(Struct, frozen=True):
    """An undelivered event: its receiver and the result of the last attempt, without its content."""

    event_id: UUID
    type: str
    status: str
    attempts: int
    host: str | None
    error: str | None
    http_status: int | None
    attempted_at: Timestamp | None
    next_attempt_at: Timestamp | None
    created_at: Timestamp


async def failing(db: Pool, now: datetime, limit: int, offset: int) -> list[FailingMerchant]:
    """Merchants with events that failed recently, are retried or held; those with the most first."""
    rows = await db.fetch(FAILING, now - FAILURES_SHOWN_FOR, limit, offset)
    return [read_row(FailingMerchant, row) for row in rows]


async def failing_of(db: Pool, env: MerchantEnv, now: datetime, limit: int, offset: int) -> list[FailingEvent]:
    """The failing events of one merchant and environment, newest first, without their content."""
    since = now - FAILURES_SHOWN_FOR
    rows = await db.fetch(FAILING_OF_MERCHANT, env.merchant_id, env.mode, since, limit, offset)
    return [read_row(FailingEvent, row, host=urlsplit(row["destination_url"] or "").hostname) for row in rows]
