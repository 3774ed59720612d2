"""SQL of bulk redelivery runs."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.webhooks.endpoints.model import EVENT, WebhookEvent
from tollhouse.webhooks.endpoints.runs_model import RUN, FailedEvent, FailureFilter, RedeliveryRun

# $3: since when, $4: how many failures to check, oldest first. Events with an attempt due or under way are not counted.
COUNT = """
    SELECT count(*) AS count
    FROM (SELECT event_id FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
          ORDER BY failed_at, event_id LIMIT $4) AS f
    JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    WHERE e.status = 'failed' AND e.next_attempt_at IS NULL AND ($5 = '' OR e.type = $5)
"""
LIST_FIRST = f"""
    SELECT {EVENT.columns_of("e")}
    FROM (SELECT event_id, failed_at FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
          ORDER BY failed_at, event_id LIMIT $4) AS f
    JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    WHERE e.status = 'failed' AND e.next_attempt_at IS NULL AND ($5 = '' OR e.type = $5)
    ORDER BY f.failed_at, f.event_id LIMIT $6
"""
# Uses the clock of the database, as `failed_at` does.
BEGIN = """
    INSERT INTO webhook_redelivery_runs
        (id, merchant_id, mode, type, since, until, expected, reached_at, reached_id, created_at)
    VALUES ($1, $2, $3, $4, $5, greatest(clock_timestamp(), $5), $6, $5, 'ffffffff-ffff-ffff-ffff-ffffffffffff', $7)
"""
ONE = f"SELECT {RUN.columns} FROM webhook_redelivery_runs WHERE merchant_id = $1 AND mode = $2 AND id = $3"
UNDER_WAY = "SELECT id FROM webhook_redelivery_runs WHERE merchant_id = $1 AND mode = $2 AND ended_at IS NULL"
NEXT = f"""
    SELECT {RUN.columns}
    FROM webhook_redelivery_runs WHERE ended_at IS NULL ORDER BY reached_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""
STEP = """
    SELECT f.event_id, f.failed_at, e.type, e.destination_source, e.destination_url,
           coalesce(e.status = 'failed' AND e.next_attempt_at IS NULL, false) AS failed
    FROM webhook_failures f LEFT JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    WHERE f.merchant_id = $1 AND f.mode = $2 AND f.failed_at >= $3 AND (f.failed_at, f.event_id) > ($3, $4)
      AND f.failed_at <= $5
    ORDER BY f.failed_at, f.event_id LIMIT $6
"""
REACH = """
    UPDATE webhook_redelivery_runs
    SET looked_at = looked_at + $4, sent = sent + $5, passed_over = passed_over + $6, reached_at = $7, reached_id = $8
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND ended_at IS NULL
"""
END = """
    UPDATE webhook_redelivery_runs SET ended_at = $4, ended_because = $5
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND ended_at IS NULL
"""
DELETE_OLD = """
    DELETE FROM webhook_redelivery_runs WHERE id IN (
        SELECT id FROM webhook_redelivery_runs WHERE ended_at IS NOT NULL AND created_at <= $1 LIMIT $2)
"""


async def count(db: Pool | Tx, env: MerchantEnv, failure_filter: FailureFilter, most: int) -> int:
    """How many events a run would redeliver."""
    row = await db.fetchrow(COUNT, env.merchant_id, env.mode, failure_filter.since, most, failure_filter.type)
    return 0 if row is None else row["count"]


async def list_first(db: Pool, env: MerchantEnv, failure_filter: FailureFilter, most: int, limit: int) -> list[WebhookEvent]:
    """The first events that a run would redeliver."""
    values = (env.merchant_id, env.mode, failure_filter.since, most, failure_filter.type, limit)
    return [EVENT.read(row) for row in await db.fetch(LIST_FIRST, *values)]


async def start(tx: Tx, env: MerchantEnv, run_id: UUID, failure_filter: FailureFilter, expected: int, now: datetime) -> None:
    """Insert a run for the worker."""
    await tx.execute(BEGIN, run_id, env.merchant_id, env.mode, failure_filter.type, failure_filter.since, expected, now)


async def get(db: Pool | Tx, env: MerchantEnv, run_id: UUID) -> RedeliveryRun | None:
    """A run of this environment; None if there is none."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, run_id)
    return None if row is None else RUN.read(row)


async def find_active(db: Pool | Tx, env: MerchantEnv) -> UUID | None:
    """The active run."""
    row = await db.fetchrow(UNDER_WAY, env.merchant_id, env.mode)
    return None if row is None else row["id"]


async def lock_next(tx: Tx) -> RedeliveryRun | None:
    """Lock an active run that no other worker has locked."""
    row = await tx.fetchrow(NEXT)
    return None if row is None else RUN.read(row)


async def list_next(tx: Tx, run: RedeliveryRun, limit: int) -> list[FailedEvent]:
    """The next failed events of the run."""
    whose = (run.env.merchant_id, run.env.mode)
    rows = await tx.fetch(STEP, *whose, run.cursor_at, run.cursor_id, run.until, limit)
    return [FailedEvent(*row) for row in rows]


async def record_progress(tx: Tx, run: RedeliveryRun, step: list[FailedEvent], sent: int, skipped: int) -> None:
    """Record the result of a step, and where the next one begins."""
    last = step[-1]
    whose = (run.env.merchant_id, run.env.mode, run.id)
    await tx.execute(REACH, *whose, len(step), sent, skipped, last.failed_at, last.event_id)


async def end(tx: Tx, run: RedeliveryRun, now: datetime, reason: str) -> None:
    """End a run."""
    await tx.execute(END, run.env.merchant_id, run.env.mode, run.id, now, reason)
