"""The dashboard's pages about webhooks, as a browser without scripts gets and posts them."""

import asyncio
import html
import re
from uuid import uuid4

import pytest
from aiohttp import web

from tests.cast import Actor, Answer, sign_up
from tests.forms import forms, signed_out
from tests.journeys.test_get_paid import activate_secret
from tests.payments.bank import sell
from tests.receiver import Receiver
from tests.running import Service
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.endpoints.test_events import over
from tollhouse.webhooks.endpoints import model as labels
from tollhouse.webhooks.events.record import EVENT_TYPES

OWN = "http://127.0.0.1:1099/"
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/developers/events/([0-9a-f-]{36})">')
SECRET = re.compile(r'id="new-secret"[^>]* value="(whsec_[^"]+)"')
QUEUED = """
    INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at)
    SELECT id, merchant_id, mode, 0, at, at FROM webhook_events, (SELECT now() + interval '1 day' AS at) AS x WHERE id = $1
"""
PAGES = ("/test/developers/webhooks", "/live/developers/webhooks", "/test/developers/events", "/live/developers/events")


async def seen(actor: Actor, path: str, status: int = 200) -> str:
    return html.unescape((await actor.send("GET", path, headers={"Accept": "text/html"})).ok(status).text)


async def post(actor: Actor, path: str, status: int = 303, **fields: str) -> Answer:
    return (await actor.form(path, fields)).ok(status)


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the events that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/developers/events{query}"))


@pytest.mark.covers("W-75")
async def test_a_secret_is_generated_copied_and_saved(alice: Actor) -> None:
    base = "/test/developers/webhooks"
    assert "Send test event" not in await seen(alice, base)
    assert (await post(alice, f"{base}/secret/activate")).location == f"{base}?done=expired"
    assert "There is no secret to activate" in await seen(alice, f"{base}?done=expired")
    first = SECRET.findall((await post(alice, f"{base}/secret", 200)).text)
    [second] = SECRET.findall((await post(alice, f"{base}/secret", 200)).text)
    assert first != [second]
    left = await seen(alice, base)
    assert "has not been activated" in left
    assert second not in left
    assert (await post(alice, f"{base}/secret/activate")).location == f"{base}?done=saved"
    saved = await seen(alice, f"{base}?done=saved")
    assert "It signs all deliveries from now on" in saved
    assert "Send test event" in saved
    assert second not in saved
    assert "Generate secret" in await seen(alice, "/live/developers/webhooks")
    assert "<script>" not in await seen(alice, f"{base}?done=<script>")


async def test_a_test_is_sent_and_its_event_shown(alice: Actor, receiver: Receiver) -> None:
    await activate_secret(alice)
    at = (await post(alice, "/test/developers/webhooks/test", url=receiver.url)).location
    [got] = await receiver.wait()
    assert at.endswith(got.headers["X-Service-Event-Id"])
    async with asyncio.timeout(30):
        while "Delivered. The endpoint responded" not in (shown := await seen(alice, at)):
            await asyncio.sleep(0.02)
    assert got.body["created_at"] in shown
    assert "Resend event" in shown


async def test_every_type_can_be_tried(alice: Actor, receiver: Receiver) -> None:
    await activate_secret(alice)
    shown = await seen(alice, "/test/developers/webhooks")
    for kind in EVENT_TYPES:
        assert f'<option value="{kind}"' in shown
        await post(alice, "/test/developers/webhooks/test", url=receiver.url, type=kind)
        [got] = await receiver.wait(kind)
        assert (got.body["type"], got.body["livemode"], got.body["data"]["test"]) == (kind, False, True)
        assert got.body["data"]["object"]
        assert len(got.headers["X-Service-Signature"]) == 64
    refused = (await post(alice, "/test/developers/webhooks/test", 422, url=receiver.url, type="payment.imagined")).text
    assert 'aria-invalid="true"' in refused


async def test_live_mode_sends_no_made_up_events(alice: Actor) -> None:
    await activate_secret(alice, mode="live")
    assert '<option value="payment.succeeded"' not in await seen(alice, "/live/developers/webhooks")
    sent = {"url": "https://shop.example/hook", "type": "payment.succeeded"}
    await post(alice, "/live/developers/webhooks/test", 422, **sent)
    assert await rows(alice, mode="live") == []


