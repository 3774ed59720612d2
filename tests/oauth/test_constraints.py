"""Database constraints of the OAuth tables."""

import asyncpg
import pytest

from tests.cast import Actor, application

CLIENT = "UPDATE oauth_clients SET {} WHERE id = $1"
REQUEST = "UPDATE oauth_requests SET {} WHERE client_id = $1"
CODE = "UPDATE oauth_codes SET {} WHERE client_id = $1"
GRANT = "UPDATE oauth_grants SET {} WHERE client_id = $1"
ACCESS = "UPDATE oauth_access_tokens SET {} WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = $1)"
VIOLATIONS = [
    CLIENT.format("client_type = 'secret'"),
    CLIENT.format("client_type = 'public'"),  # beside a secret
    CLIENT.format("secret_hash = NULL"),
    CLIENT.format("secret_hash = '\\x00'"),
    CLIENT.format("redirect_uris = '{}'"),
    CLIENT.format("redirect_uris = array_fill('x'::text, ARRAY[11])"),
    CLIENT.format("scope_mask = 0"),
    CLIENT.format("scope_mask = 262144"),
    CLIENT.format("status = 'gone'"),
    CLIENT.format("status = 'revoked'"),  # without the time
    CLIENT.format("revoked_at = now()"),
    REQUEST.format("mode = 'sandbox'"),
    REQUEST.format("state = ''"),
    REQUEST.format("state = repeat('s', 513)"),
    REQUEST.format("challenge = '\\x00'"),
    REQUEST.format("scope_mask = 262144"),
    REQUEST.format("decision = 'maybe', decided_at = now()"),
    REQUEST.format("decision = 'denied', decided_at = NULL"),
    CODE.format("used_at = NULL"),  # with its grant
    CODE.format("mode = 'sandbox'"),
    CODE.format("challenge = '\\x00'"),
    CODE.format("scope_mask = 262144"),
    GRANT.format("mode = 'sandbox'"),
    GRANT.format("scope_mask = 262144"),
    GRANT.format("scope_mask = 1"),  # with a refresh token
    GRANT.format("refresh_hash = '\\x00'"),
    GRANT.format("mac_key_id = NULL"),  # with a refresh token
    GRANT.format("revoked_at = now()"),  # without the reason
    GRANT.format("revoked_because = 'boredom'"),
    ACCESS.format("scope_mask = 262144"),
    ACCESS.format("token_hash = '\\x00'"),
]


async def test_constraints_reject_invalid_rows(bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    await app.connect(alice, "account:read offline_access")
    for violation in VIOLATIONS:
        with pytest.raises(asyncpg.CheckViolationError):
            await alice.sql(violation, app.client_id)


async def test_requests_and_codes_are_unique(bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    await app.connect(alice, "account:read")
    for table in ("oauth_clients", "oauth_requests", "oauth_codes", "oauth_grants", "oauth_access_tokens"):
        with pytest.raises(asyncpg.UniqueViolationError):
            await alice.sql(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1")  # noqa: S608


async def test_partitions_of_the_next_day_exist(alice: Actor) -> None:
    rows = await alice.sql("SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'oauth_access_tokens'::regclass")
    assert rows[0]["n"] >= 5
    await alice.sql("SELECT partitions_make(now())")
    assert rows == await alice.sql("SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'oauth_access_tokens'::regclass")
