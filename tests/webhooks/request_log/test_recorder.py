"""The request log is written behind the answers, in batches; nothing waits for it, and nothing fails by it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import asyncpg
import msgspec
import pytest
from starlette.responses import Response

from tests.cast import Actor
from tests.running import migrated_database, settings_for
from tests.webhooks.request_log.reading import written
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.request import Headers, Request
from tollhouse.http.services import Services
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ApiKeyId, MerchantId, new_id, new_id_text
from tollhouse.kernel.scopes import API
from tollhouse.payments.transactions.api import BALANCE_OPERATIONS
from tollhouse.platform.database import partitions
from tollhouse.webhooks.request_log import recorder, store
from tollhouse.webhooks.request_log import slice as retention
from tollhouse.webhooks.request_log.recorder import Recorder

MINE = "SELECT count(*) AS n FROM api_requests WHERE merchant_id = $1"
DAYS = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^api_requests_[0-9]{8}$' ORDER BY relname"
MANY = """
    INSERT INTO api_requests
        (id, merchant_id, mode, created_at, request_id, method, path, query, status, duration_us, credential, replayed)
    SELECT (lpad(to_hex(floor(extract(epoch FROM now()) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid, $1,
           'test', now(), gen_random_uuid(), 'GET', '/balances', '', 200, 900, 'key', false
    FROM generate_series(1, 30000) AS n
"""


@pytest.fixture
async def lone(server: embedded.Server) -> AsyncIterator[Services]:
    """A house on a database of its own, where no worker cleans."""
    settings = settings_for(await migrated_database(server.cluster.dsn))
    opened = main.create_services(settings, connections=2)
    yield opened
    await opened.db.close()


def asked(services: Services, merchant_id: UUID, path: str = "/api/v2/integration/balances") -> Request:
    """A request that a merchant's key has made."""
    request = Request(
        services,
        "GET",
        path,
        headers=Headers([]),
        query=b"",
        raw=b"",
        address="127.0.0.1",
        request_id=new_id_text(),
        now=clock.now(),
    )
    request.caller = Caller(MerchantEnv(MerchantId(merchant_id), "test"), "Shop", API, api_key_id=ApiKeyId(new_id()))
    return request


async def count(services: Services, merchant_id: UUID) -> int:
    row = await services.db.fetchrow(MINE, merchant_id)
    assert row is not None
    return int(row["n"])


async def test_what_waits_is_written_at_the_end(services: Services) -> None:
    kept, merchant_id = Recorder(services), new_id()
    kept.start()
    for _ in range(recorder.BATCH + 1):
        kept.record(asked(services, merchant_id), BALANCE_OPERATIONS[0], Response(), 1)
    await kept.stop()
    assert await count(services, merchant_id) == recorder.BATCH + 1


async def test_what_no_credential_asked_or_is_over_the_limit_is_not_written(services: Services) -> None:
    kept, merchant_id = Recorder(services), new_id()
    stranger = asked(services, merchant_id)
    stranger.caller = None
    kept.record(stranger, BALANCE_OPERATIONS[0], Response(), 1)
    kept.record(asked(services, merchant_id), None, Response(), 1)
    kept.record(asked(services, merchant_id), BALANCE_OPERATIONS[0], Response(status_code=429), 1)
    kept.start()
    await kept.stop()
    assert await count(services, merchant_id) == 0


async def test_too_much_is_dropped_and_counted(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    kept, merchant_id = Recorder(services), new_id()
    for _ in range(recorder.QUEUE_MAX + 3):
        kept.record(asked(services, merchant_id), BALANCE_OPERATIONS[0], Response(), 1)
    kept.start()
    await kept.stop()
    assert await count(services, merchant_id) == recorder.QUEUE_MAX
    reported = capsys.readouterr()
    assert "request_log_requests_lost" in reported.out + reported.err


async def test_a_line_that_cannot_be_made_or_written_holds_nobody_up(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmade(*_: object) -> None:
        raise ZeroDivisionError

    async def unwritten(*_: object) -> None:
        raise asyncpg.PostgresError

    merchant_id = new_id()
    for where, name, broken in ((recorder, "_logged_request", unmade), (store, "insert", unwritten)):
        with monkeypatch.context() as patched:
            patched.setattr(where, name, broken)
            kept = Recorder(services)
            kept.start()
            kept.record(asked(services, merchant_id), BALANCE_OPERATIONS[0], Response(), 1)
            await kept.stop()
    assert await count(services, merchant_id) == 0


async def test_whatever_was_asked_and_answered_can_be_written(services: Services) -> None:
    kept, merchant_id = Recorder(services), new_id()
    kept.start()
    kept.record(
        asked(services, merchant_id, "/api/v2/integration/\0\ud800"),
        BALANCE_OPERATIONS[0],
        Response(b"no json", 500),
        1 << 40,
    )
    await kept.stop()
    assert await count(services, merchant_id) == 1


async def test_switched_off_it_keeps_nothing(services: Services) -> None:
    off = msgspec.structs.replace(services, settings=msgspec.structs.replace(services.settings, request_log_kept_days=0))
    kept, merchant_id = Recorder(off), new_id()
    kept.start()
    kept.record(asked(services, merchant_id), BALANCE_OPERATIONS[0], Response(), 1)
    await kept.stop()
    assert await count(services, merchant_id) == 0


async def test_days_are_made_ahead_and_dropped_when_they_are_over(lone: Services) -> None:
    today = clock.now()
    await lone.db.fetch("SELECT partitions_make($1)", today - timedelta(days=10))
    await partitions.create_missing(lone.db)
    names = [row["relname"] for row in await lone.db.fetch(DAYS)]
    assert len(names) == 6
    assert f"api_requests_{today:%Y%m%d}" in names
    over = await partitions.list_ended(lone.db, "api_requests", retention.kept_since(lone, clock.now()))
    assert over.partitions == 3
    await retention.drop_days(lone)
    assert [row["relname"] for row in await lone.db.fetch(DAYS)] == names[3:]
    await partitions.create_missing(lone.db)
    assert len(await lone.db.fetch(DAYS)) == 3


async def test_what_is_too_old_is_not_shown_though_it_is_still_there(alice: Actor) -> None:
    (await alice.get("/balances")).ok()
    [(one, _)] = await written(alice, 1)
    await alice.sql("SELECT partitions_make(now() - interval '8 days')")
    old = store.first_id(clock.now() - timedelta(days=7, minutes=1))
    await alice.sql("UPDATE api_requests SET id = $1 WHERE id = $2::uuid", old, one)
    assert await written(alice, 0) == []
    assert (await alice.send("GET", f"/test/developers/requests/{old}")).status == 404


@pytest.mark.long
@pytest.mark.parametrize("statement", [store.NEWEST, store.FILTERED, store.ONE], ids=["newest", "matching", "one"])
async def test_looking_up_reads_by_the_key(services: Services, statement: str) -> None:
    merchant_id = new_id()
    since, last = "'00000000-0000-0000-0000-000000000000'::uuid", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"
    values = {
        store.NEWEST: f"{since}, {last}, 21",
        store.FILTERED: f"{since}, {last}, 21, 'POST', 4, '', '', NULL, '', 20000",
        store.ONE: f"{last}, {since}",
    }[statement]
    async with services.db.connection() as tx:
        await tx.raw.execute("BEGIN")
        await tx.raw.execute(MANY.replace("$1", f"'{merchant_id}'::uuid"))
        await tx.raw.execute("ANALYZE api_requests")
        await tx.raw.execute(f"PREPARE looked_up AS {statement}")
        explained = await tx.raw.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE looked_up('{merchant_id}', 'test', {values})")
        await tx.raw.execute("ROLLBACK")
        await tx.raw.execute("DEALLOCATE looked_up")
    plan = str(msgspec.json.decode(explained))
    assert "Seq Scan" not in plan
    assert "Sort'" not in plan
