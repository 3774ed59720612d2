"""What operators see of the house: its workers and books, and the deliveries that fail."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from aiohttp import web

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.bank import until
from tests.payments.shop import open_link, pay
from tests.receiver import Receiver
from tests.running import Service, settings_for
from tollhouse.http.labels import span
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.database import embedded
from tollhouse.pages.console import jobs
from tollhouse.pages.console.overview import size

FAILURES = "SELECT f.* FROM webhook_failures f WHERE f.merchant_id = $1::uuid"


@pytest.fixture(scope="module")
def alone(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, which would check the books and give signs of life between two steps of a test."""
    with Service(settings_for(server.cluster.dsn, fresh=True, TOLLHOUSE_SIGNUP="closed"), worker=False) as running:
        yield running


@pytest.fixture
async def otto(alone: Service) -> AsyncIterator[Actor]:
    """Otto runs that house."""
    async with signed_in_operator(alone, "otto") as actor:
        yield actor


async def overview(actor: Actor) -> str:
    """The page, with its white space as it is seen."""
    return " ".join((await actor.send("GET", "/operator")).ok().text.split())


async def test_the_overview_shows_the_state_of_the_service(otto: Actor, alone: Service) -> None:
    services = alone.create_services(connections=1)
    try:
        await jobs.record_heartbeat(services)
        report = await check(alone.dsn, Scope())
        assert report is not None
        await jobs.record_check(services, report.broken)
    finally:
        await services.db.close()
    shown = await overview(otto)
    for words in ("1 running", "No errors", "0 due", "PostgreSQL", ".sql", jobs.VERSION):
        assert words in shown, words
    assert "Broken" not in shown


async def test_a_worker_that_is_silent_is_missed(otto: Actor, alone: Service) -> None:
    services = alone.create_services(connections=1)
    try:
        await jobs.record_heartbeat(services)
    finally:
        await services.db.close()
    await otto.sql("UPDATE worker_signs SET last_seen_at = now() - interval '3 minutes'")
    try:
        shown = await overview(otto)
        assert "Stopped</span>" in shown
        assert "3 minutes ago" in shown
    finally:
        await otto.sql("DELETE FROM worker_signs")


async def test_broken_books_are_seen_at_once(otto: Actor) -> None:
    keep = (
        "INSERT INTO invariant_watch VALUES (true, now(), $1) ON CONFLICT (the_last) DO UPDATE SET broken = excluded.broken"
    )
    await otto.sql(keep, ["I-7 <nothing> adds up"])
    shown = await overview(otto)
    assert "1 broken" in shown
    assert "I-7 &lt;nothing&gt; adds up" in shown
    await otto.sql(keep, [])
    assert "1 broken" not in await overview(otto)


async def test_a_check_that_could_not_finish_is_seen_beside_the_last_that_did(otto: Actor, alone: Service) -> None:
    services = alone.create_services(connections=1)
    try:
        await jobs.record_check(services, [])
        await jobs.record_failed_check(services, "QueryCanceledError: <too long>")
        shown = await overview(otto)
        for words in ("Could not finish", "Last check finished", "QueryCanceledError: &lt;too long&gt;"):
            assert words in shown, words
        assert "All hold" not in shown
        await jobs.record_check(services, ["I2 broken"])
        await jobs.record_failed_check(services, "gone")
        shown = await overview(otto)
        assert "1 broken" in shown
        assert "gone" in shown
        await jobs.record_check(services, [])
        assert "Could not finish" not in await overview(otto)
    finally:
        await services.db.close()


async def test_the_database_keeps_one_last_look(otto: Actor, alone: Service) -> None:
    services = alone.create_services(connections=1)
    try:
        for broken in (["first"], ["second"]):
            await jobs.record_check(services, broken)
        await jobs.record_check(services, [])
    finally:
        await services.db.close()
    assert [row["broken"] for row in await otto.sql("SELECT broken FROM invariant_watch")] == [[]]


