"""Migrations inside and outside a transaction, from a folder of their own."""

import asyncio
import sys
from pathlib import Path

import asyncpg
import pytest

from tests.running import migrated_database, new_database
from tollhouse.instance.database import embedded
from tollhouse.platform.database import migrations
from tollhouse.platform.database.migrations import Migration, MigrationsDisagreeError, apply, in_folder, ours

TABLE = "CREATE TABLE cups (id int, mood text); INSERT INTO cups SELECT n, 'full; of' FROM generate_series(1, 100) AS n;"
TWICE = TABLE.replace("n;", "n UNION ALL VALUES (7, 'twice');")
INDEX = """-- One cup of each id.
-- transactional: false
DROP INDEX CONCURRENTLY IF EXISTS cups_id; -- also an invalid one; see below
CREATE UNIQUE INDEX CONCURRENTLY cups_id ON cups (id);
COMMENT ON INDEX cups_id IS E'it\\'s; one';
"""
INDEXES = "SELECT count(*) FROM pg_index WHERE indrelid = 'cups'::regclass AND indisvalid = $1"
WAITS_FOR_8 = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND objid = 8 AND NOT granted
"""
KILLED = """
import asyncio, sys
from pathlib import Path
from tollhouse.platform.database.migrations import apply, in_folder
asyncio.run(apply(sys.argv[1], in_folder(Path(sys.argv[2]))))
"""


@pytest.fixture
async def database(server: embedded.Server) -> str:
    """An empty database."""
    return await new_database(server.cluster.dsn)


def written(folder: Path, **files: str) -> list[Migration]:
    """Migrations with these contents, in this order."""
    for number, (name, sql) in enumerate(files.items(), 1):
        (folder / f"{number:04d}_{name}.sql").write_text(sql)
    return in_folder(folder)


async def value(dsn: str, statement: str, *args: object) -> object:
    """The value of a statement."""
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement, *args)
    finally:
        await connection.close()


async def test_statements_that_need_no_transaction_run_one_by_one(database: str, tmp_path: Path) -> None:
    mood = "-- transactional: false\nALTER TYPE mood ADD VALUE IF NOT EXISTS 'sad';\nUPDATE cups SET mood = 'sad'::mood"
    files = written(tmp_path, cups=TABLE, index=INDEX, type="CREATE TYPE mood AS ENUM ('glad')", sad=mood)
    assert await apply(database, files) == ["0001_cups.sql", "0002_index.sql", "0003_type.sql", "0004_sad.sql"]
    assert await value(database, INDEXES, True) == 1
    assert await value(database, "SELECT count(*) FROM cups WHERE mood = 'sad'") == 100
    assert await apply(database, files) == []


async def test_a_failed_statement_leaves_the_file_unrecorded_and_its_invalid_index_is_replaced(
    database: str, tmp_path: Path
) -> None:
    files = written(tmp_path, cups=TWICE, index=INDEX)
    with pytest.raises(asyncpg.UniqueViolationError):
        await apply(database, files)
    assert await value(database, INDEXES, False) == 1
    assert await value(database, "SELECT max(number) FROM schema_migrations") == 1
    await value(database, "DELETE FROM cups WHERE mood = 'twice'")
    assert await apply(database, files) == ["0002_index.sql"]
    assert (await value(database, INDEXES, True), await value(database, INDEXES, False)) == (1, 0)


async def test_an_invalid_index_that_a_file_keeps_is_an_error(database: str, tmp_path: Path) -> None:
    careless = INDEX.replace("DROP INDEX CONCURRENTLY IF EXISTS cups_id;", "").replace(
        "cups_id ON", "IF NOT EXISTS cups_id ON"
    )
    files = written(tmp_path, cups=TWICE, index=careless)
    with pytest.raises(asyncpg.UniqueViolationError):
        await apply(database, files)
    with pytest.raises(MigrationsDisagreeError, match=r"0002_index\.sql left the index cups_id invalid"):
        await apply(database, files)


async def test_a_migrator_that_is_killed_between_two_statements_is_continued_by_the_next(
    database: str, tmp_path: Path
) -> None:
    slow = INDEX + "CREATE TABLE IF NOT EXISTS reached ();\nSELECT pg_advisory_xact_lock(7);\nUPDATE cups SET mood = 'done'"
    files = written(tmp_path, cups=TABLE, index=slow)
    await apply(database, files[:1])
    blocking = await asyncpg.connect(database)
    await blocking.execute("SELECT pg_advisory_lock(7)")
    migrator = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, database, str(tmp_path))
    while not await value(database, "SELECT to_regclass('reached') IS NOT NULL"):
        assert migrator.returncode is None
        await asyncio.sleep(0.01)
    migrator.kill()
    await migrator.wait()
    await blocking.close()
    assert await value(database, "SELECT max(number) FROM schema_migrations") == 1
    assert await apply(database, files) == ["0002_index.sql"]
    assert await value(database, "SELECT mood FROM cups WHERE id = 1") == "done"


async def test_each_of_our_files_outside_a_transaction_can_be_continued_from_its_first_statement(
    server: embedded.Server,
) -> None:
    connection = await asyncpg.connect(await migrated_database(server.cluster.dsn))
    try:
        for migration in ours():
            for statement in () if migration.is_transactional else migration.statements():
                await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.long
async def test_two_migrators_exclude_each_other(database: str, tmp_path: Path) -> None:
    files = written(tmp_path, cups=TABLE, index=INDEX, once="-- transactional: false\nINSERT INTO cups VALUES (0, 'once')")
    done = await asyncio.gather(*(apply(database, files) for _ in range(3)))
    assert sorted(name for names in done for name in names) == ["0001_cups.sql", "0002_index.sql", "0003_once.sql"]
    assert await value(database, "SELECT count(*) FROM cups WHERE mood = 'once'") == 1


@pytest.mark.long
async def test_waiting_for_another_migrator_ends(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "MIGRATES_WITHIN_S", 1)
    other = await asyncpg.connect(database)
    await other.execute("SELECT pg_advisory_lock($1)", migrations.LOCK_KEY)
    with pytest.raises(MigrationsDisagreeError, match="another process is still migrating"):
        await apply(database, written(tmp_path, cups=TABLE))
    await other.close()


@pytest.mark.parametrize(
    "control", ["BEGIN", "/* now */ commit", "ROLLBACK", "-- at last\nEND", "START TRANSACTION", "SAVEPOINT a"]
)
@pytest.mark.parametrize("head", ["", "-- transactional: false\n"])
async def test_no_file_may_begin_or_end_a_transaction(database: str, tmp_path: Path, head: str, control: str) -> None:
    files = written(tmp_path, cups=f"{head}{TABLE}\n{control};\nSELECT 1")
    with pytest.raises(MigrationsDisagreeError, match=r"0001_cups\.sql must not begin or end a transaction"):
        await apply(database, files)
    assert await value(database, "SELECT to_regclass('cups')") is None


async def test_the_body_of_a_function_is_no_transaction_control(database: str, tmp_path: Path) -> None:
    body = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $f$\nBEGIN\n  RETURN 7; -- it's one\nEND;\n$f$;\nSELECT f();"
    assert (
        len(await apply(database, written(tmp_path, f=body, g=f"-- transactional: false\n{body.replace('f()', 'g()')}")))
        == 2
    )


@pytest.mark.long
async def test_a_migration_that_lost_a_deadlock_with_a_request_runs_again(database: str, tmp_path: Path) -> None:
    both = "LOCK TABLE cups; SELECT pg_advisory_xact_lock(8); LOCK TABLE plates"
    files = written(tmp_path, cups=TABLE, plates="CREATE TABLE plates ()", both=both)
    await apply(database, files[:2])
    request, blocking = await asyncpg.connect(database), await asyncpg.connect(database)
    await request.execute("SET deadlock_timeout = '1min'")  # so that the migration is the one that PostgreSQL ends
    await blocking.execute("SELECT pg_advisory_lock(8)")
    migrating = asyncio.create_task(apply(database, files))
    try:
        while not await value(database, WAITS_FOR_8):
            await asyncio.sleep(0.01)
        async with request.transaction():
            await request.execute("LOCK TABLE plates IN ACCESS SHARE MODE")
            await blocking.close()
            await request.execute("LOCK TABLE cups IN ACCESS SHARE MODE")
        assert await migrating == ["0003_both.sql"]
    finally:
        await request.close()
