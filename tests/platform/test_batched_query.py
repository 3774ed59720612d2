"""Rows that are asked for at the same time are read by one statement, and everybody gets the own row, or the error."""

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.running import Service
from tollhouse.platform.database.batched_query import BATCHES_MAX, KEYS_MAX, BatchedQuery
from tollhouse.platform.database.batched_store import for_many
from tollhouse.platform.database.pool import Pool

DOUBLED = for_many("SELECT $1 * 2 + $2::int AS doubled WHERE $1 % 3 <> 0", "int")
INVERTED = for_many("SELECT 1 / $1 AS one", "int")
JOINED = for_many("SELECT $1 || $2 AS words WHERE $2 <> $3", "text", "text")


class Counted:
    """A pool whose statements are counted. They wait while `go` is not set."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.sizes: list[int] = []
        self.go = asyncio.Event()
        self.go.set()

    async def fetch(self, sql: str, keys: list[int], *args: object) -> list[asyncpg.Record]:
        """Run it."""
        self.sizes.append(len(keys))
        await self.go.wait()
        return await self.pool.fetch(sql, keys, *args)


@pytest.fixture
async def counted(service: Service) -> Any:
    pool = Pool(service.dsn)
    yield Counted(pool)
    await pool.close()


async def test_simultaneous_keys_are_one_statement(counted: Counted) -> None:
    query = BatchedQuery(counted.fetch, DOUBLED)
    rows = await asyncio.gather(*(query.fetchrow((key,), 1) for key in (1, 2, 3, 2)))
    assert [row and row["doubled"] for row in rows] == [3, 5, None, 5]
    assert counted.sizes == [4]


async def test_keys_of_several_columns_and_other_parameters(service: Service) -> None:
    pool = Pool(service.dsn)
    keys = [("a", "b"), ("a", "c"), ("d", "b")]
    rows = await asyncio.gather(*(pool.fetchrow_in_batch(JOINED, key, "c") for key in keys))
    assert [row and row["words"] for row in rows] == ["ab", None, "db"]
    await pool.close()


async def test_keys_gather_while_others_are_read(counted: Counted) -> None:
    query = BatchedQuery(counted.fetch, DOUBLED)
    counted.go.clear()
    asked: list[asyncio.Task[Any]] = []
    for key in range(BATCHES_MAX + KEYS_MAX + 7):
        asked.append(asyncio.create_task(query.fetchrow((key,), 0)))
        for _ in range(3):
            await asyncio.sleep(0)
    assert counted.sizes == [1] * BATCHES_MAX
    counted.go.set()
    rows = await asyncio.gather(*asked)
    assert [row and row["doubled"] for row in rows] == [key * 2 if key % 3 else None for key in range(len(asked))]
    assert counted.sizes == [1] * BATCHES_MAX + [KEYS_MAX, 7]


async def test_an_error_reaches_all_and_the_next_are_read(counted: Counted) -> None:
    query = BatchedQuery(counted.fetch, INVERTED)
    answers = await asyncio.gather(*(query.fetchrow((key,)) for key in (1, 0)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [asyncpg.DivisionByZeroError] * 2
    row = await query.fetchrow((1,))
    assert row is not None
    assert row["one"] == 1


async def test_who_goes_away_holds_nobody_up(counted: Counted) -> None:
    query = BatchedQuery(counted.fetch, DOUBLED)
    counted.go.clear()
    leaves, stays = (asyncio.create_task(query.fetchrow((key,), 0)) for key in (1, 2))
    while not counted.sizes:
        await asyncio.sleep(0)
    leaves.cancel()
    counted.go.set()
    row = await stays
    assert row is not None
    assert row["doubled"] == 4
    assert leaves.cancelled()
