"""Notifications: one email for each person and occasion, in the transaction of what happened, unless the topic is off."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec

from tests.cast import Actor, application
from tests.forms import post, seen
from tests.pages.console.commands import operator
from tests.running import Service
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.webhooks.delivery import jobs


async def mails(actor: Actor) -> list[tuple[str, dict[str, Any]]]:
    """The notifications to this person: kind and values."""
    rows = await actor.sql(
        "SELECT m.about, m.facts::text AS facts FROM mails m JOIN users u ON u.id = m.user_id "
        "WHERE u.merchant_id = $1::uuid AND m.occasion IS NOT NULL ORDER BY m.created_at, m.id",
        actor.merchant_id,
    )
    return [(row["about"], msgspec.json.decode(row["facts"])) for row in rows]


async def in_review(actor: Actor) -> str:
    """A live project that waits for an operator."""
    body = {"name": "Night Owls", "mode": "live"}
    return (await actor.dashboard("POST", "/projects", body)).ok(201).body["id"]


async def test_decisions_about_projects_are_sent_with_the_reason(alice: Actor, service: Service) -> None:
    project_id = await in_review(alice)
    for words in (("reject", project_id, "--reason", "No imprint"), ("approve", project_id)):
        assert (await operator(service, "projects", *words)).status == 0
    await alice.dashboard("PUT", f"/projects/{project_id}", {"name": "Day Owls"})
    assert (await operator(service, "projects", "reject-changes", project_id, "--reason", "Why")).status == 0
    about = {"merchant": alice.merchant_id, "business": "Alice's Coffee", "mode": "live", "subject": project_id}
    assert await mails(alice) == [
        ("project_rejected", about | {"name": "Night Owls", "reason": "No imprint"}),
        ("project_approved", about | {"name": "Night Owls"}),
        ("project_changes_rejected", about | {"name": "Night Owls", "reason": "Why"}),
    ]


async def test_a_kind_that_is_off_is_not_sent_but_is_in_the_inbox(alice: Actor, service: Service) -> None:
    assert 'value="never" selected' not in await seen(alice, "/settings/notifications")
    await post(alice, "/settings/notifications", project_reviewed="never", webhooks_failing="nonsense", new_device="never")
    page = await seen(alice, "/settings/notifications")
    assert page.count('value="never" selected') == 1
    assert (await operator(service, "projects", "approve", await in_review(alice))).status == 0
    assert await mails(alice) == []
    assert "Project approved: Night Owls" in await seen(alice, "/live/notifications")


async def test_an_occasion_is_sent_once_however_many_workers_report_it(alice: Actor, services: Services) -> None:
    env = MerchantEnv(MerchantId(alice.merchant_id), "live")  # pyright: ignore[reportArgumentType]

    async def report() -> None:
        failed = Occurrence(env, "one", NoticeFacts(amount="1", currency="EUR"))
        await services.transact(lambda work: notify_members(work, "refund_failed", failed), clock.now())

    await asyncio.gather(*(report() for _ in range(5)))
    assert [kind for kind, _ in await mails(alice)] == ["refund_failed"]


async def test_test_mode_sends_nothing(alice: Actor, services: Services) -> None:
    env = MerchantEnv(MerchantId(alice.merchant_id), "test")  # pyright: ignore[reportArgumentType]
    failed = Occurrence(env, "one", NoticeFacts(amount="1", currency="EUR"))
    await services.transact(lambda work: notify_members(work, "refund_failed", failed), clock.now())
    assert await mails(alice) == []


async def test_connections_are_sent_in_whatever_way_they_end(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    grants = f"/oauth/clients/{app.client_id}/connections"
    await app.connect(alice, "payments:read", mode="live")
    (await bob.dashboard("DELETE", grants)).ok()
    await app.connect(alice, "payments:read", mode="live")
    [connected] = [
        connection
        for connection in (await bob.dashboard("GET", grants)).ok().body["connections"]
        if connection["status"] == "active"
    ]
    (await alice.dashboard("DELETE", f"/oauth/grants/{connected['grant_id']}")).ok()
    tokens = await app.connect(alice, "payments:read", mode="live")
    (await app.revoke(tokens["access_token"])).ok()
    await app.connect(alice, "payments:read", mode="test")
    kinds = [kind for kind, _ in await mails(alice)]
    assert sorted(kinds) == ["application_connected"] * 3 + ["application_disconnected"] * 3


async def test_webhooks_that_fail_for_an_hour_are_sent_once_a_day(alice: Actor, carol: Actor, services: Services) -> None:
    insert = (
        "INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at) "
        "VALUES (gen_random_uuid(), $1::uuid, 'live', 'retrying', now() - $2::interval)"
    )
    await alice.sql(insert, alice.merchant_id, timedelta(minutes=61))
    await carol.sql(insert, carol.merchant_id, timedelta(minutes=1))
    await asyncio.gather(*(jobs.send_failing(services) for _ in range(3)))
    await jobs.send_failing(services)
    assert [kind for kind, _ in await mails(alice)] == ["webhooks_failing"]
    assert await mails(carol) == []