async def test_an_event_shows_what_was_sent_and_answered(alice: Actor, receiver: Receiver) -> None:
    async def respond(_: web.Request) -> web.Response:
        headers = {"Set-Cookie": "session=abc", "Server": "Harbour/1"}
        return web.Response(status=500, text="<b>No stock</b> token=abcdef " + "x" * 9_000, headers=headers)

    receiver.answer = respond
    await activate_secret(alice)
    at = (await post(alice, "/test/developers/webhooks/test", url=receiver.url)).location
    async with asyncio.timeout(30):
        while "Request and response of attempt 1" not in await seen(alice, at):
            await asyncio.sleep(0.02)
    raw = (await alice.send("GET", at)).ok().text
    [got] = receiver.received
    assert f"X-Service-Event-Id: {got.headers['X-Service-Event-Id']}" in raw
    assert f"webhook-timestamp: {got.headers['webhook-timestamp']}" in raw
    assert got.headers["X-Service-Signature"] not in raw
    assert "X-Service-Signature: [redacted]" in raw
    assert "HTTP 500" in raw
    assert "server: Harbour/1" in raw
    assert "&lt;b&gt;No stock&lt;/b&gt; token=[redacted] xxx" in raw
    assert "session=abc" not in raw
    assert raw.count("x" * 4_000) == 1
    assert "x" * 4_096 not in raw


async def test_refused_tests_keep_what_was_typed(alice: Actor) -> None:
    refused = (await post(alice, "/test/developers/webhooks/test", 409, url=OWN)).text
    assert "no active webhook signing secret" in refused
    await activate_secret(alice)
    refused = (await post(alice, "/test/developers/webhooks/test", 422, url="ftp://host/")).text
    assert 'value="ftp://host/"' in refused
    assert 'aria-invalid="true"' in refused
    assert (await post(alice, "/test/developers/webhooks/test", 422)).text
    assert await rows(alice) == []


async def test_too_many_tests(limited: Service) -> None:
    async with sign_up(limited, "erin", "Erin's Easels") as erin:
        await activate_secret(erin)
        for _ in range(2):
            await post(erin, "/test/developers/webhooks/test", url="http://example.com/")
        answer = await post(erin, "/test/developers/webhooks/test", 429, url="http://example.com/")
        assert int(answer.headers["Retry-After"]) >= 1


async def test_events_are_listed_filtered_and_paged(alice: Actor, harness_of: Open) -> None:
    assert "No events in the test environment yet" in await seen(alice, "/test/developers/events")
    harness = await harness_of(alice)
    ids = [str(await harness.record(None, type=kind)) for kind in ["payment.succeeded", "balance.updated"] * 12]
    held = str(await harness.record(OWN))
    ids = [held, *ids[::-1]]
    assert await rows(alice) == ids[:20]
    first = await seen(alice, "/test/developers/events")
    assert 'href="?page=2"' in first
    assert "Newer" not in first
    assert await rows(alice, "?page=2") == ids[20:]
    assert await rows(alice, "?status=held") == [held]
    assert await rows(alice, "?status=&type=balance.updated") == ids[1::2]
    assert await rows(alice, "?status=skipped&type=payment.succeeded") == ids[2::2]
    second = await seen(alice, "/test/developers/events?status=skipped&type=&page=2&limit=20")
    assert 'href="?status=skipped&page=1"' in second
    for query in ("?status=nonsense", "?type=payment.imagined", "?status=failed"):
        assert "No events match these filters." in await seen(alice, f"/test/developers/events{query}")
    assert "Page 9 has no entries." in await seen(alice, "/test/developers/events?page=9")
    for query in ("?page=0", "?page=x", "?state=held", "?status=a&status=b"):
        await seen(alice, f"/test/developers/events{query}", 422)
    assert await rows(alice, mode="live") == []


