"""The pool: statements stay prepared, what is broken is thrown away, what is lent comes back clean."""

import asyncio

import pytest

from tests.running import Service
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database.errors import CONNECTION_LOST
from tollhouse.platform.database.pool import Pool, Tx

ONE = "SELECT 1 AS one"
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"
PID = "SELECT pg_backend_pid()"
KILL = "SELECT pg_terminate_backend($1)"


async def test_a_statement_is_prepared_once_and_stays(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    for _ in range(3):
        assert (await pool.fetchrow(ONE) or {})["one"] == 1
    assert (await pool.fetchrow(PREPARED, ONE) or [0])[0] == 1
    await pool.close()


async def test_no_more_connections_than_the_size(service: Service) -> None:
    pool = Pool(service.dsn, 2)
    rows = await asyncio.gather(*(pool.fetchrow(PID) for _ in range(20)))
    assert len({row[0] for row in rows if row}) <= 2
    await pool.close()


async def test_a_connection_whose_session_was_ended_is_replaced(service: Service) -> None:
    pool, other = Pool(service.dsn, 1), Pool(service.dsn, 1)
    first = (await pool.fetchrow(PID) or [0])[0]
    await other.fetchrow(KILL, first)
    pids = {first}
    while pids == {first}:  # until the ended session is noticed, which costs one request its answer
        try:
            pids.add((await pool.fetchrow(PID) or [0])[0])
        except CONNECTION_LOST:
            pids.add(0)
    assert (await pool.fetchrow(PID) or [0])[0] not in {0, first}
    await pool.close()
    await other.close()


async def test_an_action_that_raises_leaves_nothing_and_its_connection_is_used_again(service: Service) -> None:
    pool = Pool(service.dsn, 1)

    async def fail(tx: Tx) -> None:
        await tx.execute("CREATE TABLE half_done (x int)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await pool.transact(fail)
    assert (await pool.fetchrow("SELECT to_regclass('half_done')") or [1])[0] is None
    await pool.close()


async def test_an_action_that_lost_a_deadlock_runs_again(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    tries = 0

    async def action(tx: Tx) -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            await tx.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$")
        return tries

    assert await pool.transact(action) == 3
    await pool.close()


async def test_a_database_out_of_reach_is_temporarily_unavailable() -> None:
    pool = Pool("postgresql://tollhouse@/tollhouse?host=/nowhere", 1)
    with pytest.raises(TemporarilyUnavailable):
        await pool.fetchrow(ONE)
