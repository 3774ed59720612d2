"""The inbox of each member: by merchant, mode, role and person; what is read; and emails at once."""

import html
import re
from datetime import timedelta
from uuid import uuid4

from tests.accounts.notifications.notifying import inbox, mailed, notify
from tests.cast import Actor, member
from tests.forms import seen
from tollhouse.accounts.mail.model import KINDS, NotificationEvent
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.model import ALL_KINDS, OF_BOTH_MODES, visible_kinds
from tollhouse.http.services import Services
from tollhouse.kernel.text import dump_text

EVERY_FACT = NoticeFacts(
    amount="1234.50",
    currency="EUR",
    account="•••• 4300",
    name="Night Owls",
    by="dora@ example. com",
    reason="No imprint",
    message=dump_text("It was too little."),
    operation="withdrawals",
    role="Finance",
    at="2026-11-23T16:42:07Z",
    day="2026-11-30T16:42:07Z",
    address="192.0.2.7",
)


async def test_every_event_is_in_the_inbox_and_mailed(alice: Actor, services: Services) -> None:
    for event in KINDS:
        await notify(services, alice, event, str(uuid4()), facts=EVERY_FACT)
    body = (await alice.dashboard("GET", "/notifications?limit=100")).ok().body
    assert {one["event"]: one["kind"] for one in body["notifications"]} == KINDS
    by_event = {one["event"]: one for one in body["notifications"]}
    assert by_event["withdrawal_completed"]["title"] == "Withdrawal completed: €1,234.50"
    assert by_event["withdrawal_completed"]["detail"] == "Your withdrawal of €1,234.50 to •••• 4300 was sent."
    assert not [one for one in by_event.values() if "%(" in one["title"] + one["detail"]]
    assert sorted(await mailed(alice)) == sorted(event for event in KINDS if event != "new_device")
    assert [one["mode"] for one in body["notifications"] if one["kind"] in OF_BOTH_MODES] == [None] * 4


async def test_modes_and_merchants_are_apart(alice: Actor, carol: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "live")
    await notify(services, alice, "dispute_opened", "test", mode="test")
    assert await inbox(alice) == [("refund_failed", False)]
    assert await inbox(alice, mode="test") == [("dispute_opened", False)]
    assert await inbox(carol) == await inbox(carol, mode="test") == []
    assert await mailed(alice) == ["refund_failed"], "test mode sends none"
    assert await mailed(carol) == []
    [mine] = await alice.sql(
        "SELECT id FROM notifications WHERE merchant_id = $1::uuid AND mode = 'live'", alice.merchant_id
    )
    (await carol.dashboard("POST", f"/notifications/{mine['id']}/read", {})).refused("not_found", 404)
    (await carol.form(f"/live/notifications/{mine['id']}/read", {})).ok(404)
    (await alice.form(f"/test/notifications/{mine['id']}/read", {})).ok(404)
    assert "Refund failed" in await seen(alice, "/live/notifications")
    assert "Refund failed" not in await seen(alice, "/test/notifications")


async def test_members_see_what_their_role_may_act_on(alice: Actor, services: Services) -> None:
    events: tuple[NotificationEvent, ...] = ("withdrawal_completed", "webhooks_failing", "dispute_opened")
    expected = {
        "finance": {"withdrawal_completed", "dispute_opened"},
        "support": {"dispute_opened"},
        "developer": {"webhooks_failing"},
        "read_only": set(events),
    }
    for role, wanted in expected.items():
        async with member(alice, role) as person:
            for event in events:
                await notify(services, alice, event, f"{role} {event}")
            assert {event for event, _ in await inbox(person)} == wanted
            assert set(await mailed(person)) == wanted
            kinds = {
                one["kind"] for one in (await person.dashboard("GET", "/notification-preferences")).ok().body["preferences"]
            }
            assert kinds == visible_kinds(role, "live")  # pyright: ignore[reportArgumentType]
            assert wanted < kinds
    assert visible_kinds("owner", "live") == visible_kinds("administrator", "test") == set(ALL_KINDS)
    assert "withdrawal_completed" in visible_kinds("developer", "test")


async def test_a_removed_member_gets_nothing_more(alice: Actor, services: Services) -> None:
    async with member(alice, "finance") as person:
        user = "SELECT id FROM users WHERE email = $1"
        [row] = await person.sql(user, person.email)
        await person.sql("UPDATE members SET removed_at = now() WHERE user_id = $1", row["id"])
        await notify(services, alice, "refund_failed", "one")
        assert await mailed(person) == []
        (await person.dashboard("GET", "/notifications")).refused("authentication_required", 401)


