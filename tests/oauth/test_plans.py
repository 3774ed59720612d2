"""The check of an access token is planned once, also with many tokens in several partitions."""

from datetime import UTC, datetime

import asyncpg

from tests.cast import Actor, application
from tollhouse.identity import store

FILLED = """
    SET LOCAL session_replication_role = replica; -- the rows alone: nothing that they belong to
    INSERT INTO oauth_clients
    SELECT (jsonb_populate_record(NULL::oauth_clients, to_jsonb(c) || jsonb_build_object('id', 'app_' || n))).*
    FROM oauth_clients AS c, generate_series(1, 500) AS n WHERE c.id = '%(client_id)s';
    INSERT INTO oauth_grants
    SELECT (jsonb_populate_record(NULL::oauth_grants, to_jsonb(g) || jsonb_build_object('id', gen_random_uuid()))).*
    FROM oauth_grants AS g, generate_series(1, 5000) AS n WHERE g.client_id = '%(client_id)s';
    INSERT INTO oauth_access_tokens
    SELECT sha256(id::text::bytea), id, 1, now() + interval '14 minutes' FROM oauth_grants WHERE client_id = '%(client_id)s';
    INSERT INTO oauth_access_tokens -- in the partition of this moment too, if the tokens above expire in the next one
    SELECT sha256('now' || id::text::bytea), id, 1, now() FROM oauth_grants WHERE client_id = '%(client_id)s';
    ANALYZE oauth_clients, oauth_grants, oauth_access_tokens
"""
HASH_OF_A_GRANT = "SELECT sha256(id::text::bytea) FROM oauth_grants WHERE client_id = $1 ORDER BY id LIMIT 1"
PLANS = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'bearer'"
MANY = 20


async def test_a_token_is_checked_by_a_generic_plan(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    await app.connect(alice, "account:read")
    now = datetime.now(UTC)
    raw = await asyncpg.connect(alice.service.dsn, statement_cache_size=0)
    try:
        await raw.execute("BEGIN")
        await raw.execute(FILLED % {"client_id": app.client_id})
        token_hash = await raw.fetchval(HASH_OF_A_GRANT, app.client_id)
        statement = await raw.prepare(store.BEARER, name="bearer")
        for _ in range(MANY):
            assert await statement.fetchrow(token_hash, now, store.HORIZON) is not None
        [plans] = await raw.fetch(PLANS)
        hash_text = f"'\\x{token_hash.hex()}'"
        plan = "\n".join(
            row[0] for row in await raw.fetch(f"EXPLAIN EXECUTE bearer({hash_text}, '{now}', '{store.HORIZON}')")
        )
        await raw.execute("ROLLBACK")
    finally:
        await raw.close()
    assert tuple(plans) == (MANY - 5, 5)  # PostgreSQL tries five custom plans first
    assert "Subplans Removed" in plan
    assert "Seq Scan on oauth_access_tokens" not in plan
