"""A program meets only the schema it was made for, and says what to do about another."""

import re

import asyncpg
import pytest

from tests.command import tollhouse
from tests.running import KEY, Service, migrated_database, new_database, settings_for
from tollhouse.instance import main
from tollhouse.instance.api import health
from tollhouse.instance.database import embedded
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database import migrations
from tollhouse.platform.database.migrations import (
    DatabaseTooOldError,
    MigrationsDisagreeError,
    UnsupportedServerError,
    migrate,
    require_current,
)
from tollhouse.platform.database.pool import Pool

WITHOUT_LAST = "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)"
OTHER_DIGEST = "UPDATE schema_migrations SET digest = 'other' WHERE number = (SELECT max(number) FROM schema_migrations)"
NEWER = "INSERT INTO schema_migrations (number, name, digest) VALUES (9999, '9999_later.sql', '')"


async def run(dsn: str, statement: str) -> None:
    """One statement on a database."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


async def test_an_older_program_refuses_a_newer_database(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    await main.verify(settings_for(dsn))
    await run(dsn, NEWER)
    with pytest.raises(MigrationsDisagreeError, match="newer than this program"):
        await migrate(dsn)
    with pytest.raises(MigrationsDisagreeError, match="newer than this program"):
        await main.verify(settings_for(dsn))


async def test_a_newer_program_requires_the_migration(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    await run(dsn, WITHOUT_LAST)
    with pytest.raises(MigrationsDisagreeError, match="run `tollhouse migrate`"):
        await main.verify(settings_for(dsn))


async def test_a_server_that_is_too_old_is_refused(server: embedded.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(await migrated_database(server.cluster.dsn), 1)
    await require_current(pool)
    monkeypatch.setattr(migrations, "SERVER_VERSION_MIN", 1_000)
    with pytest.raises(UnsupportedServerError, match=r"the server is PostgreSQL \d+, and this program needs 1000 or newer"):
        await require_current(pool)
    await pool.close()


@pytest.mark.long
async def test_readiness_is_503_where_the_schema_lacks_ours(server: embedded.Server) -> None:
    dsn = await new_database(server.cluster.dsn)
    pool = Pool(dsn, 1)
    with pytest.raises(TemporarilyUnavailable):
        await health.require_ready(pool)
    await migrate(dsn)
    await health.require_ready(pool)
    await run(dsn, OTHER_DIGEST)
    with pytest.raises(TemporarilyUnavailable):
        await health.require_ready(pool)
    await run(dsn, WITHOUT_LAST)
    with pytest.raises(TemporarilyUnavailable):
        await health.require_ready(pool)
    await pool.close()


async def test_a_running_process_stays_ready_while_an_upgrade_migrates(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    pool = Pool(dsn, 1)
    await run(dsn, NEWER)
    await health.require_ready(pool)
    await pool.close()


@pytest.mark.parametrize("part", ["web", "worker"])
async def test_a_part_on_an_empty_database_says_what_to_do(service: Service, server: embedded.Server, part: str) -> None:
    dsn = await new_database(server.cluster.dsn)
    outcome = await tollhouse(service, part, DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=KEY)
    assert outcome.status == 1
    assert "run `tollhouse migrate`" in outcome.talk


RECORDED = """
    INSERT INTO schema_migrations (number, name, digest)
    SELECT nth, nth || '_old.sql', '' FROM generate_series(1, $1::int) nth
"""
REFUSED = "this database is of version {}. Upgrade to 0.3.0 first, then to this version"
PLAIN_TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"


async def older_database(dsn: str, last: int) -> str:
    """A database whose last migration has this number."""
    dsn = await new_database(dsn)
    await run(dsn, migrations.CREATE_RECORD)
    connection = await asyncpg.connect(dsn)
    await connection.execute(RECORDED, last)
    await connection.close()
    return dsn


@pytest.mark.parametrize(
    ("last", "version"),
    [
        (24, "0.1.0"),
        (36, "0.2.0"),
        (57, "between releases, at migration 0057"),
        (119, "between releases, at migration 0119"),
    ],
)
async def test_a_database_before_the_baseline_is_refused_untouched(server: embedded.Server, last: int, version: str) -> None:
    dsn, says = await older_database(server.cluster.dsn, last), REFUSED.format(version)
    pool = Pool(dsn, 1)
    for refusing in (migrate(dsn), require_current(pool)):
        with pytest.raises(DatabaseTooOldError) as refused:
            await refusing
        assert str(refused.value) == says
    with pytest.raises(TemporarilyUnavailable) as unavailable:
        await health.require_ready(pool)
    assert unavailable.value.detail == says
    assert [row["relname"] for row in await pool.fetch(PLAIN_TABLES)] == ["schema_migrations"]
    assert [row["count"] for row in await pool.fetch("SELECT count(*) FROM schema_migrations")] == [last]
    await pool.close()
    with pytest.raises(DatabaseTooOldError, match=re.escape(says)):
        migrations.refuse_older(last, migrations.ours()[0])


@pytest.mark.parametrize("command", ["migrate", "serve", "web", "worker", "doctor"])
async def test_commands_name_the_version_between(service: Service, server: embedded.Server, command: str) -> None:
    outcome = await tollhouse(service, command, DATABASE_URL=await older_database(server.cluster.dsn, 36))
    assert outcome.status == 1
    assert REFUSED.format("0.2.0") in " ".join(f"{outcome.out} {outcome.talk}".split())


async def test_a_database_of_the_release_of_the_baseline_has_it(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    connection = await asyncpg.connect(dsn)
    first = migrations.ours()[0]
    baseline = first.baseline
    assert baseline is not None
    recorded_by_release = bytes.fromhex(baseline["digest"])
    change = "UPDATE schema_migrations SET digest = $1 WHERE number = $2"
    await connection.execute(change, recorded_by_release, first.number)
    assert await migrate(dsn) == []
    await connection.execute(change, b"other", first.number)
    with pytest.raises(MigrationsDisagreeError, match="changed after it was applied"):
        await migrate(dsn)
    await connection.close()
