"""The event feed: pages, filters, waiting, streams, what has expired, and who sees what."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.cast import Actor, Application, application
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.events.harness import Harness, eventually
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import FEED_READERS_PER_CREDENTIAL_MAX
from tollhouse.platform.database import partitions
from tollhouse.transfers.gate import gate
from tollhouse.webhooks.delivery.jobs import drop_months_before
from tollhouse.webhooks.endpoints import feed, feed_watch


def ids(body: dict[str, Any]) -> list[str]:
    return [event["id"] for event in body["events"]]


async def recorded(harness: Harness, *types: str) -> list[str]:
    """Events of these types, without a destination."""
    sources = {"balance.updated": "ledger_entry", "withdrawal.completed": "withdrawal"}
    return [str(await harness.record(None, type=one, source_type=sources.get(one, "transaction"))) for one in types]


async def test_pages_are_oldest_first_and_without_gaps(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    made = await recorded(harness, *["payment.succeeded"] * 7)
    first = (await alice.get("/events?limit=4")).ok().body
    assert ids(first) == made[:4]
    assert [event["position"] for event in first["events"]] == [1, 2, 3, 4]
    assert (first["next"], first["has_more"]) == (4, True)
    second = (await alice.get(f"/events?limit=4&after=4&feed_id={first['feed_id']}")).ok().body
    assert (ids(second), second["next"], second["has_more"]) == (made[4:], 7, False)
    last = (await alice.get("/events?after=7")).ok().body
    assert (last["events"], last["next"], last["has_more"]) == ([], 7, False)
    assert set(first["events"][0]) == {"position", "id", "type", "created_at", "body", "headers"}


async def test_the_body_is_what_is_delivered_and_signed_at_reading(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    [event_id] = await recorded(harness, "payment.succeeded")
    [event] = (await alice.get("/events")).ok().body["events"]
    assert event["headers"] == {}  # no active secret
    secret = await harness.secret()
    [event] = (await alice.get("/events")).ok().body["events"]
    shown = (await alice.get(f"/webhook-events/{event_id}")).ok()
    assert event["body"] in shown.text
    expected = hmac.new(secret.encode(), event["body"].encode(), hashlib.sha256).hexdigest()
    assert event["headers"]["X-Service-Signature"] == expected
    assert set(event["headers"]) == {"X-Service-Signature", "webhook-id", "webhook-timestamp", "webhook-signature"}


async def test_test_events_are_not_in_the_feed(alice: Actor, harness_of: Open) -> None:
    await (await harness_of(alice)).secret()
    (await alice.post("/webhook/test", {"url": "http://127.0.0.1:1025/"})).ok(202)
    body = (await alice.get("/events")).ok().body
    assert (body["events"], body["next"]) == ([], 0)


async def test_a_filter_moves_on_over_what_it_leaves_out(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    kinds = ["payment.succeeded", "balance.updated", "payment.failed"]
    made = await recorded(harness, *kinds, *kinds)
    body = (await alice.get("/events?types=payment.failed,balance.updated&limit=3")).ok().body
    assert (ids(body), body["next"], body["has_more"]) == ([made[1], made[2], made[4]], 5, True)
    body = (await alice.get("/events?types=withdrawal.failed")).ok().body
    assert (body["events"], body["next"], body["has_more"]) == ([], 6, False)


async def test_a_filter_examines_so_many_positions(alice: Actor, harness_of: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "EXAMINED_MAX", 3)
    made = await recorded(await harness_of(alice), *["payment.succeeded"] * 4, "payment.failed")
    body = (await alice.get("/events?types=payment.failed")).ok().body
    assert (body["events"], body["next"], body["has_more"]) == ([], 3, True)
    body = (await alice.get("/events?types=payment.failed&after=3&wait=30")).ok().body
    assert (ids(body), body["next"], body["has_more"]) == (made[4:], 5, False)


async def test_merchants_and_modes_have_feeds_of_their_own(alice: Actor, carol: Actor, harness_of: Open) -> None:
    await recorded(await harness_of(alice), "payment.succeeded", "payment.failed")
    theirs = await recorded(await harness_of(carol), "payment.succeeded")
    assert ids((await carol.get("/events")).ok().body) == theirs
    assert ids((await alice.get("/events", mode="live")).ok().body) == []
    assert len(ids((await alice.get("/events")).ok().body)) == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=-1", "after"), ("after=1.5", "after"), ("after=x", "after"), ("after=", "after"),
        ("after=1&after=2", "after"),
        ("after=99999999999999999999999999", "after"), ("limit=0", "limit"), ("limit=101", "limit"), ("wait=31", "wait"),
        ("wait=-1", "wait"), ("types=payment.unknown", "types"), ("types=", "types"), ("types=webhook.test", "types"),
        ("types=payment.failed,", "types"), ("page=1", "page"), ("cursor=x", "cursor"),
    ],
)  # fmt: skip
async def test_malformed_parameters_are_refused(alice: Actor, query: str, field: str) -> None:
    refused = (await alice.get(f"/events?{query}")).refused("validation_failed", 422)
    assert set(refused.field_errors()) == {field}


async def test_another_feed_and_a_position_beyond_the_end_are_reset(alice: Actor, harness_of: Open) -> None:
    (await alice.get("/events?after=1")).refused("feed_reset", 409)
    await recorded(await harness_of(alice), "payment.succeeded")
    (await alice.get("/events?after=1")).ok()
    (await alice.get("/events?after=2")).refused("feed_reset", 409)
    (await alice.get(f"/events?feed_id={new_id()}")).refused("feed_reset", 409)
    (await alice.get("/events?feed_id=anything")).refused("feed_reset", 409)


async def test_a_restored_database_has_another_feed(alice: Actor, harness_of: Open) -> None:
    before = (await alice.get("/events")).ok().body["feed_id"]
    assert (await alice.get("/events", mode="live")).ok().body["feed_id"] == before
    services = (await harness_of(alice)).services
    found: list[str] = []
    with suppress(ZeroDivisionError):
        async with services.db.transaction() as tx:
            for _ in range(2):
                found += [str(row["feed_id"]) for row in await tx.fetch("SELECT webhook_feed_id() AS feed_id")]
                await gate.pause_restored(tx, clock.now(), clock.now())
            raise ZeroDivisionError  # payouts of the other tests go on
    assert found[0] == before
    assert found[1] != before


async def test_deleted_events_have_expired(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    await recorded(harness, "payment.succeeded", "payment.failed")
    (await alice.get("/events")).ok()
    delete = "DELETE FROM webhook_events WHERE merchant_id = $1 AND position = 1 RETURNING id"
    assert len(await alice.sql(delete, harness.env.merchant_id)) == 1
    assert (await alice.get("/events")).refused("events_expired", 410).body["details"] == {"oldest": 2}
    await alice.sql("UPDATE webhook_feeds SET expired_position = 1 WHERE merchant_id = $1", harness.env.merchant_id)
    assert (await alice.get("/events")).refused("events_expired", 410).body["details"] == {"oldest": 2}
    [event] = (await alice.get("/events?after=1")).ok().body["events"]
    assert event["position"] == 2


async def test_an_application_sees_the_objects_that_it_may_read(alice: Actor, bob: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    payment, balance, withdrawal = await recorded(harness, "payment.succeeded", "balance.updated", "withdrawal.completed")
    app = await application(bob)
    token = await connected(app, alice, "webhooks:read webhooks:write payments:read")
    body = (await app.api(token, "GET", "/events")).ok().body
    assert (ids(body), body["next"], body["has_more"]) == ([payment], 3, False)
    assert ids((await app.api(token, "GET", "/events?types=balance.updated")).ok().body) == []
    listed = (await app.api(token, "GET", "/webhook-events")).ok().body["webhook_events"]
    assert [event["id"] for event in listed] == [payment]
    assert (await app.api(token, "GET", "/webhook-events?type=balance.updated")).ok().body["webhook_events"] == []
    (await app.api(token, "GET", f"/webhook-events/{payment}")).ok()
    (await app.api(token, "GET", f"/webhook-events/{balance}")).refused("not_found", 404)
    (await app.api(token, "POST", f"/webhook-events/{withdrawal}/redeliver", {}, "k")).refused("not_found", 404)
    other = await connected(app, alice, "balances:read")
    (await app.api(other, "GET", "/events")).refused("missing_scope", 403)


async def connected(app: Application, merchant: Actor, scope: str) -> str:
    token: str = (await app.connect(merchant, scope, scope))["access_token"]
    return token


async def until_waiting(count: int) -> None:
    """Until so many requests wait in this process."""

    async def look() -> bool:
        return sum(len(one) for watch in feed_watch._WATCHES.values() for one in watch._waiting.values()) == count  # pyright: ignore[reportPrivateUsage]

    await eventually(look)


@pytest.mark.long
async def test_a_wait_ends_with_the_first_event(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    waiting = [asyncio.create_task(alice.get("/events?wait=30")) for _ in range(5)]
    filtered = asyncio.create_task(alice.get("/events?wait=30&types=payment.failed"))
    await until_waiting(6)
    [event_id] = await recorded(harness, "payment.succeeded")
    for answer in await asyncio.gather(*waiting):
        assert (ids(answer.ok().body), answer.body["next"]) == ([event_id], 1)
    await until_waiting(1)
    [failed] = await recorded(harness, "payment.failed")
    assert ids((await filtered).ok().body) == [failed]
    assert (await alice.get("/events?wait=1&after=2")).ok().body == {
        "feed_id": (await filtered).body["feed_id"], "events": [], "next": 2, "has_more": False,
    }  # fmt: skip


async def test_a_wait_ends_with_its_credential_and_its_client(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    key = await alice.key(scopes=["webhooks:read"])
    headers = {"X-API-Key": key}
    waiting = asyncio.create_task(alice.send("GET", "/api/v2/integration/events?wait=30", headers=headers))
    leaving = asyncio.create_task(alice.get("/events?wait=30"))
    await until_waiting(2)
    leaving.cancel()
    await until_waiting(1)
    await alice.sql("UPDATE api_keys SET revoked_at = now() WHERE key_hash = sha256($1::bytea)", key.encode())
    await recorded(harness, "payment.succeeded")
    (await waiting).refused("invalid_api_key", 401)


@pytest.mark.long
async def test_too_many_readers_of_a_credential_are_refused(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert FEED_READERS_PER_CREDENTIAL_MAX > 1
    monkeypatch.setattr(feed_watch, "FEED_READERS_PER_CREDENTIAL_MAX", 1)
    async with stream(alice) as first:
        await first.comment()
        refused = (await alice.get("/events?wait=30")).refused("rate_limited", 429)
        assert refused.headers["Retry-After"] == "5"
        (await alice.get("/events")).ok()  # without a wait it needs no place
    await until_waiting(0)
    (await alice.get("/events?wait=1")).ok()


class Stream:
    """A stream as a client reads it."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def block(self) -> dict[str, str]:
        """The next block, by field; a comment has the empty name."""
        fields: dict[str, str] = {}
        while True:
            line = (await self.response.content.readline()).decode()
            if line in {"", "\n"}:
                return fields
            name, _, value = line.rstrip("\n").partition(":")
            fields[name] = value.removeprefix(" ")

    async def comment(self) -> None:
        """The first block."""
        assert set(await self.block()) == {""}

    async def event(self) -> tuple[int, dict[str, Any]]:
        """The next event, and its position."""
        block = await self.block()
        assert set(block) == {"id", "data"}
        return int(block["id"]), msgspec.json.decode(block["data"])


