"""Every SQL statement about schedules of withdrawals."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.orders.store import env_of, fetch_page
from tollhouse.transfers.withdrawals.model import RUN, SCHEDULE, ScheduleRun, WithdrawalSchedule

INSERT = f"{SCHEDULE.insert} ON CONFLICT (id, merchant_id) DO NOTHING"
COUNT_CURRENT = "SELECT count(*) FROM withdrawal_schedules WHERE merchant_id = $1 AND mode = $2 AND status <> 'ended'"
GET = f"SELECT {SCHEDULE.columns} FROM withdrawal_schedules WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LOCK = f"{GET} FOR NO KEY UPDATE"
LIST = f"""
    SELECT {SCHEDULE.columns} FROM withdrawal_schedules
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
SET_STATUS = f"""
    UPDATE withdrawal_schedules SET status = $4, next_run_at = $5, next_attempt_at = $6, updated_at = $7
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 RETURNING {SCHEDULE.columns}
"""
# Schedules of suspended merchants wait.
LIST_DUE = """
    SELECT s.id, s.merchant_id, s.mode FROM withdrawal_schedules s
    JOIN merchants m ON m.id = s.merchant_id AND m.suspended_at IS NULL
    WHERE s.status = 'active' AND s.next_attempt_at <= $1
    ORDER BY s.next_attempt_at LIMIT $2
"""
LIST_DUE_BY_TEST_CLOCK = """
    SELECT d.id, d.merchant_id, d.mode FROM test_clocks c
    JOIN merchants m ON m.id = c.merchant_id AND m.suspended_at IS NULL
    CROSS JOIN LATERAL (SELECT s.id, s.merchant_id, s.mode FROM withdrawal_schedules s
                        WHERE (s.merchant_id, s.mode) = (c.merchant_id, c.mode) AND s.status = 'active'
                          AND s.next_attempt_at > $1 AND s.next_attempt_at <= $1::timestamptz + c.ahead
                        ORDER BY s.next_attempt_at LIMIT $2) d
    LIMIT $2
"""
LOCK_DUE = f"""
    SELECT {SCHEDULE.columns_of("s")}, m.time_zone, time_of_environment(s.merchant_id, s.mode, $4) AS present
    FROM withdrawal_schedules s JOIN merchants m ON m.id = s.merchant_id AND m.suspended_at IS NULL
    WHERE s.merchant_id = $1 AND s.mode = $2 AND s.id = $3 AND s.status = 'active'
      AND s.next_attempt_at <= time_of_environment(s.merchant_id, s.mode, $4)
    FOR UPDATE OF s SKIP LOCKED
"""
TIME_ZONE = "SELECT time_zone FROM merchants WHERE id = $1"
INSERT_RUN = RUN.insert
LIST_RUNS = f"""
    SELECT {RUN.columns_of("r")} FROM withdrawal_schedule_runs r
    WHERE r.merchant_id = $1 AND r.schedule_id = $2 ORDER BY r.due_at DESC LIMIT $3
"""


LIST_LATEST_RUNS = f"""
    SELECT r.schedule_id, {RUN.columns_of("r")} FROM withdrawal_schedule_runs r
    JOIN withdrawal_schedules s ON (s.id, s.merchant_id) = (r.schedule_id, r.merchant_id)
    WHERE r.merchant_id = $1 AND s.mode = $2 ORDER BY r.at DESC, r.due_at DESC LIMIT $3
"""


class DueSchedule(Struct, frozen=True):
    """A locked schedule that is due, the merchant's time zone, and the present of its environment."""

    schedule: WithdrawalSchedule
    time_zone: str
    present: datetime


async def insert(tx: Tx, new: WithdrawalSchedule) -> bool:
    """Insert a schedule; False if there is one of this ID."""
    return await tx.execute(INSERT, *SCHEDULE.values(new)) == 1


async def count_current(tx: Tx, env: MerchantEnv) -> int:
    """The number of schedules that have not ended."""
    return await tx.fetchval(COUNT_CURRENT, env.merchant_id, env.mode)


async def get(db: Pool | Tx, env: MerchantEnv, schedule_id: UUID) -> WithdrawalSchedule:
    """A schedule. Raises `NotFound`."""
    return await SCHEDULE.get(db, GET, env.merchant_id, env.mode, schedule_id)


async def lock(tx: Tx, env: MerchantEnv, schedule_id: UUID) -> WithdrawalSchedule:
    """Lock a schedule until the transaction ends, and return it. Raises `NotFound`."""
    return await SCHEDULE.get(tx, LOCK, env.merchant_id, env.mode, schedule_id)


async def list_schedules(db: Pool, env: MerchantEnv, window: Window) -> list[WithdrawalSchedule]:
    """A page of schedules, newest first."""
    return await fetch_page(db, SCHEDULE.read, LIST, window, env.merchant_id, env.mode)


async def set_status(
    tx: Tx,
    current: WithdrawalSchedule,
    status: str,
    next_run_at: datetime | None,
    next_attempt_at: datetime | None,
    now: datetime,
) -> WithdrawalSchedule:
    """Change the status and the times of a locked schedule, and return it."""
    key = (current.env.merchant_id, current.env.mode, current.id)
    return await SCHEDULE.get(tx, SET_STATUS, *key, status, next_run_at, next_attempt_at, now)


async def list_due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """The schedules that are due, of merchants that are not suspended: the first ones first, then those by test clocks."""
    rows = [*await db.fetch(LIST_DUE, now, limit), *await db.fetch(LIST_DUE_BY_TEST_CLOCK, now, limit)]
    return [(env_of(row), row["id"]) for row in rows]


async def lock_due(tx: Tx, env: MerchantEnv, schedule_id: UUID, now: datetime) -> DueSchedule | None:
    """Lock a schedule that is due; None if another worker has it, or ran it."""
    row = await tx.fetchrow(LOCK_DUE, env.merchant_id, env.mode, schedule_id, now)
    return None if row is None else DueSchedule(SCHEDULE.read(row), row["time_zone"], row["present"])


async def get_time_zone(tx: Tx, env: MerchantEnv) -> str:
    """The time zone of the merchant."""
    return await tx.fetchval(TIME_ZONE, env.merchant_id)


async def insert_run(tx: Tx, schedule: WithdrawalSchedule, run: ScheduleRun) -> None:
    """Insert a run. A second one of the same time violates the key."""
    values = RUN.values(run, schedule_id=schedule.id, merchant_id=schedule.env.merchant_id)
    await tx.execute(INSERT_RUN, *values)


async def list_runs(db: Pool, env: MerchantEnv, schedule_id: UUID, limit: int) -> list[ScheduleRun]:
    """The latest runs of a schedule, newest first."""
    return await RUN.find_all(db, LIST_RUNS, env.merchant_id, schedule_id, limit)


async def list_latest_runs(db: Pool, env: MerchantEnv, limit: int) -> list[tuple[UUID, ScheduleRun]]:
    """The latest runs of all schedules of an environment, newest first, each with the ID of its schedule."""
    rows = await db.fetch(LIST_LATEST_RUNS, env.merchant_id, env.mode, limit)
    return [(row["schedule_id"], RUN.read(row)) for row in rows]
