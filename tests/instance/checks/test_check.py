"""A check looks at what no check has seen, whatever its ids and times, and again at the old; or says that it could not."""

import asyncio
import os
import signal
import sys
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor
from tests.command import Outcome, tollhouse
from tests.payments.bank import sell
from tests.running import KEY, Service
from tollhouse.instance import main
from tollhouse.instance.checks import run, store
from tollhouse.instance.checks.run import CheckUnfinishedError, Scope, check
from tollhouse.pages.console import overview_store

NEW = Scope(small=0, again_rows=0)
SPOIL = "UPDATE ledger_entries SET type = 'refund' WHERE type = 'payment' AND merchant_id = $1::uuid"


async def found(service: Service, scope: Scope = NEW) -> tuple[bool, int, list[str]]:
    """Whether it was a full check, how many rows were verified, and what is broken."""
    report = await check(service.dsn, scope)
    assert report is not None
    return report.full, report.rows, report.broken


async def test_the_second_check_looks_at_what_is_new(quiet: Service, seller: Actor) -> None:
    full, everything, broken = await found(quiet)
    assert (full, broken) == (True, [])
    assert await found(quiet) == (False, 0, [])
    await sell(seller)
    full, new, broken = await found(quiet)
    assert (full, broken) == (False, [])
    assert 0 < new < everything * 2
    assert (await found(quiet, Scope(full=True, small=0)))[0]
    assert (await found(quiet, Scope()))[0], "where little is, everything is looked at"


