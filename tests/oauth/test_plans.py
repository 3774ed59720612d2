"""The checks of credentials, exchanges and refreshes are planned once, also with many tokens in several partitions."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import asyncpg
import pytest

from tests.cast import application, sign_up
from tests.running import Service
from tollhouse.accounts.identity import store
from tollhouse.kernel.ids import new_id
from tollhouse.oauth import clients_store
from tollhouse.oauth import store as oauth_store

pytestmark = pytest.mark.xdist_group("credentials")  # which are many, and made once
Raw: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Filled: TypeAlias = "tuple[Raw, str, datetime]"
FILLED = """
    SET LOCAL session_replication_role = replica; -- the rows alone: nothing that they belong to
    INSERT INTO oauth_clients
    SELECT (jsonb_populate_record(NULL::oauth_clients, to_jsonb(c) || jsonb_build_object('id', 'app_' || n))).*
    FROM oauth_clients AS c, generate_series(1, 500) AS n WHERE c.id = '%(client_id)s';
    INSERT INTO oauth_grants
    SELECT (jsonb_populate_record(NULL::oauth_grants, to_jsonb(g) || jsonb_build_object('id', gen_random_uuid()))).*
    FROM oauth_grants AS g, generate_series(1, 5000) AS n WHERE g.client_id = '%(client_id)s';
    INSERT INTO oauth_access_tokens
    SELECT sha256(id::text::bytea), id, 1, timestamptz '%(now)s' + interval '14 minutes'
    FROM oauth_grants WHERE client_id = '%(client_id)s';
    INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
    SELECT gen_random_uuid(), merchant_id, 'test', 'Key', sha256(n::text::bytea), 1, 'hint', now()
    FROM oauth_clients, generate_series(1, 5000) AS n WHERE id = '%(client_id)s';
    INSERT INTO oauth_codes
    SELECT (jsonb_populate_record(
        NULL::oauth_codes, to_jsonb(k) || jsonb_build_object('code_hash', sha256(n::text::bytea)))).*
    FROM oauth_codes AS k, generate_series(1, 5000) AS n WHERE k.client_id = '%(client_id)s';
    ANALYZE oauth_clients, oauth_grants, oauth_access_tokens, api_keys, oauth_codes
"""
HASHES_OF_GRANTS = "SELECT array_agg(sha256(id::text::bytea)) FROM oauth_grants WHERE client_id = $1"
KEY_HASHES = "SELECT array_agg(key_hash) FROM api_keys WHERE hint = 'hint'"
PLANS = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = $1"
MANY = 20
PARTITION = timedelta(hours=6)
"""How long the tokens of a partition of `oauth_access_tokens` expire in."""


@pytest.fixture(scope="module")
async def filled(service: Service) -> AsyncIterator[Filled]:
    """A connection in a transaction with many credentials, an application, and the time of its tokens."""
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        app = await application(bob)
        await app.connect(alice, "account:read")
    raw = await asyncpg.connect(service.dsn, statement_cache_size=0)
    try:
        await raw.execute("BEGIN")
        now = middle_of_a_partition()
        await raw.execute(FILLED % {"client_id": app.client_id, "now": now})
        yield raw, app.client_id, now
        await raw.execute("ROLLBACK")
    finally:
        await raw.close()


def middle_of_a_partition() -> datetime:
    """A time hours away from the bounds of its partition, where custom plans of some minutes read fewer partitions."""
    now = datetime.now(UTC)
    return now - (now - datetime.min.replace(tzinfo=UTC)) % PARTITION + PARTITION / 2


async def plan_of_many(raw: Raw, name: str, sql: str, hashes: list[bytes], *args: object) -> str:
    """The plan of a check of credentials, after batches of several sizes were read by generic plans."""
    statement = await raw.prepare(sql, name=name)
    for count in range(MANY):
        assert len(await statement.fetch(hashes[: count + 1], *args)) == count + 1
    array = "ARRAY[" + ", ".join(f"'\\x{hash_.hex()}'::bytea" for hash_ in hashes[:3]) + "]"
    return await generic_plan(raw, name, array, *(f"'{arg}'" for arg in args))


async def plan_of_one(raw: Raw, name: str, sql: str, *args: object) -> str:
    """The plan of a statement that writes nothing for these values, after it was executed by a generic plan."""
    statement = await raw.prepare(sql, name=name)
    for _ in range(MANY):
        assert await statement.fetchrow(*args) is None
    return await generic_plan(raw, name, *("NULL" for _ in args))


async def generic_plan(raw: Raw, name: str, *spelt: str) -> str:
    """The plan for these values."""
    [plans] = await raw.fetch(PLANS, name)
    assert tuple(plans) == (MANY - 5, 5)  # PostgreSQL tries five custom plans first
    return "\n".join(row[0] for row in await raw.fetch(f"EXPLAIN EXECUTE {name}({', '.join(spelt)})"))


@pytest.mark.long
async def test_tokens_are_checked_by_a_generic_plan(filled: Filled) -> None:
    raw, client_id, now = filled
    hashes = await raw.fetchval(HASHES_OF_GRANTS, client_id)
    plan = await plan_of_many(raw, "tokens", store.BEARERS, hashes, now, store.HORIZON)
    assert "Subplans Removed" in plan
    assert "Seq Scan on oauth_access_tokens" not in plan
    assert "Seq Scan on oauth_grants" not in plan


async def test_api_keys_are_checked_by_a_generic_plan(filled: Filled) -> None:
    raw, _, _ = filled
    plan = await plan_of_many(raw, "keys", store.API_KEYS, await raw.fetchval(KEY_HASHES))
    assert "Index Scan using api_keys" in plan
    assert "Seq Scan on api_keys" not in plan


async def test_applications_are_read_by_a_generic_plan(filled: Filled) -> None:
    raw, client_id, _ = filled
    statement = await raw.prepare(clients_store.FIND_MANY_CREDENTIALS, name="applications")
    for count in range(1, MANY + 1):
        assert len(await statement.fetch([client_id] * count)) == count
    plan = await generic_plan(raw, "applications", f"ARRAY['{client_id}']")
    assert "Index Scan using oauth_clients_pkey" in plan


async def test_an_exchange_has_a_generic_plan(filled: Filled) -> None:
    unknown = bytes(32)
    raw, client_id, now = filled
    binding = (client_id, unknown, "https://app.example/callback", unknown)
    new = (new_id(), now, unknown, unknown, now, "key")
    plan = await plan_of_one(raw, "exchange", oauth_store.EXCHANGE, *binding, now, *new, unknown, None, "none", None)
    assert "Index Scan using oauth_codes_pkey" in plan
    assert "Seq Scan" not in plan


async def test_a_refresh_has_a_generic_plan(filled: Filled) -> None:
    unknown = bytes(32)
    raw, client_id, now = filled
    values = (new_id(), client_id, 0, unknown, now, None, unknown, unknown, now, unknown, None, "none", None)
    plan = await plan_of_one(raw, "refresh", oauth_store.REFRESH, *values)
    assert "Index Scan using oauth_grants_pkey" in plan
    assert "Seq Scan on oauth_grants" not in plan
