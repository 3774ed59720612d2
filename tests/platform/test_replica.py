"""Reports from a standby: as fresh as from the primary, and from the primary where the standby is late or gone."""

import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TypeAlias

import asyncpg
import pytest

from tests.cast import Actor, sign_up
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded
from tollhouse.instance.doctor.database import examine_database
from tollhouse.platform.database import replica
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.replica import READS, Replica
from tollhouse.platform.log.metrics import INSTANCE
from tollhouse.platform.settings.config import InvalidSettingsError, load

pytestmark = [pytest.mark.xdist_group("standby"), pytest.mark.long]
Servers = tuple[embedded.Server, embedded.Server]
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
PATHS = (
    "/test/home",
    "/test/reports",
    "/test/reports/methods",
    "/test/reports.csv",
    "/test/reports.xlsx",
    "/test/payments/export",
    "/test/payments.csv",
    "/test/ledger/export",
    "/test/ledger.csv",
    "/test/fulfillments/statistics",
    "/settings/audit.csv",
)
API = ("/reports/financial-summary", "/reports/financial-summary?format=csv", "/fulfillments/statistics")


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """A primary and its standby."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-standby-") as folder:
        Path(folder).chmod(0o711)
        primary = embedded.start(Path(folder) / "primary")
        copy = embedded.locate(Path(folder) / "standby")
        subprocess.run(
            [copy.binaries / "bin" / "pg_basebackup", "-R", "-c", "fast", "-d", primary.cluster.dsn, "-D", copy.data],
            check=True,
            user=copy.uid,
            group=copy.gid,
            extra_groups=copy.no_groups,
        )
        standby = embedded.launch(copy)
        yield primary, standby
        standby.stop()
        primary.stop()


@pytest.fixture(scope="module")
def replicated(servers: Servers) -> Iterator[Service]:
    """A service that reads its reports from the standby."""
    primary, standby = servers
    settings = settings_for(primary.cluster.dsn, TOLLHOUSE_REPLICA_DATABASE_URL=standby.cluster.application_dsn)
    with Service(settings) as running:
        yield running


@pytest.fixture
async def alice(replicated: Service) -> AsyncIterator[Actor]:
    """A merchant with one payment."""
    async with sign_up(replicated, "alice", "Alice's Coffee") as actor:
        await pay(actor)
        yield actor


async def pay(actor: Actor) -> None:
    """A customer pays 4.20 EUR."""
    link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
    link_id = (await actor.post("/payment-links", link)).ok(201).body["id"]
    (await actor.post(f"/test/payment-links/{link_id}/simulate", {"outcome": "succeed"})).ok()


def reads(server: str) -> int:
    """How many reports this process read from this server."""
    return INSTANCE.own[READS.column(server)]


@pytest.fixture
async def pools(servers: Servers) -> AsyncIterator[tuple[Pool, Replica]]:
    """The primary, and its standby as the service uses it."""
    primary, standby = servers
    opened = Pool(primary.cluster.dsn, 2), Pool(standby.cluster.application_dsn, 2, only_reads=True)
    yield opened[0], Replica(opened[1])
    for pool in opened:
        await pool.close()


@pytest.fixture
async def on_standby(
    servers: Servers,
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A superuser of the standby, which replays again at the end."""
    connection = await asyncpg.connect(servers[1].cluster.dsn)
    yield connection
    await connection.execute("SELECT pg_wal_replay_resume()")
    await connection.close()


async def test_reports_exports_and_home_are_read_from_the_standby(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "WAIT_MS", 60_000)
    for path in PATHS:
        before = reads("standby")
        answer = (await alice.send("GET", path, headers={"Accept": "text/html"})).ok()
        assert reads("standby") == before + 1, path
        assert path != "/test/payments.csv" or "4.20" in answer.text
    for path in API:
        before = reads("standby")
        (await alice.get(path)).ok()
        assert reads("standby") == before + 1, path


async def test_a_report_has_what_was_paid_before_it(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "WAIT_MS", 60_000)
    for payments in range(2, 8):
        await pay(alice)
        [row] = (await alice.get("/reports/financial-summary")).ok().body["financial_summaries"]
        assert row["counts"]["payments_gross"] == payments


async def test_the_primary_serves_while_the_standby_is_behind(
    alice: Actor,
    pools: tuple[Pool, Replica],
    on_standby: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    primary, standby = pools
    await on_standby.execute("SELECT pg_wal_replay_pause()")
    await pay(alice)
    monkeypatch.setattr(replica, "WAIT_MS", 50)
    assert await standby.choose(primary) is primary
    monkeypatch.setattr(replica, "WAIT_MS", 60_000)
    assert await standby.choose(primary) is primary  # at once: for a while nobody waits for it
    await on_standby.execute("SELECT pg_wal_replay_resume()")
    monkeypatch.setattr(replica, "AVOID_FOR_S", 0)
    assert await Replica(standby.db).choose(primary) is standby.db


async def test_the_primary_serves_while_the_standby_is_gone(pools: tuple[Pool, Replica]) -> None:
    primary, _ = pools
    nowhere = Pool("postgresql://tollhouse@127.0.0.1:1/tollhouse", 1, only_reads=True)
    assert await Replica(nowhere).choose(primary) is primary


async def test_a_server_that_is_no_standby_is_not_read(pools: tuple[Pool, Replica]) -> None:
    primary, _ = pools
    before = reads("primary")
    assert await Replica(primary).choose(primary) is primary
    assert reads("primary") == before + 1


async def test_the_doctor_says_what_is_wrong_with_a_standby(servers: Servers, replicated: Service) -> None:
    primary, standby = servers
    assert replicated.dsn == primary.cluster.dsn

    async def finding_of(url: str) -> tuple[str, str]:
        settings = settings_for(primary.cluster.dsn, TOLLHOUSE_REPLICA_DATABASE_URL=url)
        [found] = [one for one in await examine_database(settings) if one.check == "standby"]
        return found.status, found.message

    assert await finding_of(standby.cluster.application_dsn) == ("ok", "The standby has everything that is committed.")
    other = "The server at TOLLHOUSE_REPLICA_DATABASE_URL is no standby of this database. Reports are read from the primary."
    assert await finding_of(primary.cluster.dsn) == ("warning", other)
    gone = "The standby cannot be used: ConnectionRefusedError. Reports are read from the primary."
    assert await finding_of("postgresql://tollhouse@127.0.0.1:1/tollhouse") == ("warning", gone)


async def test_the_standby_of_another_database_is_not_read(service: Service, pools: tuple[Pool, Replica]) -> None:
    primary = Pool(service.dsn, 1)
    assert await pools[1].catch_up(primary) == "other"
    await primary.close()


def test_a_standby_needs_a_primary() -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        load({"HOME": "/home/alice", "TOLLHOUSE_REPLICA_DATABASE_URL": "postgresql://standby/tollhouse"})
    assert refused.value.field_errors == ["DATABASE_URL is required if TOLLHOUSE_REPLICA_DATABASE_URL is set"]
