"""`tollhouse keys rotate` beside a running service: nothing is lost, whenever it is killed, and no key goes too early."""

import asyncio
import html
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from tests.accounts.merchants.authenticator import enrol, log_in
from tests.cast import HIDDEN, Actor, application, sign_up
from tests.command import Outcome, tollhouse
from tests.journeys.test_get_paid import activate_secret
from tests.receiver import Received, Receiver
from tests.running import Service, settings_for
from tests.webhooks.endpoints.test_configuration import signed_with
from tests.webhooks.events.harness import eventually
from tollhouse.instance import main
from tollhouse.instance.cli import keys
from tollhouse.instance.cli.keys import KeyUse, Rotation
from tollhouse.instance.supervisor import new_key, with_keys
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.encryption import Encrypted, KeyRing
from tollhouse.platform.settings import config
from tollhouse.platform.settings import values as setting_values
from tollhouse.webhooks.events import secrets

OLD, NEW, NEWEST = (new_key(name) for name in ("old", "new", "newest"))
BOTH = f"{NEW},{OLD}"
ALL = f"{NEWEST},{BOTH}"
SAID = ("key_id", "in_use", "signing_secrets", "second_factors", "needed_until")
ALONE = "new  in use  1 signing secrets  1 second factors  0 connections  0 consent forms\n"
MANY = 250
SEALED = "SELECT version, key_id, nonce, ciphertext FROM webhook_secrets WHERE merchant_id = $1 AND mode = 'live'"
# The row that would be re-encrypted in the middle of the second batch waits until the test lets go of the lock.
TRAP = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
    CREATE TRIGGER trap BEFORE UPDATE OF ciphertext ON webhook_secrets FOR EACH ROW WHEN (NEW.version = 150)
    EXECUTE FUNCTION wait()
"""
CAUGHT = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"
ALL_FREE = "SELECT FROM (SELECT FROM webhook_secrets FOR UPDATE SKIP LOCKED) AS free HAVING count(*) = $1"


@asynccontextmanager
async def people(service: Service) -> AsyncIterator[tuple[Actor, Actor]]:
    """Alice and Bob, who stay when the service is started anew."""
    async with (
        sign_up(service, "alice", "Alice's Coffee", keep_alive=False) as alice,
        sign_up(service, "bob", "Bob's Books", keep_alive=False) as bob,
    ):
        yield alice, bob


async def command(service: Service, ring: str, *words: str) -> Outcome:
    """The command, as it is typed."""
    return await tollhouse(service, "keys", "rotate", *words, TOLLHOUSE_SECRET_KEYS=ring)


async def rotate(service: Service, ring: str) -> Rotation:
    """What the command does, without a process of its own."""
    services = main.create_services(settings_for(service.dsn, TOLLHOUSE_SECRET_KEYS=ring), connections=1)
    try:
        return await keys.rotate_ring(services)
    finally:
        await services.db.close()


def use_of(done: Rotation, key_id: str) -> KeyUse:
    """What it says of this key."""
    [use] = [use for use in done.keys if use.key_id == key_id]
    return use


async def arrived(actor: Actor, receiver: Receiver) -> Received:
    """A test event, as it arrives."""
    sent = (await actor.post("/webhook/test", {"url": receiver.url})).ok(202).body
    await receiver.wait(count=len(receiver.received) + 1)
    return next(got for got in receiver.received if got.headers["X-Service-Event-Id"] == sent["id"])


def live(actor: Actor) -> MerchantEnv:
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")


async def seed(service: Service, actor: Actor) -> dict[int, str]:
    """Many secrets in the merchant's live environment, by version."""
    services = service.create_services(connections=1)
    made: dict[int, str] = {}
    try:
        async with services.db.transaction() as tx:
            await secrets.lock(tx, live(actor))
            for version in range(1, MANY + 1):
                made[version] = await secrets.generate(tx, live(actor), services.keys, clock.now())
    finally:
        await services.db.close()
    return made


async def opened(actor: Actor, ring: str) -> tuple[dict[int, str], dict[str, int]]:
    """The merchant's live secrets, opened with this ring; and how many there are under each key."""
    keys = KeyRing(setting_values.key_ring(ring))
    found: dict[int, str] = {}
    counts: dict[str, int] = {}
    for row in await actor.sql(SEALED, actor.merchant_id):
        encrypted = Encrypted(row["key_id"], row["nonce"], row["ciphertext"])
        found[row["version"]] = secrets.decrypt(keys, live(actor), row["version"], encrypted)
        counts[row["key_id"]] = counts.get(row["key_id"], 0) + 1
    return found, counts


