"""Daily emails: each once, on the mornings of the merchant's time zone, whatever happens to the workers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest

from tests.accounts.notifications.notifying import mailed, notify
from tests.cast import Actor, sign_up
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.running import Service, settings_for
from tollhouse.accounts.notifications import digests
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock

BERLIN, AUCKLAND, HONOLULU = (ZoneInfo(name) for name in ("Europe/Berlin", "Pacific/Auckland", "Pacific/Honolulu"))
DAILY = {"preferences": [{"kind": "refund_failed", "mail": "daily"}]}
DUE = "UPDATE notification_digests SET next_at = now() - interval '1 second', through_at = now() - interval '1 day'"
SETTLED = "UPDATE notifications SET created_at = created_at - interval '2 minutes'"
ALWAYS_MORNING = """
    UPDATE merchants SET time_zone = (
        SELECT name FROM pg_timezone_names
        WHERE extract(hour FROM now() AT TIME ZONE name) BETWEEN 9 AND 22 AND name LIKE 'Etc/GMT%' LIMIT 1)
"""


@pytest.fixture(scope="module")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, so that nothing happens but what the test does."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def services(still: Service) -> AsyncIterator[Services]:
    """Services whose connections can be cut."""
    async with fused_services(still) as services:
        yield services


@pytest.fixture
async def alice(still: Service) -> AsyncIterator[Actor]:
    """A merchant in a time zone in which it is day, whose owner gets daily emails about failed refunds."""
    async with sign_up(still, "alice", "Alice's Coffee") as actor:
        await actor.sql("DELETE FROM notification_digests")
        (await actor.dashboard("PUT", "/notification-preferences", DAILY)).ok()
        yield actor


async def make_due(actor: Actor) -> None:
    """As if the next morning had come."""
    for statement in (ALWAYS_MORNING, SETTLED, DUE):
        await actor.sql(statement)


@pytest.mark.parametrize(
    ("now", "zone", "last_on", "expected"),
    [
        (datetime(2026, 11, 29, 6, 59, tzinfo=UTC), BERLIN, None, datetime(2026, 11, 29, 7, tzinfo=UTC)),
        (datetime(2026, 11, 29, 7, 0, tzinfo=UTC), BERLIN, None, datetime(2026, 11, 30, 7, tzinfo=UTC)),
        (datetime(2026, 3, 28, 12, tzinfo=UTC), BERLIN, date(2026, 3, 28), datetime(2026, 3, 29, 6, tzinfo=UTC)),
        (datetime(2026, 10, 24, 12, tzinfo=UTC), BERLIN, date(2026, 10, 24), datetime(2026, 10, 25, 7, tzinfo=UTC)),
        (
            datetime(2026, 11, 29, 12, tzinfo=UTC),
            AUCKLAND,
            date(2026, 11, 29),
            datetime(2026, 11, 30, 19, tzinfo=UTC) - timedelta(days=1),
        ),
        (datetime(2026, 11, 29, 18, 30, tzinfo=UTC), HONOLULU, date(2026, 11, 30), datetime(2026, 12, 1, 18, tzinfo=UTC)),
    ],
    ids=["before", "at eight", "clocks go forward", "clocks go back", "far east", "moved west after today's"],
)
def test_the_next_morning(now: datetime, zone: ZoneInfo, last_on: date | None, expected: datetime) -> None:
    assert digests.next_digest(now, zone, last_on) == expected
    assert expected.astimezone(zone).hour == 8


async def test_a_digest_has_what_happened_once(alice: Actor, services: Services) -> None:
    for number in range(3):
        await notify(services, alice, "refund_failed", str(number))
    await notify(services, alice, "webhooks_failing", "at once")
    await notify(services, alice, "refund_failed", "in test mode", mode="test")
    await make_due(alice)
    await digests.send_due(services)
    assert await mailed(alice) == ["webhooks_failing", "digest"]
    [row] = await alice.sql("SELECT facts::text AS facts FROM mails WHERE about = 'digest' ORDER BY created_at DESC LIMIT 1")
    facts = msgspec.json.decode(row["facts"])
    assert facts["count"] == "3"
    assert len(msgspec.json.decode(facts["entries"])) == 3
    await digests.send_due(services)
    assert (await mailed(alice)).count("digest") == 1
    [due] = await alice.sql("SELECT next_at > now() AS later FROM notification_digests")
    assert due["later"]


async def test_a_second_one_on_the_same_day_is_put_off(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "one")
    await make_due(alice)
    await digests.send_due(services)
    await notify(services, alice, "refund_failed", "two")
    await make_due(alice)
    await digests.send_due(services)
    assert (await mailed(alice)).count("digest") == 1


async def test_a_day_without_notifications_has_none(alice: Actor, services: Services) -> None:
    await make_due(alice)
    await digests.send_due(services)
    assert await mailed(alice) == []


async def test_what_is_not_settled_waits_for_the_next_one(alice: Actor, services: Services) -> None:
    await make_due(alice)
    await notify(services, alice, "refund_failed", "just now")
    await digests.send_due(services)
    assert await mailed(alice) == []
    [row] = await alice.sql(
        "SELECT d.through_at < n.created_at AS kept FROM notification_digests d JOIN notifications n USING (merchant_id) "
        "WHERE n.occasion = 'just now' AND n.merchant_id = $1::uuid",
        alice.merchant_id,
    )
    assert row["kept"]


async def test_several_workers_send_one(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "one")
    await make_due(alice)
    await asyncio.gather(*(digests.send_due(services) for _ in range(5)))
    assert await mailed(alice) == ["digest"]


async def test_a_worker_that_is_killed_at_any_step_leaves_nothing(alice: Actor, services: Services) -> None:
    assert isinstance(services.db, FusedPool)
    await notify(services, alice, "refund_failed", "one")
    await make_due(alice)

    async def send() -> None:
        await services.transact(digests.send_one, clock.now())

    steps, _ = await kill_everywhere(
        services.db, send, lambda: every_row(alice, ("mails", "notification_digests", "notifications"))
    )
    assert steps >= 5
    assert await mailed(alice) == ["digest"]


async def test_a_notification_killed_at_any_step_leaves_nothing(alice: Actor, services: Services) -> None:
    assert isinstance(services.db, FusedPool)
    steps, _ = await kill_everywhere(
        services.db,
        lambda: notify(services, alice, "webhooks_failing", "one"),
        lambda: every_row(alice, ("mails", "notifications")),
    )
    assert steps == 3
    assert await mailed(alice) == ["webhooks_failing"]


async def test_who_left_or_chose_none_gets_none(alice: Actor, services: Services) -> None:
    await notify(services, alice, "refund_failed", "one")
    (
        await alice.dashboard(
            "PUT", "/notification-preferences", {"preferences": [{"kind": "refund_failed", "mail": "never"}]}
        )
    ).ok()
    await make_due(alice)
    await digests.send_due(services)
    assert await mailed(alice) == []
    assert await alice.sql("SELECT FROM notification_digests") == []
    (await alice.dashboard("PUT", "/notification-preferences", DAILY)).ok()
    assert len(await alice.sql("SELECT FROM notification_digests")) == 1
