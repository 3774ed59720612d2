"""Every partitioned table has the partition that is needed, however the clock jumps and whoever writes first."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from tests.cast import PASSWORD, application, sign_up
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database import partitions

JUMPS = {"3 days": timedelta(days=3), "a week": timedelta(days=7), "a year": timedelta(days=400), "back": timedelta(days=-9)}
TABLES = "SELECT relname FROM pg_class WHERE relkind = 'p' AND NOT relispartition ORDER BY relname"
INSERTS = {
    "oauth_access_tokens": "INSERT INTO oauth_access_tokens VALUES (sha256($1::uuid::text::bytea), $1, 1, $2)",
    "webhook_events": """
        INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_source,
                                    status, created_at)
        VALUES ($1, $1, 'test', 'webhook.test', 'test', $1, 1, '', 'none', 'skipped', $2)
    """,
    "webhook_attempts": """
        INSERT INTO webhook_attempts (event_id, attempt, trigger, status, started_at, duration_ms)
        VALUES ($1, 1, 'automatic', 'succeeded', $2, 1)
    """,
    "api_requests": """
        INSERT INTO api_requests (id, merchant_id, mode, created_at, request_id, method, path, query, status, duration_us,
                                  credential, replayed)
        VALUES ($1, $1, 'test', $2, $1, 'GET', '/', '', 200, 1, 'key', false)
    """,
}


@pytest.fixture
def quiet(make_service: Callable[..., Service]) -> Service:
    """A service with a database of its own."""
    return make_service(fresh=True)


@pytest.fixture
async def services(quiet: Service) -> AsyncIterator[Services]:
    """What another process of the service works with."""
    opened = quiet.create_services()
    yield opened
    await opened.db.close()


def born_at(moment: datetime) -> UUID:
    """An id of that time."""
    return UUID(int=int(moment.timestamp() * 1000) << 80 | new_id().int & ((1 << 80) - 1))


async def test_every_partitioned_table_is_made_by_the_one_function(quiet: Service) -> None:
    tables = [row["relname"] for row in await quiet.sql(TABLES)]
    assert tables == sorted(INSERTS)
    assert [row["name"] for row in await quiet.sql("SELECT name FROM partitioned_tables ORDER BY name")] == tables


@pytest.mark.parametrize("table", INSERTS)
@pytest.mark.parametrize("jump", JUMPS)
async def test_a_row_is_written_after_the_clock_jumped(
    services: Services, monkeypatch: pytest.MonkeyPatch, table: str, jump: str
) -> None:
    await services.db.execute("SELECT 1")
    there = clock.now() + JUMPS[jump]
    monkeypatch.setattr(clock, "now", lambda: there)
    # In a transaction, as the service writes: a worker whose clock is right may drop the partition of a past day meanwhile.
    written = await services.db.transact(
        lambda tx: tx.execute(INSERTS[table], born_at(there), there + timedelta(minutes=15))
    )
    assert written == 1


@pytest.mark.parametrize("table", INSERTS)
async def test_a_partition_that_vanished_is_made_when_it_is_missed(services: Services, table: str) -> None:
    await services.db.execute("SELECT 1")
    elsewhere = await asyncpg.connect(services.settings.database_url)
    for row in await elsewhere.fetch(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass", table
    ):
        await elsewhere.execute(f"DROP TABLE IF EXISTS {row['name']}")  # a worker may have dropped one that is old
    await elsewhere.close()
    now = clock.now()
    written = await services.db.transact(lambda tx: tx.execute(INSERTS[table], born_at(now), now + timedelta(minutes=15)))
    assert written == 1


async def test_an_application_connects_and_pays_after_a_week_without_a_worker(
    quiet: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = timedelta(days=7)
    real = clock.now
    async with sign_up(quiet, "bob", "Bob's Books") as bob:
        app = await application(bob)
        monkeypatch.setattr(clock, "now", lambda: real() + there)
        (await bob.dashboard("POST", "/login", {"email": bob.email, "password": PASSWORD})).ok()
        tokens = await app.connect(bob, "account:read payments:write")
        (await app.api(tokens["access_token"], "GET", "/account")).ok()
        link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
        (await bob.post("/payment-links", link, key="after-a-week")).ok(201)


async def test_many_make_them_at_once(services: Services) -> None:
    later = clock.now() + timedelta(days=60)
    statement = "SELECT partitions_make($1)"
    await asyncio.gather(*(services.db.fetchrow(statement, later) for _ in range(8)))
    await partitions.create_missing(services.db)


async def test_a_partition_that_is_only_detached_is_attached_again(quiet: Service, services: Services) -> None:
    now = clock.now()
    name = f"api_requests_{now:%Y%m%d}"
    await quiet.sql(f"ALTER TABLE api_requests DETACH PARTITION {name}")
    await partitions.create_missing(services.db)
    assert await services.db.execute(INSERTS["api_requests"], born_at(now), now) == 1
