"""A database that falls silent, turns into a standby or runs full: 503 within a bound, and recovery by itself."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from tests.cast import application, sign_up
from tests.platform.proxy import Proxy
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database import pool as db
from tollhouse.platform.database.errors import CONNECTION_LOST, OutcomeUnknown, is_unavailable
from tollhouse.platform.database.pool import Pool, Tx

pytestmark = pytest.mark.long

PID = "SELECT pg_backend_pid()"
RAISE = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{}'; END $$"
TEMPORARY = {
    "disk full": "53100",
    "out of memory": "53200",
    "too many connections": "53300",
    "limit exceeded": "53400",
    "read-only": "25006",
    "canceled": "57014",
    "shutting down": "57P01",
    "crashed": "57P02",
    "cannot connect now": "57P03",
    "input/output error": "58030",
    "deadlock": "40P01",
    "serialization": "40001",
    "lock not available": "55P03",
    "idle in transaction": "25P03",
}


@pytest.fixture
async def proxy(service: Service) -> AsyncIterator[Proxy]:
    """A way to the tests' database that can fall silent."""
    async with Proxy(service.dsn) as one:
        yield one


async def test_a_silent_server_costs_one_deadline_and_is_forgotten(proxy: Proxy) -> None:
    pool = Pool(proxy.dsn, 3, statement_timeout_s=0.3)
    await asyncio.gather(*(pool.fetchrow("SELECT pg_sleep(0.05)") for _ in range(3)))
    assert proxy.accepted == 3
    proxy.silence()
    with pytest.raises(CONNECTION_LOST):
        await pool.fetchrow(PID)
    proxy.resume()
    await pool.fetchrow(PID)
    assert proxy.accepted == 4, "the idle connections were to the same server"
    await pool.close()


async def test_waiting_for_a_connection_has_an_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "ACQUIRE_TIMEOUT_S", 0.05)
    pool = Pool(service.dsn, 1)
    async with pool.connection():
        with pytest.raises(TemporarilyUnavailable):
            await pool.fetchrow(PID)
    assert await pool.fetchrow(PID)
    await pool.close()


async def test_a_commit_without_an_answer_is_reported_as_unknown(proxy: Proxy, service: Service) -> None:
    await service.sql("CREATE TABLE IF NOT EXISTS committed (x int)")
    pool = Pool(proxy.dsn, 1, statement_timeout_s=0.3)
    await pool.fetchrow(PID)
    proxy.lose_answer_to = b"COMMIT"
    with pytest.raises(OutcomeUnknown):
        await pool.transact(lambda tx: tx.execute("INSERT INTO committed VALUES (1)"))
    assert [row["x"] for row in await service.sql("SELECT x FROM committed")] == [1]
    await service.sql("DROP TABLE committed")
    await pool.close()


async def test_a_silent_server_is_503_with_retry_after_and_the_service_recovers(
    server: embedded.Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "STATEMENT_DEADLINE_S", 0.4)
    monkeypatch.setattr(db, "CONNECT_TIMEOUT_S", 0.4)
    running = Service(settings_for(server.cluster.dsn, DATABASE_URL=proxy.dsn), worker=False)
    await asyncio.to_thread(running.start)  # the proxy must go on meanwhile
    try:
        async with sign_up(running, "alice", "Alice's Coffee") as alice:
            (await alice.get("/balances")).ok()
            proxy.silence()
            refused = (await alice.get("/balances")).refused("temporarily_unavailable", 503)
            assert refused.headers["Retry-After"]
            proxy.resume()
            (await alice.get("/balances")).ok()
    finally:
        await asyncio.to_thread(running.stop)


async def test_a_refresh_without_an_answer_is_not_to_be_sent_again(
    server: embedded.Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Service(settings_for(server.cluster.dsn, DATABASE_URL=proxy.dsn), worker=False)
    await asyncio.to_thread(running.start)
    try:
        async with sign_up(running, "alice", "Alice's Coffee") as alice:
            app = await application(alice)
            refresh_token = (await app.connect(alice, "account:read offline_access"))["refresh_token"]
            monkeypatch.setattr(db, "STATEMENT_DEADLINE_S", 0.4)
            proxy.lose_answer_to = tokens.digest(refresh_token)
            unknown = (await app.refresh(refresh_token)).refused("temporarily_unavailable", 503)
            assert "Do not send the code or refresh token again." in unknown.body["error_description"]
            monkeypatch.undo()
            proxy.lose_answer_to = b""
            proxy.resume()
            (await app.refresh(refresh_token)).refused("invalid_grant", 400)
    finally:
        await asyncio.to_thread(running.stop)


@pytest.mark.parametrize("state", TEMPORARY.values(), ids=TEMPORARY.keys())
async def test_what_is_over_by_itself_is_unavailable(service: Service, state: str) -> None:
    pool = Pool(service.dsn, 1)
    with pytest.raises(asyncpg.PostgresError) as raised:
        await pool.transact(lambda tx: tx.execute(RAISE.format(state)))
    assert is_unavailable(raised.value)
    assert await pool.fetchrow(PID)
    await pool.close()


async def test_an_internal_error_is_not_unavailable(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    with pytest.raises(asyncpg.PostgresError) as raised:
        await pool.execute("SELECT 1 FROM no_such_table")
    assert not is_unavailable(raised.value)
    await pool.close()


async def test_connections_to_a_standby_are_dropped(service: Service) -> None:
    pool = Pool(service.dsn, 2)

    async def stand_by(tx: Tx) -> int:
        return int(
            await tx.fetchval("SELECT pg_backend_pid() FROM set_config('default_transaction_read_only', 'on', false)")
        )

    async with pool.connection() as one, pool.connection() as other:
        pids = {await stand_by(one), await stand_by(other)}
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await pool.execute("CREATE TABLE never (x int)")
    assert {(await pool.fetchrow(PID) or [0])[0] for _ in range(2)}.isdisjoint(pids)
    await pool.close()


async def test_tcp_notices_a_peer_that_is_gone(proxy: Proxy) -> None:
    raw = await db.connect(proxy.dsn)
    transport: asyncio.Transport = getattr(raw, "_transport")  # noqa: B009
    wire = transport.get_extra_info("socket")
    assert wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == db.KEEPALIVE["TCP_USER_TIMEOUT"]
    await raw.close()


async def test_a_pool_has_a_limit_of_its_own(make_service: Callable[..., Service]) -> None:
    pool = Pool(make_service().dsn, 1, statement_timeout_s=0.2)
    with pytest.raises((*CONNECTION_LOST, asyncpg.QueryCanceledError)):
        await pool.execute("SELECT pg_sleep(0.6)")
    await pool.close()
