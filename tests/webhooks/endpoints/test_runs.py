"""Sending all failed events again: the page that asks, the run that does it, and that it is done once."""

import asyncio
import re
from uuid import UUID, uuid4

import pytest
from aiohttp import web

from tests.cast import Actor, Answer
from tests.forms import forms, hidden, post, seen, signed_out
from tests.journeys.test_get_paid import activate_secret
from tests.payments.bank import sell
from tests.receiver import Receiver
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.endpoints.test_events import over
from tests.webhooks.events.harness import Harness
from tollhouse.kernel import clock
from tollhouse.webhooks.endpoints import runs

PING = "/test/developers/events/redeliver"
COUNTED = re.compile(r'<h2 id="found">([\d,]+) events?</h2>')
SENT = re.compile(r"([\d,]+) of ([\d,]+) events? resent")


async def failed(harness: Harness, receiver: Receiver, count: int, **facts: str) -> list[UUID]:
    """Events that the receiver did not take. From now on it takes everything."""

    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    receiver.answer = refuse
    made = [await harness.record(receiver.url, **facts) for _ in range(count)]
    for event_id in made:
        await harness.until(event_id, "failed")
    receiver.answer = None
    receiver.received.clear()
    return made


async def asked(actor: Actor, query: str = "") -> Answer:
    return (await actor.send("GET", f"{PING}{query}", headers={"Accept": "text/html"})).ok()


async def counted(actor: Actor, query: str = "") -> int:
    """How many events the page says there are."""
    found = COUNTED.search((await asked(actor, query)).text)
    assert found
    return int(found[1])


async def ended(actor: Actor, path: str) -> str:
    """The page of a run that is over."""
    async with asyncio.timeout(30):
        while "In progress" in (page := await seen(actor, path)):
            await asyncio.sleep(0.02)
    return page


@pytest.mark.long
async def test_all_that_failed_are_sent_again_once(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await activate_secret(alice)
    harness = await harness_of(alice)
    assert 'href="/test/developers/events/redeliver"' not in await seen(alice, "/test/developers/events")
    made = await failed(harness, receiver, 3)
    other = await failed(harness, receiver, 1, type="balance.updated")
    assert 'href="/test/developers/events/redeliver"' in await seen(alice, "/test/developers/events")
    assert (await counted(alice), await counted(alice, "?hours=1&type=balance.updated")) == (4, 1)
    form = hidden(await asked(alice, "?type=payment.succeeded"))
    responses = await asyncio.gather(*(post(alice, PING, 303, **form) for _ in range(3)))
    [path] = {answer.location for answer in responses}
    page = await ended(alice, path)
    assert SENT.findall(page) == [("3", "3")]
    for event_id in made:
        await over(harness, event_id, 2)
    assert (await post(alice, PING, 303, **form)).location == path
    assert (await harness.event(other[0]))["attempts"] == 1
    for event_id in made:
        assert [trigger for _, trigger, _ in await harness.history(event_id)] == ["automatic", "manual"]
    assert len(receiver.received) == 3
    assert (await counted(alice), await counted(alice, "?type=payment.succeeded")) == (1, 0)
    assert forms(await seen(alice, f"{PING}?type=payment.succeeded"))[0] != PING


async def test_a_run_goes_step_by_step_and_passes_over_what_it_cannot_send(
    alice: Actor, receiver: Receiver, harness_of: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "STEP", 2)
    await activate_secret(alice)
    harness = await harness_of(alice)
    made = await failed(harness, receiver, 5)
    form = hidden(await asked(alice))
    # What is told to be taken meanwhile is no failure any more; an event of a dropped month is not there at all.
    await harness.execute("UPDATE webhook_failures SET event_id = $2 WHERE event_id = $1", made[1], uuid4())
    await harness.execute("UPDATE webhook_events SET next_attempt_at = now() - interval '1 ms' WHERE id = $1", made[2])
    page = await ended(alice, (await post(alice, PING, 303, **form)).location)
    assert SENT.findall(page) == [("3", "5")]
    assert "2 events were skipped" in page
    assert (await harness.event(made[2]))["attempts"] == 1


@pytest.mark.long
async def test_one_run_at_a_time(
    alice: Actor, receiver: Receiver, harness_of: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    await activate_secret(alice)
    harness = await harness_of(alice)
    await failed(harness, receiver, 1)
    monkeypatch.setattr(runs, "run_step", _rest)
    first, second = hidden(await asked(alice)), hidden(await asked(alice))
    [path] = {(await post(alice, PING, 303, **form)).location for form in (first, second)}
    page = await seen(alice, PING)
    assert "Failed events are being resent." in page
    assert PING not in forms(page)
    assert "In progress" in await seen(alice, path)
    await post(alice, "/test/developers/webhooks/off")
    monkeypatch.undo()
    page = await ended(alice, path)
    assert "Stopped: delivery was turned off." in page
    assert SENT.findall(page) == [("0", "1")]


async def _rest(*_: object) -> bool:
    return False


async def test_what_is_refused(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await activate_secret(alice)
    harness = await harness_of(alice)
    await failed(harness, receiver, 1)
    form = hidden(await asked(alice))
    for changed in ({"key": "x"}, {"since": "x"}, {"since": "2020-01-01T00:00:00Z"}, {"type": "payment.imagined"}):
        assert "This form has expired" in (await post(alice, PING, 409, **form | changed)).text
    later = clock.stamp(clock.now().replace(year=2999))
    await post(alice, PING, 409, **form | {"since": later})
    await post(alice, "/test/developers/webhooks/off")
    refused = (await post(alice, PING, 409, **form)).text
    assert "Turn on delivery on the Webhooks page" in refused
    assert len(receiver.received) == 0
    for query in ("?hours=5", "?days=1"):
        await seen(alice, f"{PING}{query}", 422)


async def test_nobody_elses_run(alice: Actor, carol: Actor, receiver: Receiver, harness_of: Open) -> None:
    await activate_secret(alice)
    await failed(await harness_of(alice), receiver, 1)
    path = (await post(alice, PING, 303, **hidden(await asked(alice)))).location
    await ended(alice, path)
    assert await counted(carol) == 0
    await seen(carol, path, 404)
    await seen(alice, path.replace("/test/", "/live/"), 404)
    assert (await alice.anonymously("GET", PING)).ok(303).location == signed_out(PING)
    assert (await alice.anonymously("POST", PING)).ok(303).location.partition("?")[0] == "/signin"


async def test_what_will_be_resent_is_listed(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await activate_secret(alice)
    harness = await harness_of(alice)
    sold = await sell(alice, amount="12.50")
    [event] = await alice.sql(
        "SELECT id FROM webhook_events WHERE source_id = $1::uuid AND type = 'payment.succeeded'", sold["id"]
    )
    [other] = await failed(harness, receiver, 1)
    await alice.sql(
        "UPDATE webhook_events SET body = (SELECT body FROM webhook_events WHERE id = $1) WHERE id = $2", event["id"], other
    )
    page = (await asked(alice)).text
    rows = re.sub(r"<[^>]+>", " ", page.partition("<tbody")[2].partition("</tbody>")[0])
    assert f"{sold['id'][:8]}…{sold['id'][-4:]}" in rows
    assert "€12.50" in rows
    assert f'href="/test/developers/events/{other}"' in page