@asynccontextmanager
async def stream(actor: Actor, query: str = "", **headers: str) -> AsyncIterator[Stream]:
    key = await actor.key()
    sent = {"X-API-Key": key, "Accept": "text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{actor.service.url}/api/v2/integration/events{query}", headers=sent) as response,
    ):
        yield Stream(response)


async def test_a_stream_has_each_event_once_and_resumes(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    made = await recorded(harness, *["payment.succeeded"] * 3)
    async with stream(alice, "?limit=2") as following:
        assert following.response.content_type == "text/event-stream"
        assert following.response.headers["Access-Control-Allow-Origin"] == "*"
        await following.comment()
        for number, event_id in enumerate(made, start=1):
            position, event = await following.event()
            assert (position, event["position"], event["id"]) == (number, number, event_id)
        made += await recorded(harness, "payment.failed")
        assert (await following.event())[1]["id"] == made[3]
    async with stream(alice, "?after=1", Last_Event_ID="3") as resumed:
        await resumed.comment()
        assert (await resumed.event())[1]["id"] == made[3]
    async with stream(alice, "?types=payment.failed&after=4") as filtered:
        await filtered.comment()
        await recorded(harness, "payment.succeeded")
        assert await filtered.block() == {"id": "5"}  # the reader moves on
    async with stream(alice, Last_Event_ID="x") as malformed:
        assert malformed.response.status == 422
    async with stream(alice, Last_Event_ID="99") as beyond:
        assert beyond.response.status == 409
    await until_waiting(0)


async def test_a_stream_ends_with_its_credential(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "CHECKED_EVERY_MS", 100)
    monkeypatch.setattr(feed, "KEPT_ALIVE_EVERY_MS", 200)
    async with stream(alice) as following:
        await following.comment()
        await following.comment()  # it is kept alive
        await alice.sql("UPDATE api_keys SET revoked_at = now() WHERE merchant_id = $1", alice.merchant_id)
        while (block := await following.block()) == {"": ""}:
            pass
        assert block["event"] == "error"
        assert msgspec.json.decode(block["data"])["error"] == "invalid_api_key"
        assert await following.response.content.read() == b""


async def test_positions_go_on_after_a_month_is_dropped(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    await recorded(harness, "payment.succeeded")
    (await alice.get("/events")).ok()
    assert (await alice.get("/events?after=1")).ok().body["events"] == []
    first = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    await drop_months_before(harness.services.db, first - timedelta(days=400))
    await partitions.create_missing(harness.services.db)
    assert len((await alice.get("/events")).ok().body["events"]) == 1
