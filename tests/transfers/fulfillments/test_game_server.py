"""The live rail: a signed grant to a game server, whose answer is one of three, and which is never charged twice."""

import asyncio
import hashlib
import hmac
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from tests.cast import suspend
from tests.receiver import Receiver
from tests.running import CATALOGUE
from tests.transfers.fulfillments.depot import SECRET, Depot
from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.transfers.fulfillments import jobs
from tollhouse.transfers.fulfillments.jobs import retry_delay


def responses(status: int, body: Any) -> Any:
    """A game server that always says this."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


async def test_delivered(depot: Depot, quest: Receiver) -> None:
    quest.answer = responses(201, {"reference": "q-1"})
    ordered = await depot.order_gold()
    assert await depot.live_purse() == (950, 50)
    done = await depot.done(ordered)
    assert (done["status"], done["provider_reference"], done["attempts"]) == ("completed", "q-1", 1)
    assert await depot.live_purse() == (950, 0)
    [grant] = quest.received
    assert grant.body == {
        "fulfillment_id": ordered["id"],
        "product_id": "quest:gold",
        "quantity": 5,
        "recipient": {"player_id": "p-1"},
        "livemode": True,
        "attempt": 1,
    }
    at = grant.headers["X-Grant-Timestamp"]
    expected = hmac.new(SECRET, at.encode() + b"." + grant.raw, hashlib.sha256).hexdigest()
    assert grant.headers["X-Grant-Signature"] == expected


async def test_nothing_of_a_suspended_merchant_is_delivered(depot: Depot, quest: Receiver) -> None:
    """Neither what waits nor what is asked for again; after the reactivation, both are."""
    quest.answer = responses(500, {})
    tried = await depot.order_gold()
    await depot.work()
    assert len(quest.received) == 1
    waits = await depot.order_gold()
    await suspend(depot.actor)
    quest.answer = responses(201, {"reference": "q-1"})
    await make_due(depot, tried)
    await depot.work()
    assert len(quest.received) == 1
    with pytest.raises(asyncpg.CheckViolationError, match="suspended merchant"):
        await depot.actor.sql(
            "UPDATE fulfillments SET status = 'processing', attempts = 1, processing_at = now() WHERE id = $1::uuid",
            waits["id"],
        )
    await suspend(depot.actor, suspended=False)
    await depot.work()
    assert sorted(grant.body["fulfillment_id"] for grant in quest.received) == sorted(
        [tried["id"], tried["id"], waits["id"]]
    )
    assert {(await depot.read(one))["status"] for one in (tried, waits)} == {"completed"}


async def make_due(depot: Depot, ordered: dict[str, Any]) -> None:
    """Let the next attempt be due."""
    await depot.actor.sql("UPDATE fulfillments SET next_look_at = now() WHERE id = $1::uuid", ordered["id"])


async def test_delivered_in_part(depot: Depot, quest: Receiver) -> None:
    quest.answer = responses(200, {"reference": "q-1", "delivered_quantity": 2})
    part = await depot.done(await depot.order_gold())
    assert (part["status"], part["charged_minor"], await depot.live_purse()) == ("partially_completed", 20, (980, 0))


async def test_refused(depot: Depot, quest: Receiver) -> None:
    quest.answer = responses(404, {"error": "unknown_player"})
    failed = await depot.done(await depot.order_gold())
    assert (failed["status"], failed["failure_code"], await depot.live_purse()) == ("failed", "unknown_player", (1_000, 0))


@pytest.mark.covers("P-145")
async def test_a_lost_answer_is_asked_for_again(depot: Depot, quest: Receiver) -> None:
    """The server delivers and dies before it has answered; asked again under the same id it tells what it did."""
    delivered: dict[str, int] = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        grant = quest.received[-1].body
        first = grant["fulfillment_id"] not in delivered
        delivered.setdefault(grant["fulfillment_id"], grant["quantity"])
        if first and request.transport is not None:
            request.transport.abort()
        return web.json_response({"reference": "q-1"})

    quest.answer = answer
    ordered = await depot.order_gold()
    unheard = await depot.done(ordered)
    assert (unheard["status"], await depot.live_purse()) == ("processing", (950, 50))
    (await depot.cancel(ordered)).refused("invalid_state", 409)
    done = await depot.done(ordered)
    assert (done["status"], done["attempts"], await depot.live_purse()) == ("completed", 2, (950, 0))
    assert delivered == {ordered["id"]: 5}
    assert [(grant.body["fulfillment_id"], grant.body["attempt"]) for grant in quest.received] == [
        (ordered["id"], 1),
        (ordered["id"], 2),
    ]


async def test_a_worker_that_dies_after_asking(depot: Depot, quest: Receiver) -> None:
    """What was asked for and not written down is asked for again, and charged once."""
    quest.answer = responses(200, {"reference": "q-1"})
    ordered = await depot.order_gold()
    asked = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        asked.set()
        await asyncio.sleep(30)
        raise AssertionError("nobody waits so long")

    quest.answer = hang
    worker = asyncio.create_task(depot.work())
    await asked.wait()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    assert ((await depot.read(ordered))["status"], await depot.live_purse()) == ("processing", (950, 50))
    quest.answer = responses(200, {"reference": "q-1"})
    assert ((await depot.done(ordered))["status"], await depot.live_purse()) == ("completed", (950, 0))


async def test_a_server_that_is_gone_keeps_the_money_on_hold(
    depot: Depot, quest: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = await depot.order_gold()
    with monkeypatch.context() as patch:
        patch.delitem(CATALOGUE.game_servers, "quest")
        assert ((await depot.done(ordered))["status"], await depot.live_purse()) == ("processing", (950, 50))
    quest.answer = responses(200, {"reference": "q-1"})
    assert (await depot.done(ordered))["status"] == "completed"


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, b'{"reference": "r"}', GrantAnswer(outcome="granted", reference="r", delivered_quantity=5)),
        (200, b'{"reference": "r", "more": 1}', GrantAnswer(outcome="granted", reference="r", delivered_quantity=5)),
        (
            200,
            b'{"reference": "r", "delivered_quantity": 1}',
            GrantAnswer(outcome="granted", reference="r", delivered_quantity=1),
        ),
        (200, b'{"reference": "r", "delivered_quantity": 0}', UNKNOWN),
        (200, b'{"reference": "r", "delivered_quantity": 6}', UNKNOWN),
        (200, b'{"reference": "r", "delivered_quantity": -1}', UNKNOWN),
        (200, b'{"reference": "r", "delivered_quantity": "5"}', UNKNOWN),
        (200, b'{"reference": ""}', UNKNOWN),
        (200, b'{"reference": "\\n"}', UNKNOWN),
        (200, b'{"reference": 7}', UNKNOWN),
        (200, b'{"error": "unknown_player"}', UNKNOWN),
        (200, b"", UNKNOWN),
        (200, b"\xff", UNKNOWN),
        (200, b'{"reference": "' + b"r" * 256 + b'"}', UNKNOWN),
        (400, b'{"error": "unknown_player"}', GrantAnswer(outcome="refused", failure_code="unknown_player")),
        (403, b'{"error": "banned"}', GrantAnswer(outcome="refused", failure_code="banned")),
        (422, b'{"error": "Out of stock!"}', GrantAnswer(outcome="refused", failure_code="refused")),
        (404, b"not found", UNKNOWN),
        (404, b'{"error": ""}', UNKNOWN),
        (401, b'{"error": "bad_signature"}', UNKNOWN),
        (408, b'{"error": "timeout"}', UNKNOWN),
        (425, b'{"error": "too_early"}', UNKNOWN),
        (429, b'{"error": "slow_down"}', UNKNOWN),
        (302, b'{"error": "elsewhere"}', UNKNOWN),
        (500, b'{"error": "oops"}', UNKNOWN),
        (503, b'{"reference": "r"}', UNKNOWN),
        (None, b"", UNKNOWN),
    ],
)  # fmt: skip
def test_what_an_answer_says(status: int | None, body: bytes, outcome: GrantAnswer) -> None:
    good = status is not None and 200 <= status <= 299
    assert jobs.read(Outcome(None if good else "x", status, 1, body=body), 5) == outcome


def test_the_waits_grow() -> None:
    waits = [retry_delay(attempts).total_seconds() for attempts in range(1, 12)]
    assert waits[:4] == [5, 10, 20, 40]
    assert waits == sorted(waits)
    assert waits[-1] == 3_600