@pytest.mark.long
async def test_a_key_goes_when_nothing_needs_it_any_more(restarted: Callable[..., Service], receiver: Receiver) -> None:
    service = restarted(TOLLHOUSE_SECRET_KEYS=OLD)
    async with people(service) as (alice, bob):
        secret = await activate_secret(alice)
        authenticator = await enrol(alice)
        app = await application(bob)
        tokens = await app.connect(alice, "account:read offline_access")
        await app.connect(alice, "account:read")  # without a refresh token it needs no key
        started = (await alice.send("GET", app.authorize_path("account:read"))).ok(303).location
        form = [(name, html.unescape(value)) for name, value in HIDDEN.findall((await alice.send("GET", started)).text)]

        refused = await command(service, BOTH)
        assert (refused.status, refused.out) == (1, "")
        assert "processes that do not have new first" in refused.talk

        restarted(TOLLHOUSE_SECRET_KEYS=BOTH)
        assert signed_with(secret, await arrived(alice, receiver))
        first = await command(service, BOTH, "--json")
        assert (first.status, first.json["resealed"]) == (1, 2)
        new, old = first.json["keys"]
        assert [new[name] for name in SAID] == ["new", True, 1, 1, None]
        assert old == {
            "key_id": "old",
            "in_ring": True,
            "in_use": False,
            "needed": True,
            "signing_secrets": 0,
            "second_factors": 0,
            "connections": 1,
            "consent_forms": 1,
            "needed_until": old["needed_until"],
        }
        assert f"Keep old until {old['needed_until']}" in first.talk
        assert signed_with(secret, await arrived(alice, receiver))
        (await alice.form(started, [*form, ("scope", "account:read"), ("decision", "allow")])).ok(303)
        refreshed = (await app.refresh(tokens["refresh_token"])).ok().body

        second = await rotate(service, BOTH)
        assert (second.rotated, use_of(second, "old").consent_forms) == (0, 0)
        assert use_of(second, "old").connections == 1  # its first refresh token would still be known as replaced
        assert second.still_needed == [use_of(second, "old")]
        (await app.revoke(refreshed["refresh_token"])).ok()
        assert (await rotate(service, BOTH)).still_needed == []

        restarted(TOLLHOUSE_SECRET_KEYS=NEW)
        assert signed_with(secret, await arrived(alice, receiver))
        (await log_in(alice, authenticator.code())).ok()
        alone = await command(service, NEW)
        assert (alone.status, alone.out, alone.talk) == (0, ALONE, "All older keys can be removed from the ring.")


@pytest.mark.long
async def test_a_newer_key_stays_for_as_long_as_an_older_one(restarted: Callable[..., Service]) -> None:
    service = restarted(TOLLHOUSE_SECRET_KEYS=OLD)
    async with people(service) as (alice, bob):
        app = await application(bob)
        tokens = await app.connect(alice, "account:read offline_access")
        restarted(TOLLHOUSE_SECRET_KEYS=BOTH)
        replaced = (await app.refresh(tokens["refresh_token"])).ok().body["refresh_token"]
        restarted(TOLLHOUSE_SECRET_KEYS=ALL)
        (await app.refresh(replaced)).ok()
        kept = await rotate(service, ALL)
        assert [(use.key_id, use.needed, use.connections) for use in kept.keys] == [
            ("newest", True, 0),
            ("new", True, 0),
            ("old", True, 1),
        ]
        # Taken out all the same, the oldest is missed.
        restarted(TOLLHOUSE_SECRET_KEYS=f"{NEWEST},{NEW}")
        without = await rotate(service, f"{NEWEST},{NEW}")
        assert without.still_needed == [use_of(without, "old")]
        assert not use_of(without, "old").in_ring
        restarted(TOLLHOUSE_SECRET_KEYS=ALL)
        (await app.refresh(replaced)).refused("invalid_grant", 400)  # a replay, known by the middle key
        assert (await rotate(service, ALL)).still_needed == []


