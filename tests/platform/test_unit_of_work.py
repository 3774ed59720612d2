"""The unit of work: of two that arrive at once none is lost, none exceeds a bound, and both runs write the same."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.running import migrated_database
from tollhouse.instance.database import embedded
from tollhouse.platform.database.pool import Pool, Tx

AT_ONCE = 8
SCHEMA = """
    CREATE TABLE counters (id int PRIMARY KEY, version int NOT NULL, amount int NOT NULL CHECK (amount <= 10));
    INSERT INTO counters VALUES (1, 1, 0);
    CREATE TABLE names (name text PRIMARY KEY, at int);
    CREATE FUNCTION counters_set(p_id int, p_amount int) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE counters SET amount = p_amount, version = version + 1 WHERE id = p_id;
    END $$;
    CREATE FUNCTION counters_add(p_id int, p_amount int) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE counters SET amount = amount + p_amount WHERE id = p_id;
    END $$;
    CREATE FUNCTION counters_require(p_id int, p_version int) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM counters WHERE id = p_id AND version = p_version FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'changed' USING ERRCODE = 'serialization_failure';
        END IF;
    END $$;
    CREATE FUNCTION names_add(p_names text[]) RETURNS SETOF names LANGUAGE plpgsql AS $$
    BEGIN
        RETURN QUERY INSERT INTO names SELECT name, 1 FROM unnest(p_names) AS name RETURNING *;
    END $$;
"""
READ = "SELECT version, amount FROM counters WHERE id = $1"
LOCK = "SELECT id FROM counters WHERE id = $1 FOR UPDATE"
REQUIRE = "SELECT counters_require($1, $2)"
SET = "SELECT counters_set($1, $2)"
ADD = "SELECT counters_add($1, $2)"
LOCK_ROOM = "SELECT 10 - amount FROM counters WHERE id = $1 FOR UPDATE"
INSERT = "INSERT INTO names (name, at) VALUES ($1, $2)"
INSERT_ONCE = "INSERT INTO names (name, at) VALUES ($1, $2) ON CONFLICT DO NOTHING"
ADD_NAMES = "SELECT name, at FROM names_add($1)"


class TooMuchError(Exception):
    """The amount exceeds the bound."""


@pytest.fixture
async def pool(server: embedded.Server) -> AsyncIterator[Pool]:
    """Connections to a database of its own, with a counter."""
    dsn = await migrated_database(server.cluster.dsn)
    raw = await asyncpg.connect(dsn)
    await raw.execute(SCHEMA)
    await raw.close()
    pool = Pool(dsn, AT_ONCE)
    yield pool
    await pool.close()


async def test_no_change_of_a_row_is_lost(pool: Pool) -> None:
    runs: list[bool] = []

    async def count(tx: Tx) -> None:
        runs.append(tx.is_optimistic)
        row = await tx.read_to_change(READ, 1, lock=LOCK, require=REQUIRE, versions=("version",))
        assert row is not None
        await tx.write(SET, 1, row["amount"] + 1)

    await asyncio.gather(*(pool.transact(count) for _ in range(AT_ONCE)))
    assert (await pool.fetchrow(READ, 1) or {})["amount"] == AT_ONCE
    assert runs.count(True) == AT_ONCE  # the first ones: of those that read the same version, one commits


async def test_nobody_changes_a_row_that_is_not_there(pool: Pool) -> None:
    async def read(tx: Tx) -> object:
        return await tx.read_to_change(READ, 2, lock=LOCK, require=REQUIRE, versions=("version",))

    assert await pool.transact(read) is None


async def test_a_conditional_write_is_made_once(pool: Pool) -> None:
    async def take(tx: Tx, at: int) -> bool:
        return await tx.try_write(INSERT_ONCE, "a", at, strict=INSERT)

    taken = await asyncio.gather(*(pool.transact(lambda tx, at=at: take(tx, at)) for at in range(AT_ONCE)))
    assert taken.count(True) == 1
    assert (await pool.fetchrow("SELECT at FROM names") or {})["at"] == taken.index(True)


async def test_all_rows_of_a_function_are_written_in_either_run(pool: Pool) -> None:
    async def add(tx: Tx, names: list[str], *, conflicts: bool) -> object:
        if conflicts and tx.is_optimistic:
            raise asyncpg.SerializationError
        return await tx.write_rows(ADD_NAMES, names, read=lambda row: row["name"], expected=names)

    assert await pool.transact(lambda tx: add(tx, ["a", "b"], conflicts=False)) == ["a", "b"]
    assert await pool.transact(lambda tx: add(tx, ["c", "d"], conflicts=True)) == ["c", "d"]
    assert [row["name"] for row in await pool.fetch("SELECT name FROM names ORDER BY name")] == ["a", "b", "c", "d"]


async def test_a_bound_is_the_constraint_of_an_optimistic_run_and_the_action_s_own_error_after_it(pool: Pool) -> None:
    async def add(tx: Tx) -> None:
        room = await tx.fetch_bound(LOCK_ROOM, 1)
        if room is not None and room < 6:
            raise TooMuchError
        await tx.write(ADD, 1, 6)

    ended = await asyncio.gather(*(pool.transact(add) for _ in range(AT_ONCE)), return_exceptions=True)
    assert ended.count(None) == 1
    assert {type(error) for error in ended if error is not None} == {TooMuchError}
    assert (await pool.fetchrow(READ, 1) or {})["amount"] == 6
