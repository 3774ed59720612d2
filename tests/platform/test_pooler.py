"""The service through a real PgBouncer in transaction mode, configured as in `deploy`."""

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests import pgbouncer
from tests.cast import application, sign_up
from tests.payments.shop import COFFEE, balance, open_link, pay
from tests.running import Service, migrated_database, settings_for
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.instance.doctor.database import examine_pooler
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.settings.config import InvalidSettingsError, load

pytestmark = [
    pytest.mark.skipif(pgbouncer.PROGRAM is None, reason="PgBouncer is not installed; .ci/run installs it"),
    pytest.mark.long,
]

SERVER_CONNECTIONS = 2
SLEEP = "SELECT pg_sleep(0.01), $1::int AS number"
PID = "SELECT pg_backend_pid() AS pid"
END_SESSIONS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
STATEMENTS = {"named": "1000", "unnamed": "0"}
"""How statements are sent, and the setting of PgBouncer that decides it."""


@pytest.fixture(scope="module")
def dsn(server: embedded.Server) -> str:
    """A migrated database whose application role has the settings that sessions through a pooler need."""
    return asyncio.run(_prepared_database(server.cluster.dsn))


async def _prepared_database(of: str) -> str:
    dsn = await migrated_database(of)
    await pgbouncer.set_role_settings(dsn, urlsplit(dsn).path.removeprefix("/"))
    return dsn


@pytest.fixture(scope="module", params=STATEMENTS)
def statements(request: pytest.FixtureRequest) -> str:
    """How PgBouncer lets statements be sent: named, or unnamed."""
    kind = str(request.param)
    if kind == "named" and pgbouncer.version() < pgbouncer.KEEPS_NAMED_STATEMENTS:
        pytest.skip("named statements need PgBouncer 1.21 or newer; name one in PGBOUNCER to test them")
    return kind


@pytest.fixture(scope="module")
def bouncer(statements: str, server: embedded.Server) -> Iterator[pgbouncer.PgBouncer]:
    """PgBouncer with two connections to the server."""
    changes = {"max_prepared_statements": STATEMENTS[statements], "default_pool_size": str(SERVER_CONNECTIONS)}
    with pgbouncer.running(server.cluster, **changes) as running:
        yield running


@pytest.fixture(scope="module")
def pooled(bouncer: pgbouncer.PgBouncer, dsn: str) -> Iterator[Service]:
    """The whole service, web and worker, through PgBouncer."""
    with Service(settings_for(dsn, TOLLHOUSE_POOLER_DATABASE_URL=bouncer.url(dsn))) as running:
        yield running


async def test_payments_at_the_same_time(pooled: Service) -> None:
    async with sign_up(pooled, "alice", "Alice's Coffee") as alice:
        links = await asyncio.gather(*(open_link(alice) for _ in range(10)))
        await asyncio.gather(*(pay(link) for link in links))
        assert (await balance(alice))["available"] == "42.00"
        twice = await asyncio.gather(*(alice.post("/payment-links", COFFEE, key="the-same") for _ in range(6)))
        assert len({answer.ok(201).body["id"] for answer in twice}) == 1


async def test_a_connected_application_reads_and_refreshes(pooled: Service) -> None:
    async with sign_up(pooled, "alice", "Alice's Coffee") as alice, sign_up(pooled, "bob", "Bob's Books") as bob:
        app = await application(bob)
        tokens = await app.connect(alice, "balances:read payments:read offline_access")
        (await app.api(tokens["access_token"], "GET", "/balances")).ok()
        renewed = (await app.refresh(tokens["refresh_token"])).ok().body
        (await app.api(renewed["access_token"], "GET", "/transactions")).ok()


async def test_one_statement_runs_on_several_server_connections(bouncer: pgbouncer.PgBouncer, dsn: str) -> None:
    pools = [Pool(bouncer.url(dsn), 1, pooled=True) for _ in range(SERVER_CONNECTIONS * 3)]
    pids: set[int] = set()
    for number in range(5):
        rows = await asyncio.gather(*(pool.fetchrow(SLEEP, number) for pool in pools))
        assert [row["number"] for row in rows if row] == [number] * len(pools)
        pids |= {row["pid"] for row in await asyncio.gather(*(pool.fetchrow(PID) for pool in pools)) if row}
    assert len(pids) == SERVER_CONNECTIONS
    for pool in pools:
        await pool.close()


async def test_statements_are_named_if_the_pooler_keeps_them(
    bouncer: pgbouncer.PgBouncer, dsn: str, statements: str
) -> None:
    pool = Pool(bouncer.url(dsn), 1, pooled=True)
    async with pool.connection() as tx:
        await tx.fetchrow(PID)
        assert tx.connection is not None
        assert tx.connection.names_statements == (statements == "named")
    await pool.close()


async def test_time_limits_hold_and_return_after_a_transaction_changed_them(bouncer: pgbouncer.PgBouncer, dsn: str) -> None:
    pool = Pool(bouncer.url(dsn), 1, pooled=True)

    async def change(tx: Tx) -> str:
        await tx.run("SET LOCAL lock_timeout = '10ms'")
        await tx.run("SET LOCAL lock_timeout TO DEFAULT")
        return await tx.fetchval("SHOW lock_timeout")

    assert await pool.transact(change) == "2s"
    assert (await pool.fetchrow("SHOW statement_timeout") or [""])[0] == "5s"
    await pool.close()


async def test_a_role_without_time_limits_is_refused_with_what_to_do(
    server: embedded.Server, bouncer: pgbouncer.PgBouncer, statements: str
) -> None:
    fresh = await migrated_database(server.cluster.dsn)
    settings = settings_for(fresh, TOLLHOUSE_POOLER_DATABASE_URL=bouncer.url(fresh))
    assert [finding.status for finding in await examine_pooler(settings)] == ["failure"]
    with pytest.raises(InvalidSettingsError) as refused:
        await main.verify(settings)
    reason, *missing = refused.value.field_errors
    assert reason.startswith("TOLLHOUSE_POOLER_DATABASE_URL")
    owner = await asyncpg.connect(fresh)
    for statement in missing:
        await owner.execute(statement)
    await owner.execute(END_SESSIONS)
    await owner.close()
    await main.verify(settings)
    [found] = await examine_pooler(settings)
    assert (found.status, "keeps no" in found.message) == ("ok", statements != "named")
    nowhere = settings_for(fresh, TOLLHOUSE_POOLER_DATABASE_URL="postgresql://tollhouse@127.0.0.1:1/tollhouse")
    assert [finding.status for finding in await examine_pooler(nowhere)] == ["failure"]


def test_a_pooler_needs_a_database() -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        load({"HOME": "/home/alice", "TOLLHOUSE_POOLER_DATABASE_URL": "postgresql://pooler/tollhouse"})
    assert refused.value.field_errors == ["DATABASE_URL is required if TOLLHOUSE_POOLER_DATABASE_URL is set"]


@pytest.mark.parametrize("number", ["0", "501", "-1", "many"])
def test_the_size_of_the_pool_has_bounds(number: str) -> None:
    with pytest.raises(InvalidSettingsError):
        load({"HOME": "/home/alice", "TOLLHOUSE_DATABASE_CONNECTIONS": number})
