"""What is over goes: in batches, by dropping partitions, and without anybody who works beside it noticing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from tests.cast import Actor, application, sign_up
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.identity import cleaning as identity_cleaning
from tollhouse.oauth import jobs
from tollhouse.platform import partitions

PARTITIONS = """
    SELECT relname FROM pg_class WHERE relname ~ '^oauth_access_tokens_[0-9]{10}$' AND relkind = 'r' ORDER BY relname
"""
PAST = "SELECT partitions_make(now() - interval '3 days')"
MANY_REQUESTS = """
    INSERT INTO oauth_requests
        (id_hash, client_id, auth_epoch, redirect_uri, scope_mask, state, challenge, mode, mac_key_id, created_at,
         expires_at)
    SELECT sha256(n::text::bytea), client_id, auth_epoch, redirect_uri, scope_mask, state, challenge, mode,
           mac_key_id, created_at - interval '1 hour', expires_at
    FROM oauth_requests, generate_series(1, 2500) n WHERE client_id = $1
"""


@pytest.fixture
def quiet(make_service: Callable[..., Service]) -> Service:
    """A service with a database of its own: what is cleaned there was made here."""
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on")


@pytest.fixture
async def services(quiet: Service) -> AsyncIterator[Services]:
    """A house on it, as the worker's."""
    opened = quiet.create_services()
    yield opened
    await opened.db.close()


@pytest.fixture
async def bob(quiet: Service) -> AsyncIterator[Actor]:
    """Bob, who owns an application and connects to it himself."""
    async with sign_up(quiet, "bob", "Bob's Books") as actor:
        yield actor


async def count(actor: Actor, table: str) -> int:
    """How many rows there are."""
    return int((await actor.sql(f"SELECT count(*) AS n FROM {table}"))[0]["n"])  # noqa: S608


async def test_requests_go_after_an_hour(services: Services, bob: Actor) -> None:
    app = await application(bob)
    page = (await bob.send("GET", app.authorize_path("account:read"))).ok(303).location
    await bob.sql(MANY_REQUESTS, app.client_id)
    await bob.sql("UPDATE oauth_requests SET created_at = created_at - interval '59 minutes' WHERE merchant_id IS NULL")
    before = await count(bob, "oauth_requests")
    await jobs.delete_requests(services)
    assert before - await count(bob, "oauth_requests") == 2500
    (await bob.send("GET", page)).ok()
    await bob.sql("UPDATE oauth_requests SET created_at = created_at - interval '1 minute'")
    await jobs.delete_requests(services)
    (await bob.send("GET", page)).refused("not_found", 404)


@pytest.mark.covers("O-114")
async def test_used_codes_go_only_when_no_grant_of_theirs_can_live(services: Services, bob: Actor) -> None:
    app = await application(bob)
    codes = [await app.code(bob, "account:read offline_access") for _ in range(2)]
    tokens = [(await app.exchange(code)).ok().body for code in codes]
    await bob.sql("UPDATE oauth_codes SET created_at = now() - interval '30 days 23 hours'")
    await jobs.delete_codes(services)
    (await app.exchange(codes[0])).refused("invalid_grant", 400)
    (await app.refresh(tokens[0]["refresh_token"])).refused("invalid_grant", 400)
    await bob.sql("UPDATE oauth_codes SET created_at = now() - interval '31 days'")
    await jobs.delete_codes(services)
    assert await count(bob, "oauth_codes") == 0
    (await app.exchange(codes[1])).refused("invalid_grant", 400)


async def test_dead_sessions_go_and_living_ones_stay(services: Services, quiet: Service, bob: Actor) -> None:
    async with sign_up(quiet, "eve", "Eve's Eggs") as eve:
        (await eve.dashboard("POST", "/logout")).ok(204)
        await identity_cleaning.delete_sessions(services)
        dead = "user_id = (SELECT id FROM users WHERE email = $1)"
        assert len(await eve.sql(f"SELECT 1 FROM sessions WHERE {dead}", eve.email)) == 1  # noqa: S608
        await eve.sql(f"UPDATE sessions SET last_seen_at = now() - interval '12 hours' WHERE {dead}", eve.email)  # noqa: S608
        await identity_cleaning.delete_sessions(services)
        assert await eve.sql(f"SELECT 1 FROM sessions WHERE {dead}", eve.email) == []  # noqa: S608
    (await bob.dashboard("GET", "/session")).ok()