async def test_two_clicks_send_once(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await activate_secret(alice)
    harness = await harness_of(alice)
    event_id = await harness.record(receiver.url)
    await over(harness, event_id, 1)
    path = f"/test/developers/events/{event_id}"
    clicked = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await clicked.wait()
        return web.Response()

    receiver.answer = answer
    clicks = await asyncio.gather(*(post(alice, f"{path}/redeliver") for _ in range(5)))
    assert {click.location for click in clicks} == {path}
    shown = await seen(alice, path)
    assert "<dd>1 of 1</dd>" in shown
    assert "An attempt is in progress" in shown
    assert "Resend event" not in shown
    clicked.set()
    await over(harness, event_id, 2)
    assert await harness.delivery(event_id) is None
    assert len(receiver.received) == 2


async def test_refused_redeliveries_say_what_to_do(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    held, nowhere = [f"/test/developers/events/{await harness.record(url)}" for url in (OWN, None)]
    assert "Activate a signing secret on the Webhooks page" in (await post(alice, f"{held}/redeliver", 409)).text
    assert "had no webhook_url" in (await post(alice, f"{nowhere}/redeliver", 409)).text
    await post(alice, "/test/developers/webhooks/off")
    assert "delivery was turned off, or no signing secret" in await seen(alice, held)
    assert "Turn on delivery on the Webhooks page" in (await post(alice, f"{held}/redeliver", 409)).text
    assert "Turn on delivery to send test events" not in await seen(alice, "/live/developers/webhooks")
    await post(alice, "/test/developers/webhooks/on")
    assert "Turn off delivery" in await seen(alice, "/test/developers/webhooks?done=on")


async def test_every_state_and_error_has_its_words(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    event_id = await harness.record(None)
    statuses = sorted(labels.STATUSES, key="skipped".__eq__)  # which it is in truth, and is again at the end
    for status in statuses:
        moved = "UPDATE webhook_events SET status = $2, delivered_at = CASE $2 WHEN 'delivered' THEN now() END WHERE id = $1"
        await harness.execute(moved, event_id, status)
        assert str(labels.describe_status(status, None)) in await seen(alice, f"/test/developers/events/{event_id}")
        if status == "pending":
            await harness.execute(QUEUED, event_id)
        assert await rows(alice, f"?status={status}") == [str(event_id)]
        await harness.execute("DELETE FROM webhook_deliveries WHERE event_id = $1", event_id)


async def test_what_an_event_holds_is_text(alice: Actor, harness_of: Open) -> None:
    event_id = await (await harness_of(alice)).record(None, object={"note": "</pre><script>alert(1)</script>"})
    raw = (await alice.send("GET", f"/test/developers/events/{event_id}")).ok().text
    assert "<script>" not in raw
    assert "&lt;script&gt;" in raw


async def test_the_source_address_is_shown(limited: Service) -> None:
    async with sign_up(limited, "erin", "Erin's Easels") as erin:
        assert "<code>127.0.0.1</code>" in await seen(erin, "/live/developers/webhooks")


async def test_nobody_elses(alice: Actor, mallory: Actor, harness_of: Open) -> None:
    event_id = await (await harness_of(alice)).record(OWN)
    for actor, mode in ((mallory, "test"), (alice, "live")):
        await seen(actor, f"/{mode}/developers/events/{event_id}", 404)
        await post(actor, f"/{mode}/developers/events/{event_id}/redeliver", 404)
        assert await rows(actor, mode=mode) == []
    for path in (f"/test/developers/events/{uuid4()}", "/test/developers/events/1", "/prod/developers/events"):
        await seen(alice, path, 404)
    await seen(alice, "/prod/developers/webhooks", 404)


async def test_a_session_is_needed_and_our_own_form(alice: Actor) -> None:
    for path in PAGES:
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
    foreign = {"Sec-Fetch-Site": "cross-site"}
    for action in ("secret", "secret/activate", "on", "off", "test"):
        path = f"/test/developers/webhooks/{action}"
        assert (await alice.anonymously("POST", path)).ok(303).location.partition("?")[0] == "/signin"
        (await alice.send("POST", path, data={"url": OWN}, headers=foreign)).refused("cross_origin_forbidden", 403)
    assert (await alice.dashboard("GET", "/webhook-secret?mode=test")).ok().body["pending"] is False


async def test_a_suspended_merchant_may_look_only(alice: Actor, harness_of: Open) -> None:
    event_id = await (await harness_of(alice)).record(OWN)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1", alice.merchant_id)
    for path in (*PAGES, f"/test/developers/events/{event_id}"):
        shown = await seen(alice, path)
        assert forms(shown) == ["/signout"]
    for action in ("webhooks/secret", "webhooks/secret/activate", "webhooks/on", "webhooks/off", "webhooks/test"):
        await post(alice, f"/test/developers/{action}", 403, url=OWN)
    await post(alice, f"/test/developers/events/{event_id}/redeliver", 403)
    for action in ("generate", "activate"):
        (await alice.dashboard("POST", f"/webhook-secret/{action}", {"mode": "test"})).refused("account_suspended", 403)
    (await alice.dashboard("GET", "/webhook-secret?mode=test")).ok()


async def test_rows_say_what_they_are_about(alice: Actor) -> None:
    sold = await sell(alice, amount="12.50")
    shown = await seen(alice, "/test/developers/events?type=payment.succeeded")
    row = re.sub(r"<[^>]+>", " ", shown.partition("<tbody")[2].partition("</tr>")[0])
    assert "Payment" in row
    assert f"{sold['id'][:8]}…{sold['id'][-4:]}" in row
    assert "€12.50" in row


async def test_a_skipped_event_says_why(alice: Actor) -> None:
    await sell(alice)
    [event, *_] = (await alice.get("/webhook-events?status=skipped")).ok().body["webhook_events"]
    assert labels.NO_DESTINATION in await seen(alice, f"/test/developers/events/{event['id']}")
    assert labels.describe_status("skipped", "https://shop.example/hook") == labels.DELIVERY_OFF


@pytest.mark.parametrize("path", ["/test/developers/events?type=payment.succeeded", "/test/developers/requests?method=POST"])
async def test_a_filter_is_not_what_was_searched(alice: Actor, path: str) -> None:
    await sell(alice)
    page = await seen(alice, path)
    assert 'name="q" type="search" value=""' in page
