"""Unsubscribing by the link of an email, without sign-in (RFC 8058): what it does, and what mallorys cannot do with it."""

from uuid import UUID, uuid4

import pytest

from tests.accounts.notifications.notifying import inbox, mailed, notify
from tests.cast import Actor
from tollhouse.accounts.mail.links import Subscription, unsubscribe_path
from tollhouse.accounts.mail.model import Topic
from tollhouse.http.services import Services

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


async def path_of(services: Services, actor: Actor, topic: Topic, merchant_id: UUID | None = None) -> str:
    """The path of the link in an email to this person."""
    [user] = await actor.sql("SELECT id FROM users WHERE email = $1", actor.email)
    return unsubscribe_path(services.keys, Subscription(user["id"], merchant_id or UUID(actor.merchant_id), topic))


async def choices(actor: Actor) -> dict[str, str]:
    """What the person chose."""
    body = (await actor.dashboard("GET", "/notification-preferences")).ok().body
    return {one["kind"]: one["mail"] for one in body["preferences"] if one["mail"] != "immediate"}


async def test_one_click_stops_one_kind_without_a_session(alice: Actor, mallory: Actor, services: Services) -> None:
    path = await path_of(services, alice, "refund_failed")
    page = (await mallory.send("GET", path)).ok().text
    assert "Failed refunds" in page
    assert await choices(alice) == {}, "a link that is only opened does nothing"
    for _ in range(2):
        assert "no more emails" in (await mallory.form(path, ONE_CLICK)).ok().text
    assert await choices(alice) == {"refund_failed": "never"}
    await notify(services, alice, "refund_failed", "one")
    assert await mailed(alice) == []
    assert await inbox(alice) == [("refund_failed", False)]


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
async def test_mail_programs_post_from_anywhere(alice: Actor, mallory: Actor, services: Services, media_type: str) -> None:
    path = await path_of(services, alice, "dispute_opened")
    body = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
    sent = body if "multipart" in media_type else "List-Unsubscribe=One-Click"
    headers = {"Content-Type": media_type, "Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"}
    (await mallory.send("POST", path, data=sent.encode(), headers=headers)).ok()
    assert await choices(alice) == {"dispute_opened": "never"}


async def test_daily_emails_end_together(alice: Actor, mallory: Actor, services: Services) -> None:
    daily = {"preferences": [{"kind": kind, "mail": "daily"} for kind in ("refund_failed", "webhooks_failing")]}
    (await alice.dashboard("PUT", "/notification-preferences", daily)).ok()
    (await mallory.form(await path_of(services, alice, "digest"), ONE_CLICK)).ok()
    assert await choices(alice) == {"refund_failed": "never", "webhooks_failing": "never"}


async def test_wrong_links_are_not_found(alice: Actor, mallory: Actor, services: Services) -> None:
    path = await path_of(services, alice, "refund_failed")
    root, _, token = path.rpartition("/")
    other = await path_of(services, alice, "dispute_opened")
    wrong = [
        f"{root}/{token[:-1]}",
        f"{root}/{token[:22]}{other.rpartition('/')[2][22:]}",
        f"{root}/{('A' if token[0] != 'A' else 'B') + token[1:]}",
        f"{root}/{token}AAAA",
        f"{root}/{'A' * 200}",
        f"{root}/%E2%82%AC",
    ]
    for each in wrong:
        for method in ("GET", "POST"):
            assert (await mallory.send(method, each)).status in {404, 405}, each
    assert await choices(alice) == {}


async def test_a_link_for_a_merchant_that_the_person_left_changes_nothing(
    alice: Actor, carol: Actor, mallory: Actor, services: Services
) -> None:
    path = await path_of(services, alice, "refund_failed", UUID(carol.merchant_id))
    (await mallory.form(path, ONE_CLICK)).ok()
    (await mallory.form(await path_of(services, alice, "refund_failed", uuid4()), ONE_CLICK)).ok()
    assert await alice.sql("SELECT FROM notification_preferences WHERE merchant_id = $1::uuid", carol.merchant_id) == []
