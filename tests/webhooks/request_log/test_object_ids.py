"""The line of a request in the log names the objects that it made or changed, and a line of a delivery its request."""

import asyncio
import time
from typing import Any
from uuid import uuid4

from aiohttp import web
from structlog.testing import capture_logs

from tests.cast import INTEGRATION, Actor
from tests.forms import seen
from tests.payments.shop import choose, open_link
from tests.receiver import Receiver
from tests.webhooks.request_log.reading import written
from tollhouse.kernel.ids import new_id, new_id_text
from tollhouse.platform.log import changed_objects

WITHIN_S = 30


def answered(lines: list[Any], path: str) -> list[Any]:
    """The lines of requests to this route."""
    return [line for line in lines if line["event"] == "answered" and path in line["route"]]


async def test_the_line_of_a_request_names_its_objects(alice: Actor) -> None:
    chosen = new_id_text()
    with capture_logs() as lines:
        link = await open_link(alice)
        payment = (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})).ok().body["id"]
        refund = (
            (await alice.post(f"/transactions/{payment}/refunds", {"amount": "1.00"}, key=str(uuid4()))).ok(201).body["id"]
        )
        too_much = await alice.post(f"/transactions/{payment}/refunds", {"amount": "100.00"}, key=str(uuid4()))
        assert too_much.status == 422
        (await alice.get(f"/transactions/{payment}")).ok()
        other = await open_link(alice)
        visited = (await choose(other)).ok(303).query["payment"]
        headers = {"X-API-Key": await alice.key(), "X-Request-Id": chosen}
        await alice.anonymously("GET", f"{INTEGRATION}/balances", headers=headers)
    made, simulated, returned, refused = (line["object_ids"] for line in (
        *answered(lines, "/integration/payment-links")[:1], *answered(lines, "/simulate"), *answered(lines, "/refunds")
    ))  # fmt: skip
    assert made == [link["id"]]
    assert set(simulated) == {payment, link["id"]}
    assert {payment, refund} <= set(returned)
    assert refused == [payment]
    [read] = answered(lines, "/integration/transactions/{transaction_id}")[2:]
    assert read["object_ids"] is None
    [chose] = answered(lines, "/method")
    assert {visited, other["id"]} <= set(chose["object_ids"])
    [balances] = answered(lines, "/integration/balances")
    assert balances["server_request_id"] != chosen
    assert chose["server_request_id"] is None


async def test_a_failed_delivery_names_the_request_that_caused_it(alice: Actor, receiver: Receiver) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    receiver.answer = answer
    for step in ("generate", "activate"):
        (await alice.dashboard("POST", f"/webhook-secret/{step}", {"mode": "test"})).ok()
    link = await open_link(alice, webhook_url=receiver.url)
    with capture_logs() as lines:
        simulated = await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})
        until = time.monotonic() + WITHIN_S
        mine = {str(row["id"]) for row in await alice.sql(EVENTS, alice.merchant_id)}
        while not (failed := [line for line in lines if line.get("event_id") in mine and line["event"] == "attempt_failed"]):
            assert time.monotonic() < until
            await asyncio.sleep(0.02)
    request_id = simulated.ok().headers["X-Request-Id"]
    assert {line["request_id"] for line in failed} == {request_id}
    [event, *_] = [line["event_id"] for line in failed]
    await written(alice, 2)
    page = await seen(alice, f"/test/developers/events/{event}")
    assert f"<code data-copy>{request_id}</code>" in page
    assert f'href="/test/developers/requests/{request_id}">POST /test/payment-links/{link["id"]}/simulate</a>' in page
    shown = (await alice.get(f"/webhook-events/{event}")).ok().body
    assert request_id not in str(shown)


async def test_what_a_job_records_has_no_request(alice: Actor) -> None:
    link = await open_link(alice)
    await alice.sql("UPDATE payment_links SET expires_at = now() WHERE id = $1::uuid", link["id"])
    until = time.monotonic() + WITHIN_S
    while not (rows := await alice.sql(EVENTS, alice.merchant_id)):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    assert [row["request_id"] for row in rows] == [None]
    page = await seen(alice, f"/test/developers/events/{rows[0]['id']}")
    assert "Request ID" not in page


EVENTS = "SELECT id, request_id FROM webhook_events WHERE merchant_id = $1::uuid"


def test_what_was_rolled_back_is_forgotten() -> None:
    first, second = new_id(), new_id()
    changed_objects.note(first)
    assert list(changed_objects.noted()) == []
    changed_objects.start()
    changed_objects.note(first)
    changed_objects.note(second)
    changed_objects.keep_first(1)
    assert list(changed_objects.noted()) == [first]