@pytest.mark.long
async def test_killed_in_the_middle_it_leaves_every_secret_whole(restarted: Callable[..., Service]) -> None:
    service = restarted(TOLLHOUSE_SECRET_KEYS=OLD)
    async with people(service) as (alice, _):
        made = await seed(service, alice)
        restarted(TOLLHOUSE_SECRET_KEYS=BOTH)
        holder = await asyncpg.connect(service.dsn)
        await holder.execute(TRAP)
        await holder.execute("SELECT pg_advisory_lock(4711)")
        words = [sys.executable, "-m", "tollhouse", "keys", "rotate"]
        environment = os.environ | {"DATABASE_URL": service.dsn, "TOLLHOUSE_SECRET_KEYS": BOTH}
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as rotating:
            async with asyncio.timeout(60):
                while not await alice.sql(CAUGHT):
                    await asyncio.sleep(0.02)
            rotating.kill()
            assert rotating.stderr is not None
            assert rotating.stderr.read().decode() == "100 signing secrets re-encrypted.\n"
        await holder.close()
        await eventually(lambda: alice.sql(ALL_FREE, MANY))
        assert await opened(alice, BOTH) == (made, {"new": 100, "old": 150})
        done = await rotate(service, BOTH)
        assert (done.rotated, done.still_needed) == (150, [])
        assert await opened(alice, NEW) == (made, {"new": MANY})
        assert (await rotate(service, BOTH)).rotated == 0


@pytest.mark.long
async def test_beside_rotations_of_secrets_and_of_itself(restarted: Callable[..., Service], receiver: Receiver) -> None:
    service = restarted(TOLLHOUSE_SECRET_KEYS=OLD)
    async with people(service) as (alice, _):
        made = await seed(service, alice)
        await activate_secret(alice)
        await alice.key("live")
        restarted(TOLLHOUSE_SECRET_KEYS=BOTH)
        rotations, renewed, saved = await asyncio.gather(
            asyncio.gather(*(rotate(service, BOTH) for _ in range(2))),
            asyncio.gather(*(alice.post("/webhook/rotate-secret", mode="live") for _ in range(10))),
            asyncio.gather(*(activate_secret(alice) for _ in range(10))),
        )
        rotations.append(await rotate(service, BOTH))  # what somebody had locked until then
        assert sum(done.rotated for done in rotations) == MANY + 1
        assert rotations[-1].still_needed == []
        found, counts = await opened(alice, NEW)
        assert set(counts) == {"new"}
        assert made.items() <= found.items()
        assert {answer.ok().body["secret"] for answer in renewed} < set(found.values())
        got = await arrived(alice, receiver)
        assert any(signed_with(secret, got) for secret in saved)


@pytest.mark.long
async def test_what_cannot_be_opened_is_reported_and_left(restarted: Callable[..., Service]) -> None:
    service = restarted(TOLLHOUSE_SECRET_KEYS=OLD)
    async with people(service) as (alice, _):
        await seed(service, alice)
        await alice.sql("UPDATE webhook_secrets SET ciphertext = ciphertext || '\\x00' WHERE version = 7")
        await alice.sql("UPDATE webhook_secrets SET key_id = 'lost' WHERE version = 8")
        await enrol(alice)
        await alice.sql("UPDATE second_factors SET key_id = 'lost'")
        restarted(TOLLHOUSE_SECRET_KEYS=BOTH)
        done = await command(service, BOTH, "--json")
        assert (done.status, done.json["resealed"]) == (1, MANY - 2)
        assert [(use["key_id"], use["signing_secrets"], use["in_ring"]) for use in done.json["keys"]] == [
            ("new", MANY - 2, True),
            ("old", 1, True),
            ("lost", 1, False),
        ]
        assert [use["second_factors"] for use in done.json["keys"]] == [0, 0, 1]
        assert "Keep old: 1 signing secrets were not re-encrypted" in done.talk
        assert "lost is needed but not in the ring" in done.talk


def test_a_new_key_is_one_of_a_ring(capsys: pytest.CaptureFixture[str]) -> None:
    keys.new(key_id="k2")
    keys.new()
    made = capsys.readouterr().out.split()
    [(name, key), (another, _)] = setting_values.key_ring(",".join(made))
    assert (name, len(key)) == ("k2", 32)
    assert re.fullmatch(r"k[0-9]{8}-[0-9a-f]{4}", another)


def test_the_ring_in_the_data_folder(tmp_path: Path) -> None:
    settings = config.load({"TOLLHOUSE_DATA_DIR": str(tmp_path)})
    made = with_keys(settings)
    assert with_keys(settings) == made
    file = tmp_path / "secret-keys"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(f"{new_key('k2')},{file.read_text()}\n")
    ring = with_keys(settings).secret_keys
    assert [name for name, _ in ring] == ["k2", "k1"]
    assert ring[1:] == made.secret_keys
    file.write_text("k1:short")
    with pytest.raises(config.InvalidSettingsError, match="each key must be"):
        with_keys(settings)
