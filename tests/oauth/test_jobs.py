"""Jobs that delete old rows, in batches and by dropping partitions, beside concurrent work."""

import asyncio
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from tests.cast import Actor, application, sign_up
from tests.running import Service
from tollhouse.accounts.idempotency import slice as idempotency_jobs
from tollhouse.accounts.identity import slice as identity_jobs
from tollhouse.http.services import Services
from tollhouse.oauth import slice as jobs
from tollhouse.platform.database import partitions

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
def service(make_service: Callable[..., Service]) -> Service:
    """A service with its own database."""
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on")


@pytest.fixture
async def services(service: Service) -> AsyncIterator[Services]:
    """Services for this database, like those of the worker."""
    opened = service.create_services()
    yield opened
    await opened.db.close()


@pytest.fixture
async def bob(service: Service) -> AsyncIterator[Actor]:
    """Bob, who owns an application and connects it to his own account."""
    async with sign_up(service, "bob", "Bob's Books") as actor:
        yield actor


async def count(actor: Actor, table: str) -> int:
    """The number of rows."""
    return int((await actor.sql(f"SELECT count(*) AS n FROM {table}"))[0]["n"])  # noqa: S608


async def test_requests_are_deleted_after_an_hour(services: Services, bob: Actor) -> None:
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
async def test_used_codes_are_kept_for_the_lifetime_of_their_grant(services: Services, bob: Actor) -> None:
    app = await application(bob)
    codes = [await app.code(bob, "account:read offline_access") for _ in range(2)]
    tokens = [(await app.exchange(code)).ok().body for code in codes]
    await bob.sql("UPDATE oauth_codes SET created_at = now() - interval '30 days 23 hours'")
    await jobs.delete_codes(services)
    (await app.exchange(codes[0])).refused("invalid_grant", 400)
    (await app.refresh(tokens[0]["refresh_token"])).refused("invalid_grant", 400)
    await bob.sql("UPDATE oauth_codes SET created_at = now() - interval '31 days 1 minute'")
    await jobs.delete_codes(services)
    assert await count(bob, "oauth_codes") == 0
    (await app.exchange(codes[1])).refused("invalid_grant", 400)


async def test_expired_sessions_are_deleted(services: Services, service: Service, bob: Actor) -> None:
    async with sign_up(service, "eve", "Eve's Eggs") as eve:
        (await eve.dashboard("POST", "/logout")).ok(204)
        await identity_jobs.delete_sessions(services)
        mine = "user_id = (SELECT id FROM users WHERE email = $1)"
        assert len(await eve.sql(f"SELECT 1 FROM sessions WHERE {mine}", eve.email)) == 1  # noqa: S608
        await eve.sql(f"UPDATE sessions SET last_seen_at = now() - interval '12 hours 1 minute' WHERE {mine}", eve.email)  # noqa: S608
        await identity_jobs.delete_sessions(services)
        assert await eve.sql(f"SELECT 1 FROM sessions WHERE {mine}", eve.email) == []  # noqa: S608
    (await bob.dashboard("GET", "/session")).ok()


async def test_failures_and_idempotency_keys_are_deleted(services: Services, bob: Actor) -> None:
    wrong = {"email": bob.email, "password": "a wrong password"}
    for key in ("old", "new"):
        link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
        (await bob.post("/payment-links", link, key=key)).ok(201)
        (await bob.anonymously("POST", "/api/v2/merchant/login", wrong)).refused("invalid_credentials", 401)
        if key == "old":
            await bob.sql("UPDATE idempotency_keys SET created_at = now() - interval '30 days 1 minute'")
            await bob.sql("UPDATE failed_attempts SET forget_at = now() - interval '1 ms'")
            await identity_jobs.delete_failures(services)
            assert await count(bob, "failed_attempts") == 0
    await identity_jobs.delete_failures(services)
    assert await count(bob, "failed_attempts") == 2
    await idempotency_jobs.delete_old_keys(services)
    assert await count(bob, "idempotency_keys") == 1


async def test_past_partitions_are_dropped(services: Services, bob: Actor) -> None:
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


async def test_expired_token_can_be_revoked_for_six_hours(services: Services, bob: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(bob, "account:read offline_access")
    await bob.sql("SELECT partitions_make(now() - interval '6 hours')")
    await bob.sql("UPDATE oauth_access_tokens SET expires_at = expires_at - interval '6 hours'")
    await jobs.drop_token_partitions(services)
    (await app.revoke(tokens["access_token"])).ok()
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)


async def test_dropping_a_locked_partition_times_out_and_is_retried(services: Services, bob: Actor) -> None:
    """With a long-running reader, the job gives up, tokens are issued, and the next run drops the partition."""
    app = await application(bob)
    token = (await app.connect(bob, "account:read"))["access_token"]
    before = await bob.sql(PARTITIONS)
    await bob.sql(PAST)
    reader = await asyncpg.connect(bob.service.dsn)
    try:
        async with reader.transaction():
            await reader.fetch("SELECT 1 FROM oauth_access_tokens")
            job = asyncio.create_task(jobs.drop_token_partitions(services))
            while not job.done():
                (await app.api(token, "GET", "/account")).ok()
                (await app.connect(bob, "account:read")).keys()
            await job
            assert len(await bob.sql(PARTITIONS)) > len(before)
    finally:
        await reader.close()
    [drops] = await bob.sql("SELECT proconfig FROM pg_proc WHERE proname = 'partitions_drop'")
    assert "lock_timeout=200ms" in drops["proconfig"]  # so long a request waits for it, at the most
    await jobs.drop_token_partitions(services)
    assert await bob.sql(PARTITIONS) == before


async def test_creating_partitions_does_not_wait_for_readers(bob: Actor) -> None:
    """With a long-running reader, a new partition is created."""
    reader = await asyncpg.connect(bob.service.dsn)
    try:
        async with reader.transaction():
            await reader.fetch("SELECT 1 FROM oauth_access_tokens")
            await asyncio.wait_for(bob.sql("SELECT partitions_make(now() + interval '2 days')"), 20)
    finally:
        await reader.close()
    await bob.sql("INSERT INTO oauth_access_tokens VALUES (sha256('y'), gen_random_uuid(), 1, now() + interval '2 days')")


async def test_processes_create_partitions_concurrently(services: Services, bob: Actor) -> None:
    """Like processes that start at the same time after days."""
    for days in range(10, 15):
        statements = (f"SELECT partitions_make(now() + interval '{days} days')" for _ in range(8))
        await asyncio.gather(*(bob.sql(statement) for statement in statements))
    await partitions.create_missing(services.db)


async def test_concurrent_workers_drop_partitions(services: Services, bob: Actor) -> None:
    before = await bob.sql(PARTITIONS)
    await bob.sql(PAST)
    await asyncio.gather(*(jobs.drop_token_partitions(services) for _ in range(4)))
    assert await bob.sql(PARTITIONS) == before
