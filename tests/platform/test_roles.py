"""The service works with a role that owns nothing, so that what keeps history from being rewritten binds it."""

from pathlib import Path

import asyncpg
import pytest

from tests.cast import sign_up
from tests.running import Service, as_application, new_database
from tests.upgrades.two_roles import privileges_kept
from tollhouse.instance.database import embedded
from tollhouse.platform.database import migrations, roles
from tollhouse.platform.database.migrations import in_folder, migrate
from tollhouse.platform.database.roles import NoSuchRoleError
from tollhouse.platform.database.server_store import MISSING_PRIVILEGES

FORBIDDEN = {
    "disable a trigger": "ALTER TABLE ledger_postings DISABLE TRIGGER ALL",
    "create a trigger": "CREATE TRIGGER t BEFORE INSERT ON audit_lines EXECUTE FUNCTION ledger_refuse_change()",
    "drop a trigger": "DROP TRIGGER never_changed ON audit_lines",
    "truncate": "TRUNCATE audit_lines",
    "replica role": "SET session_replication_role = replica",
    "alter": "ALTER TABLE audit_lines DROP CONSTRAINT audit_lines_author",
    "drop": "DROP TABLE audit_lines CASCADE",
    "create": "CREATE TABLE mine (x int)",
    "replace a function": "CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'",
    "rewrite migrations": "DELETE FROM schema_migrations",
    "allow a transition": "INSERT INTO state_transitions VALUES ('withdrawals', 'failed', 'approved')",
    "let money leave": "INSERT INTO ledger_release_kinds VALUES ('test', 'outgoing_transfer_lets_leave')",
    "let another function decide": "UPDATE ledger_release_kinds SET released_by = 'texteq'",
    "allow an email": "INSERT INTO mail_kinds VALUES ('everything')",
    "allow an action": "INSERT INTO operator_action_kinds VALUES ('everything', false, false)",
    "become the owner": "SET ROLE tollhouse",
    "create a role": "CREATE ROLE more SUPERUSER",
}


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN.keys())
async def test_the_application_cannot(service: Service, statement: str) -> None:
    connection = await asyncpg.connect(as_application(service.dsn))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_the_application_is_no_superuser_and_owns_nothing(service: Service) -> None:
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        (await alice.get("/balances")).ok()
    [row] = await service.sql(
        """
        SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS mighty,
               (SELECT count(*) FROM pg_class c WHERE c.relowner = r.oid) AS owned,
               (SELECT count(*) FROM pg_stat_activity a
                WHERE a.usename = r.rolname AND a.datname = current_database()) AS used
        FROM pg_roles r WHERE rolname = $1
        """,
        roles.APPLICATION,
    )
    assert (row["mighty"], row["owned"]) == (False, 0)
    assert row["used"] > 0


async def test_partitions_are_made_and_dropped_with_the_owners_rights(service: Service) -> None:
    connection = await asyncpg.connect(as_application(service.dsn))
    await connection.execute("SELECT partitions_make('2001-01-01')")
    assert await connection.fetchval("SELECT partitions_drop('api_requests', '2002-01-01')") == 3
    await connection.fetchval("SELECT partitions_drop('oauth_access_tokens', '2002-01-01')")
    await connection.close()


@pytest.mark.long
async def test_an_existing_database_gets_the_role_at_the_next_start(server: embedded.Server) -> None:
    dsn = await new_database(server.cluster.dsn)
    await migrate(dsn)
    application = as_application(dsn)
    connection = await asyncpg.connect(application)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.fetch("SELECT 1 FROM merchants")
    assert await migrate(application, dsn) == []
    assert await connection.fetch("SELECT 1 FROM merchants") == []
    await connection.close()


async def test_a_migration_takes_no_privilege_from_a_running_service(
    server: embedded.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = await new_database(server.cluster.dsn)
    for number, sql in enumerate(
        (
            "CREATE TABLE cups (id int GENERATED ALWAYS AS IDENTITY); CREATE VIEW full_cups AS SELECT id FROM cups;",
            "DROP VIEW full_cups; CREATE VIEW full_cups AS SELECT id, 1 AS size FROM cups;",
            "-- transactional: false\nCREATE TABLE IF NOT EXISTS plates (id serial);",
            "INSERT INTO cups DEFAULT VALUES;",
        ),
        1,
    ):
        (tmp_path / f"{number:04d}_cups.sql").write_text(sql)
    files = in_folder(tmp_path)
    monkeypatch.setattr(migrations, "ours", lambda: files[:1])
    owner = await asyncpg.connect(dsn)
    try:
        assert len(await migrate(as_application(dsn), dsn)) == 1
        monkeypatch.setattr(migrations, "ours", lambda: files)
        async with privileges_kept(owner, dsn):
            assert len(await migrate(as_application(dsn), dsn)) == 3
    finally:
        await owner.close()


async def test_privileges_that_are_there_are_not_granted_again(service: Service) -> None:
    [row] = await service.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
    assert row["count"] > 100
    assert await service.sql(MISSING_PRIVILEGES, roles.APPLICATION) == []


@pytest.mark.long
async def test_a_role_that_does_not_exist_is_named(server: embedded.Server) -> None:
    dsn = await new_database(server.cluster.dsn)
    with pytest.raises(NoSuchRoleError, match="The role nobody_here of DATABASE_URL does not exist"):
        await migrate(as_application(dsn).replace(roles.APPLICATION, "nobody_here"), dsn)