async def test_failures_and_kept_answers_go(services: Services, bob: Actor) -> None:
    wrong = {"email": bob.email, "password": "a wrong password"}
    for key in ("old", "new"):
        link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
        (await bob.post("/payment-links", link, key=key)).ok(201)
        (await bob.anonymously("POST", "/api/v2/merchant/login", wrong)).refused("invalid_credentials", 401)
        if key == "old":
            await bob.sql("UPDATE idempotency_keys SET created_at = now() - interval '30 days'")
            await bob.sql("UPDATE failed_attempts SET forget_at = now()")
            await identity_cleaning.delete_failures(services)
            assert await count(bob, "failed_attempts") == 0
    await identity_cleaning.delete_failures(services)
    assert await count(bob, "failed_attempts") == 2
    await identity_cleaning.delete_idempotency_keys(services)
    assert await count(bob, "idempotency_keys") == 1


async def test_partitions_of_the_past_are_dropped(services: Services, bob: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(bob, "account:read")
    now = [row["relname"] for row in await bob.sql(PARTITIONS)]
    await bob.sql(PAST)
    await bob.sql("INSERT INTO oauth_access_tokens VALUES (sha256('x'), gen_random_uuid(), 1, now() - interval '3 days')")
    orphan = (await bob.sql(PARTITIONS))[1]["relname"]
    await bob.sql(f"ALTER TABLE oauth_access_tokens DETACH PARTITION {orphan}")
    await jobs.drop_token_partitions(services)
    assert [row["relname"] for row in await bob.sql(PARTITIONS)] == now
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    await jobs.drop_token_partitions(services)
    assert [row["relname"] for row in await bob.sql(PARTITIONS)] == now


async def test_a_token_that_is_over_can_be_given_back_for_some_hours(services: Services, bob: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(bob, "account:read offline_access")
    await bob.sql("SELECT partitions_make(now() - interval '6 hours')")
    await bob.sql("UPDATE oauth_access_tokens SET expires_at = expires_at - interval '6 hours'")
    await jobs.drop_token_partitions(services)
    (await app.revoke(tokens["access_token"])).ok()
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)


async def test_dropping_holds_nobody_up_and_is_finished_the_next_time(services: Services, bob: Actor) -> None:
    """A reader that will not end, such as a backup: the job gives up, tokens go on, and the next run drops what is left."""
    app = await application(bob)
    token = (await app.connect(bob, "account:read"))["access_token"]
    before = await bob.sql(PARTITIONS)
    await bob.sql(PAST)
    reader = await asyncpg.connect(bob.service.dsn)
    slowest = 0.0
    try:
        async with reader.transaction():
            await reader.fetch("SELECT 1 FROM oauth_access_tokens")
            job = asyncio.create_task(jobs.drop_token_partitions(services))
            while not job.done():
                began = time.monotonic()
                (await app.api(token, "GET", "/account")).ok()
                (await app.connect(bob, "account:read")).keys()
                slowest = max(slowest, time.monotonic() - began)
            await job
            assert len(await bob.sql(PARTITIONS)) > len(before)
    finally:
        await reader.close()
    assert slowest < 1
    await jobs.drop_token_partitions(services)
    assert await bob.sql(PARTITIONS) == before


async def test_making_partitions_holds_nobody_up(bob: Actor) -> None:
    """The same reader, and a new partition is there all the same."""
    reader = await asyncpg.connect(bob.service.dsn)
    try:
        async with reader.transaction():
            await reader.fetch("SELECT 1 FROM oauth_access_tokens")
            await asyncio.wait_for(bob.sql("SELECT partitions_make(now() + interval '2 days')"), 2)
    finally:
        await reader.close()
    await bob.sql("INSERT INTO oauth_access_tokens VALUES (sha256('y'), gen_random_uuid(), 1, now() + interval '2 days')")


async def test_many_processes_may_make_partitions_at_once(services: Services, bob: Actor) -> None:
    """As when everything is started at the same moment, after a pause of days."""
    for days in range(10, 15):
        made = (f"SELECT partitions_make(now() + interval '{days} days')" for _ in range(8))
        await asyncio.gather(*(bob.sql(statement) for statement in made))
    await partitions.create_missing(services.db)


async def test_workers_at_once_do_not_get_into_each_others_way(services: Services, bob: Actor) -> None:
    before = await bob.sql(PARTITIONS)
    await bob.sql(PAST)
    await asyncio.gather(*(jobs.drop_token_partitions(services) for _ in range(4)))
    assert await bob.sql(PARTITIONS) == before
