"""Stop everything: one action ends all keys and connections of a mode, and nothing else."""

import asyncio
from uuid import UUID

import msgspec
import pytest

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import Actor, application, suspend
from tests.forms import post, seen
from tests.receiver import Receiver
from tollhouse.accounts.identity import store
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode

SCOPE = "account:read payments:read offline_access"
MANY = 10_000
CONNECT = """
    INSERT INTO oauth_grants (id, client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at)
    SELECT gen_random_uuid(), c.id, $2::uuid, 'live', 1, c.grant_epoch, now(), now() + interval '30 d'
    FROM oauth_clients c, generate_series(1, $3) WHERE c.id = $1
"""
LEFT = "SELECT count(*) AS n FROM oauth_grants WHERE merchant_id = $1::uuid AND revoked_at IS NULL"
MAILS = "SELECT recipient, facts::text AS facts FROM mails WHERE about = 'everything_stopped' AND recipient = $1"


def env_of(actor: Actor, mode: Mode = "test") -> MerchantEnv:
    """An environment of this merchant."""
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), mode)


async def stop(actor: Actor, mode: str = "test") -> dict[str, object]:
    """Stop everything; what there was."""
    return (await actor.dashboard("POST", "/stop-everything", {"mode": mode})).ok().body


async def test_it_ends_all_of_one_mode_and_nothing_else(alice: Actor, bob: Actor, carol: Actor, receiver: Receiver) -> None:
    app = await application(bob, connection_webhook_url=receiver.url)
    here, live, there = [await app.connect(who, SCOPE, mode=mode) for who, mode in
                         ((alice, "test"), (alice, "live"), (carol, "test"))]  # fmt: skip
    code = await app.code(alice, SCOPE)
    key, live_key, other = await alice.key(), await alice.key("live"), await carol.key()
    assert await stop(alice) == {"mode": "test", "livemode": False, "api_keys": 1, "connections": 1, "proposals": 0}
    (await alice.get("/account")).refused("invalid_api_key", 401)
    (await app.api(here["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await app.refresh(here["refresh_token"])).refused("invalid_grant", 400)
    (await app.exchange(code)).refused("invalid_grant", 400)
    for token in (live, there):
        (await app.api(token["access_token"], "GET", "/account")).ok()
    for one in (live_key, other):
        (await alice.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": one})).ok()
    [received] = await receiver.wait("connection.ended")
    assert received.body["data"]["object"]["reason"] == "merchant"
    assert key not in await seen(alice, "/settings/audit")
    assert await stop(alice) == {"mode": "test", "livemode": False, "api_keys": 0, "connections": 0, "proposals": 0}
    lines = await alice.sql(
        "SELECT mode, changed::text AS changed FROM audit_lines "
        "WHERE merchant_id = $1::uuid AND deed = 'account.everything_stopped'",
        alice.merchant_id,
    )
    assert [(row["mode"], msgspec.json.decode(row["changed"])) for row in lines] == [
        ("test", {"api_keys": [1, 0], "connections": [1, 0]})
    ]
    assert await alice.sql(MAILS, alice.email) == []


async def test_in_live_mode_it_needs_no_password_and_is_mailed(alice: Actor) -> None:
    await alice.key("live")
    await grow_old(alice)
    assert (await stop(alice, "live"))["api_keys"] == 1
    await stop(alice, "live")
    [mail] = await alice.sql(MAILS, alice.email)
    assert msgspec.json.decode(mail["facts"])["api_keys"] == "1"
    (await alice.dashboard("POST", "/stop-everything", {"mode": "both"})).refused("validation_failed", 422)


async def test_a_suspended_merchant_can_stop_by_the_page(alice: Actor) -> None:
    await alice.key("live")
    page = await seen(alice, "/live/developers/stop")
    assert "1 API key<" in page
    assert "0 connections of applications" in page
    await suspend(alice)
    await post(alice, "/live/developers/stop", 303)
    assert "Everything is stopped." in await seen(alice, "/live/developers/stop?done=stopped")
    assert "nothing to stop" in await seen(alice, "/test/developers/stop")


async def test_nothing_begins_while_it_runs_and_what_was_begun_is_waited_for(
    alice: Actor, bob: Actor, services: Services
) -> None:
    app = await application(bob)
    new_key = {"name": "Till", "mode": "test"}

    async def refused_meanwhile(work: Work) -> None:
        await store.let_no_credential_begin(work.tx, env_of(alice))
        (await alice.dashboard("POST", "/api-keys", new_key)).refused("everything_stops", 409)
        with pytest.raises(AssertionError, match="being revoked"):
            await app.code(alice, SCOPE)
        (await alice.dashboard("POST", "/api-keys", new_key | {"mode": "live"})).ok(201)

    await services.transact(refused_meanwhile, clock.now())

    async def waited_for(work: Work) -> "asyncio.Task[dict[str, object]]":
        await store.begin_credential(work.tx, env_of(alice))
        stopping = asyncio.create_task(stop(alice))
        while not await alice.sql("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            await asyncio.sleep(0.01)
        assert not stopping.done()
        return stopping

    assert (await (await services.transact(waited_for, clock.now())))["api_keys"] == 0


@pytest.mark.long
async def test_ten_thousand_connections_end_in_one_action(alice: Actor, bob: Actor, receiver: Receiver) -> None:
    app = await application(bob, connection_webhook_url=receiver.url)
    await alice.sql(CONNECT, app.client_id, alice.merchant_id, MANY)
    assert (await stop(alice, "live"))["connections"] == MANY
    assert (await alice.sql(LEFT, alice.merchant_id))[0]["n"] == 0
    [row] = await alice.sql("SELECT count(*) AS n FROM webhook_events WHERE type = 'connection.ended'")
    assert row["n"] >= MANY