async def test_what_is_older_than_the_membership_is_read(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "before")
    async with member(alice, "finance") as person:
        await notify(services, alice, "refund_failed", "after")
        assert await inbox(person) == [("refund_failed", False), ("refund_failed", True)]
        assert (await person.dashboard("GET", "/notifications")).ok().body["unread"] == 1


async def test_reading_one_and_all(alice: Actor, services: Services) -> None:
    async with member(alice, "finance") as person:
        for number in range(3):
            await notify(services, alice, "refund_failed", str(number))
        [newest, *_] = (await person.dashboard("GET", "/notifications")).ok().body["notifications"]
        for _ in range(2):
            assert (await person.dashboard("POST", f"/notifications/{newest['id']}/read", {})).ok().body["read"] is True
        assert await inbox(person) == [("refund_failed", True), ("refund_failed", False), ("refund_failed", False)]
        assert len(await inbox(person, unread="true")) == 2
        assert "2 unread notifications" in await seen(person, "/live/home")
        await notify(services, alice, "dispute_opened", "test", mode="test")
        assert (await person.dashboard("POST", "/notifications/read-all", {"mode": "live"})).ok().body == {"unread": 0}
        assert await inbox(person, unread="true") == []
        assert await inbox(person, mode="test", unread="true") == [("dispute_opened", False)]
        assert len(await inbox(alice, unread="true")) == 3, "what one reads is unread for others"
        await notify(services, alice, "refund_failed", "later")
        assert await inbox(person, unread="true") == [("refund_failed", False)]


async def test_what_commits_after_all_was_read_is_unread(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "seen")
    (await alice.dashboard("POST", "/notifications/read-all", {"mode": "live"})).ok()
    await notify(services, alice, "dispute_opened", "late")
    await alice.sql(
        "UPDATE notifications SET created_at = created_at - $2::interval WHERE merchant_id = $1::uuid AND occasion = 'late'",
        alice.merchant_id,
        timedelta(seconds=5),
    )
    assert await inbox(alice, unread="true") == [("dispute_opened", False)], "it was recorded first and committed last"


async def test_pages_and_filters(alice: Actor, services: Services) -> None:
    for number in range(5):
        await notify(services, alice, "refund_failed" if number % 2 else "webhooks_failing", str(number))
    first = (await alice.dashboard("GET", "/notifications?kind=webhooks_failing&limit=2")).ok().body
    assert first["has_more"]
    rest = (
        (await alice.dashboard("GET", f"/notifications?kind=webhooks_failing&limit=2&cursor={first['next_cursor']}"))
        .ok()
        .body
    )
    assert [len(first["notifications"]), len(rest["notifications"])] == [2, 1]
    page = await seen(alice, "/live/notifications?kind=refund_failed&limit=1")
    assert page.count("Refund failed: €4.20</b>") == 1
    [older] = re.findall(r'href="(\?[^"]*page=2[^"]*)"', page)
    assert "Refund failed" in await seen(alice, "/live/notifications" + html.unescape(older))
    (await alice.dashboard("GET", "/notifications?kind=nonsense")).refused("validation_failed", 422)


async def test_preferences(alice: Actor, services: Services) -> None:
    chosen = {"preferences": [{"kind": "refund_failed", "mail": "never"}, {"kind": "dispute_opened", "mail": "daily"}]}
    body = (await alice.dashboard("PUT", "/notification-preferences", chosen)).ok().body
    mail = {one["kind"]: one["mail"] for one in body["preferences"]}
    assert (mail["refund_failed"], mail["dispute_opened"], mail["webhooks_failing"]) == ("never", "daily", "immediate")
    always = {"preferences": [{"kind": "new_device", "mail": "never"}]}
    (await alice.dashboard("PUT", "/notification-preferences", always)).refused("validation_failed", 422)
    for event in ("refund_failed", "dispute_opened", "webhooks_failing"):
        await notify(services, alice, event, event)
    assert await mailed(alice) == ["webhooks_failing"]
    assert len(await inbox(alice)) == 3


async def test_a_button_of_a_row_returns_to_its_page(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "one")
    page = await seen(alice, "/live/notifications?kind=refund_failed&unread=true")
    [action] = re.findall(r'action="([^"]*/read\?[^"]*)"', page)
    answer = (await alice.form(html.unescape(action), {})).ok(303)
    assert answer.location == "/live/notifications?kind=refund_failed&unread=true&page=1"
    assert "No notifications match" in await seen(alice, answer.location)
    answer = (await alice.form("/live/notifications/read", {})).ok(303)
    assert "All notifications are marked as read." in await seen(alice, answer.location)