async def test_damage_to_what_is_new_is_found_until_it_is_mended(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await found(quiet)
    await sell(seller)
    await forger.execute(SPOIL + " AND created_at > now() - interval '1 h'", seller.merchant_id)
    for _ in range(2):
        full, _, broken = await found(quiet)
        assert not full
        assert any(line.startswith("I21 ") for line in broken), broken
    await forger.execute(SPOIL.replace("'refund'", "'x'").replace("'payment'", "'refund'"), seller.merchant_id)
    await forger.execute(
        SPOIL.replace("'refund'", "'payment'", 1).replace("= 'payment' AND", "= 'x' AND"), seller.merchant_id
    )
    assert (await found(quiet))[2] == []


async def test_what_commits_late_is_new_all_the_same(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Its ids and times are older than those that were verified, and so is its place among them."""
    late = forger.transaction()
    await late.start()
    await forger.execute(
        "INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, created_at) VALUES"
        " ('018f0000-0000-7000-8000-000000000001', 'test', 'payment', 'transaction', gen_random_uuid(), '2024-05-01')"
    )
    await forger.execute(
        "INSERT INTO row_digests (kind, id, digest)"
        " SELECT 'ledger', id, row_digest(t) FROM ledger_transactions t WHERE id = '018f0000-0000-7000-8000-000000000001'"
    )
    assert (await found(quiet))[2] == []
    await sell(seller)
    assert (await found(quiet))[2] == [], "it is not there yet"
    await late.commit()
    full, rows, broken = await found(quiet)
    assert not full
    assert rows >= 1
    assert any(line.startswith("I1 every transaction has postings") for line in broken), broken


async def test_what_is_old_is_looked_at_again_bit_by_bit(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    _, everything, _ = await found(quiet)
    await forger.execute(SPOIL, seller.merchant_id)
    assert (await found(quiet))[2] == [], "nothing is new"
    some, broken = Scope(small=0, again_rows=max(1, everything // 4)), list[str]()
    for _ in range(6):
        full, _, broken = await found(quiet, some)
        assert not full
        if broken:
            break
    assert any(line.startswith("I21 ") for line in broken), broken


async def test_after_a_restore_into_another_cluster_everything_is_new(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await found(quiet)
    await forger.execute("UPDATE check_state SET cluster = cluster + 1")
    assert (await found(quiet))[0]
    assert not (await found(quiet))[0]
    await forger.execute("UPDATE check_state SET verified = '9999999:9999999:'")
    assert (await found(quiet))[0]
    assert seller.merchant_id


async def test_one_check_at_a_time(quiet: Service) -> None:
    other = await asyncpg.connect(quiet.dsn)
    async with other.transaction():
        await other.execute(store.LOCK.replace("$1", str(store.LOCK_KEY)))
        assert await check(quiet.dsn, NEW, wait=False) is None
        waiting = asyncio.create_task(check(quiet.dsn, NEW))
        async with asyncio.timeout(30):
            while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
                await asyncio.sleep(0.01)
        assert not waiting.done()
    assert await waiting is not None
    await other.close()


async def test_a_statement_may_take_longer_than_a_request_may(
    quiet: Service, seller: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of the pool are not those of a check: it ends, and not by its own limit of five seconds."""
    assert run.SETTINGS["statement_timeout"] == "3600s"
    seen: list[str] = []

    async def look(tx: run.Tx) -> list[str]:
        seen.append(await tx.fetchval("SELECT current_setting('statement_timeout')"))
        return []

    monkeypatch.setattr(run.schema_store, "damage", look)
    assert (await found(quiet))[2] == []
    assert seen == ["1h"]
    assert seller.merchant_id


async def check_beside(service: Service, *words: str) -> Outcome:
    """`tollhouse check` as a process."""
    return await tollhouse(service, "check", *words)


async def test_the_command_tells_what_it_found_by_its_exit_status(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    well = await check_beside(quiet, "--json")
    assert (well.status, well.json["finished"], well.json["broken"], well.json["full"]) == (0, True, [], True)
    await forger.execute(SPOIL, seller.merchant_id)
    spoilt = await check_beside(quiet, "--full")
    assert spoilt.status == 1
    assert "I21 immutable rows are unchanged: ledger" in spoilt.out
    assert "broken" in spoilt.talk


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (
            "INSERT INTO schema_migrations (number, name, digest) VALUES (9999, 'later.sql', '')",
            "a different schema version",
        ),
        ("DROP TABLE row_digests CASCADE", "UndefinedTable"),
    ],
    ids=["another version", "no such table"],
)
async def test_a_check_that_could_not_finish_says_so(
    quiet: Service, forger: "asyncpg.Connection[asyncpg.Record]", problem: str, reason: str
) -> None:
    await forger.execute(problem)
    ended = await check_beside(quiet, "--json")
    assert ended.status == 2
    assert ended.json["finished"] is False
    assert reason in ended.json["reason"]


async def test_a_check_whose_database_is_gone_could_not_finish(service: Service) -> None:
    ended = await tollhouse(service, "check", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert ended.status == 2
    assert "could not finish" in ended.talk


async def test_a_check_whose_connection_is_cut_could_not_finish(quiet: Service) -> None:
    other = await asyncpg.connect(quiet.dsn)
    holding = other.transaction()
    await holding.start()
    await other.execute("LOCK TABLE row_digests IN ACCESS EXCLUSIVE MODE")
    checking = asyncio.create_task(check(quiet.dsn, NEW))
    cut = (
        "SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        " WHERE NOT l.granted AND l.relation = 'row_digests'::regclass AND d.datname = current_database()"
    )
    async with asyncio.timeout(30):
        while not await other.fetchval(cut):
            await asyncio.sleep(0.01)
    with pytest.raises(CheckUnfinishedError):
        await checking
    await holding.rollback()
    await other.close()


@pytest.mark.long
async def test_a_check_that_is_interrupted_could_not_finish(quiet: Service) -> None:
    other = await asyncpg.connect(quiet.dsn)
    async with other.transaction():
        await other.execute(store.LOCK.replace("$1", str(store.LOCK_KEY)))
        environment = os.environ | {"DATABASE_URL": quiet.dsn, "TOLLHOUSE_SECRET_KEYS": KEY}
        checking = await asyncio.create_subprocess_exec(sys.executable, "-m", "tollhouse", "check", env=environment)
        async with asyncio.timeout(30):
            while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
                await asyncio.sleep(0.01)
        checking.send_signal(signal.SIGINT)
        assert await checking.wait() == 2
    await other.close()


async def test_a_role_that_owns_nothing_can_check(quiet: Service, forger: "asyncpg.Connection[asyncpg.Record]") -> None:
    role = f"checker_{uuid4().hex[:8]}"
    await forger.execute(
        f"CREATE ROLE {role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};"
        f" GRANT INSERT, UPDATE ON check_state TO {role}"
    )
    try:
        report = await check(f"{quiet.dsn}&role={role}", NEW)
        assert report is not None
        assert report.broken == []
        assert await forger.fetchval("SELECT count(*) FROM check_state") == 1
    finally:
        await forger.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_operators_are_reported_of_a_check_that_could_not_finish(
    quiet: Service, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    services = quiet.create_services(connections=1)
    try:
        await main.watch_invariants(services)
        seen = (await overview_store.overview(services.db, "1", run.clock.now())).ledger_status
        assert (seen.value, seen.tone) == ("No errors", "ok")
        await forger.execute("INSERT INTO schema_migrations (number, name, digest) VALUES (9999, 'later.sql', '')")
        await main.watch_invariants(services)
        seen = (await overview_store.overview(services.db, "1", run.clock.now())).ledger_status
        assert (seen.value, seen.tone) == ("Could not finish", "warn")
        assert "Last check finished" in str(seen.detail)
        await forger.execute("DELETE FROM schema_migrations WHERE number = 9999")
        await main.watch_invariants(services)
        assert (await overview_store.overview(services.db, "1", run.clock.now())).ledger_status.value == "No errors"
    finally:
        await services.db.close()
