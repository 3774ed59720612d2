"""Every SQL statement about runs that send failed events again."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.webhooks.runs_model import Failure, Run, Wanted

# What failed of late is in a table of its own, which the events' own rows are looked up from. $3: since when, $4: how many
# are looked at, the oldest first. One that is due, or on its way, is not counted: nothing is added to it.
COUNT = """
    SELECT count(*) AS count
    FROM (SELECT event_id FROM webhook_failures WHERE merchant_id = $1 AND mode = $2 AND failed_at > $3
          ORDER BY failed_at, event_id LIMIT $4) AS f
    JOIN webhook_events e ON e.id = f.event_id AND e.merchant_id = $1 AND e.mode = $2
    WHERE e.status = 'failed' AND e.next_attempt_at IS NULL AND ($5 = '' OR e.type = $5)
"""
# By the clock of the database, which told when they failed.
BEGIN = """
    INSERT INTO webhook_redelivery_runs
        (id, merchant_id, mode, type, since, until, expected, reached_at, reached_id, created_at)
    VALUES ($1, $2, $3, $4, $5, greatest(clock_timestamp(), $5), $6, $5, 'ffffffff-ffff-ffff-ffff-ffffffffffff', $7)
"""
ONE = """
    SELECT id, merchant_id, mode, type, since, until, expected, looked_at, sent, passed_over, reached_at, reached_id,
           created_at, ended_at, ended_because
    FROM webhook_redelivery_runs WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
UNDER_WAY = "SELECT id FROM webhook_redelivery_runs WHERE merchant_id = $1 AND mode = $2 AND ended_at IS NULL"
NEXT = """
    SELECT id, merchant_id, mode, type, since, until, expected, looked_at, sent, passed_over, reached_at, reached_id,
           created_at, ended_at, ended_because
    FROM webhook_redelivery_runs WHERE ended_at IS NULL ORDER BY reached_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""
STEP = """
    SELECT f.event_id, f.failed_at, e.type, e.destination_source, e.destination_url,
           e.status = 'failed' AND e.next_attempt_at IS NULL AS failed
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
FORGET = """
    DELETE FROM webhook_redelivery_runs WHERE id IN (
        SELECT id FROM webhook_redelivery_runs WHERE ended_at IS NOT NULL AND created_at <= $1 LIMIT $2)
"""


async def count(db: Pool | Tx, env: MerchantEnv, wanted: Wanted, most: int) -> int:
    """How many events would be sent, of as many failures as a run looks at."""
    row = await db.fetchrow(COUNT, env.merchant_id, env.mode, wanted.since, most, wanted.type)
    return 0 if row is None else row["count"]


async def begin(tx: Tx, env: MerchantEnv, run_id: UUID, wanted: Wanted, expected: int, now: datetime) -> None:
    """Ask the worker for a run."""
    await tx.execute(BEGIN, run_id, env.merchant_id, env.mode, wanted.type, wanted.since, expected, now)


async def one(db: Pool | Tx, env: MerchantEnv, run_id: UUID) -> Run | None:
    """This run; None when it is another merchant's or another mode's."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, run_id)
    return None if row is None else _run(row)


async def under_way(db: Pool | Tx, env: MerchantEnv) -> UUID | None:
    """The run that is not over yet."""
    row = await db.fetchrow(UNDER_WAY, env.merchant_id, env.mode)
    return None if row is None else row["id"]


async def take(tx: Tx) -> Run | None:
    """A run that is not over and that nobody else works at, for the rest of this transaction."""
    row = await tx.fetchrow(NEXT)
    return None if row is None else _run(row)


async def step(tx: Tx, run: Run, limit: int) -> list[Failure]:
    """The failures that come next."""
    whose = (run.env.merchant_id, run.env.mode)
    rows = await tx.fetch(STEP, *whose, run.reached_at, run.reached_id, run.until, limit)
    return [
        Failure(
            row["event_id"],
            row["failed_at"],
            row["type"],
            row["destination_source"],
            row["destination_url"],
            bool(row["failed"]),
        )
        for row in rows
    ]


async def reach(tx: Tx, run: Run, step: list[Failure], sent: int, passed_over: int) -> None:
    """Note what a step did, and where the next one begins."""
    last = step[-1]
    whose = (run.env.merchant_id, run.env.mode, run.id)
    await tx.execute(REACH, *whose, len(step), sent, passed_over, last.failed_at, last.event_id)


async def end(tx: Tx, run: Run, now: datetime, reason: str) -> None:
    """It is over."""
    await tx.execute(END, run.env.merchant_id, run.env.mode, run.id, now, reason)


def _run(row: Row) -> Run:
    return Run(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        wanted=Wanted(row["since"], row["type"]),
        until=row["until"],
        expected=row["expected"],
        looked_at=row["looked_at"],
        sent=row["sent"],
        passed_over=row["passed_over"],
        reached_at=row["reached_at"],
        reached_id=row["reached_id"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        ended_reason=row["ended_because"],
    )