async def test_a_failed_delivery_is_seen_until_it_arrives(olga: Actor, alice: Actor, receiver: Receiver) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=503)

    (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    receiver.answer = refuse
    event_id = (await alice.post("/webhook/test", {"url": f"{receiver.url}?token=secret-of-alice"})).ok(202).body["id"]
    await until(alice, f"/webhook-events/{event_id}", "failed")
    page = f"/operator/deliveries/{alice.merchant_id}/test"
    shown = (await olga.send("GET", page)).ok().text
    for words in (event_id, "webhook.test", "503", "127.0.0.1", "Failed</span>"):
        assert words in shown, words
    assert "secret-of-alice" not in shown
    assert page in await all_deliveries(olga)
    assert "No failing deliveries" in (await olga.send("GET", page.replace("/test", "/live"))).ok().text
    receiver.answer = None
    (await alice.post(f"/webhook-events/{event_id}/redeliver", key=event_id)).ok(202)
    await until(alice, f"/webhook-events/{event_id}", "delivered")
    assert await alice.sql(FAILURES, alice.merchant_id) == []
    assert event_id not in (await olga.send("GET", page)).ok().text


async def test_held_and_retried_events_are_seen_too(olga: Actor, alice: Actor, receiver: Receiver) -> None:
    await pay(await open_link(alice, webhook_url=receiver.url))
    page = f"/operator/deliveries/{alice.merchant_id}/test"
    shown = (await olga.send("GET", page)).ok().text
    assert "payment.succeeded" in shown
    assert "Held</span>" in shown
    assert page in await all_deliveries(olga)
    mine = "WHERE merchant_id = $1::uuid"
    later = "now() + interval '1 day'"
    await alice.sql(
        f"WITH free AS (UPDATE webhook_deliveries_later SET held = false, tries = 1, run_at = {later} {mine})"  # noqa: S608
        f" UPDATE webhook_events SET status = 'retrying', next_attempt_at = {later} {mine} AND status = 'held'",
        alice.merchant_id,
    )
    shown = (await olga.send("GET", page)).ok().text
    assert "Retrying</span>" in shown
    assert page in await all_deliveries(olga)


async def test_what_failed_long_ago_is_not_held_against_anybody(
    olga: Actor, alice: Actor, receiver: Receiver, service: Service
) -> None:
    await pay(await open_link(alice, webhook_url=receiver.url))
    mine = "WHERE merchant_id = $1::uuid"
    await alice.sql(f"DELETE FROM webhook_deliveries_later {mine}", alice.merchant_id)  # noqa: S608
    await alice.sql(f"UPDATE webhook_events SET status = 'failed' {mine} AND status = 'held'", alice.merchant_id)  # noqa: S608
    page = f"/operator/deliveries/{alice.merchant_id}/test"
    assert "payment.succeeded" in (await olga.send("GET", page)).ok().text
    await alice.sql(f"UPDATE webhook_failures SET failed_at = now() - interval '7 days 1 second' {mine}", alice.merchant_id)  # noqa: S608
    assert "payment.succeeded" not in (await olga.send("GET", page)).ok().text
    services = service.create_services(connections=1)
    try:
        await jobs.delete_old_failures(services)
    finally:
        await services.db.close()
    assert await alice.sql(FAILURES, alice.merchant_id) == []


async def all_deliveries(actor: Actor) -> str:
    """The list of merchants, whole."""
    return (await actor.send("GET", "/operator/deliveries?limit=100")).ok().text


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (timedelta(seconds=-3), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(seconds=119), "1 minute"),
        (timedelta(hours=23, minutes=59), "23 hours"),
        (timedelta(days=2), "2 days"),
    ],
)
def test_how_long_ago_is_said_in_words(time: timedelta, words: str) -> None:
    assert str(span(time)) == words


def test_a_size_is_said_in_words() -> None:
    assert (size(8_600_000), size(1_250_000_000)) == ("8 MB", "1.2 GB")
