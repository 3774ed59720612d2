"""Schedules of withdrawals: one run for each time, whatever happens to workers, clocks, balances and recipients."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from tests.cast import Actor
from tests.forms import post, refuses_foreign_forms, seen, wrong
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse
from tests.transfers.withdrawals.steps import fund, leave_unsent, priced
from tollhouse.http.lists import filters_of
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.pages.dashboard.balances.withdrawals import SchedulesPageQuery
from tollhouse.transfers.withdrawals import jobs, schedules
from tollhouse.transfers.withdrawals.model import Frequency, next_run

PATH, DAY = "/withdrawal-schedules", 86_400


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []
    await leave_unsent(shop)


async def wait(actor: Actor, seconds: int = DAY) -> None:
    """Turn the test clock."""
    (await actor.post("/test/clock/advance", {"seconds": seconds})).ok()


async def nina(actor: Actor) -> str:
    """A saved recipient that can be paid."""
    new = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Nina"}
    made = (await actor.post("/withdrawal-recipients", new)).ok(201).body["id"]
    await wait(actor)
    return made


async def scheduled(actor: Actor, **changes: Any) -> dict[str, Any]:
    """A schedule that was created, by default of everything every day."""
    return (await actor.post(PATH, {"frequency": "daily"} | changes, key=str(uuid4()))).ok(201).body


async def work(actor: Actor, services: Services, schedule: dict[str, Any]) -> None:
    """Let the worker look after this schedule, as its job does."""
    env, now, which = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "test"), clock.now(), UUID(schedule["id"])
    try:
        await services.transact(lambda work: schedules.run(work, env, which), now)
    except ApiError as error:
        refused = error
        await services.transact(lambda work: schedules.fail(work, env, which, refused), now)


async def runs(actor: Actor, schedule: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The outcomes of its runs, newest first."""
    found = (await fresh(actor, schedule))["latest_runs"]
    return [(run["outcome"], run["failure_code"]) for run in found]


async def fresh(actor: Actor, schedule: dict[str, Any]) -> dict[str, Any]:
    """The schedule as it is now."""
    return (await actor.get(f"{PATH}/{schedule['id']}")).ok().body


async def test_the_next_time() -> None:
    cases: list[tuple[Frequency, int | None, str, str, str]] = [
        ("daily", None, "2026-03-28T12:00", "Europe/Berlin", "2026-03-29T04:00"),
        ("daily", None, "2026-03-27T12:00", "Europe/Berlin", "2026-03-28T05:00"),
        ("daily", None, "2026-10-24T12:00", "Europe/Berlin", "2026-10-25T05:00"),
        ("daily", None, "2026-10-25T05:00", "Europe/Berlin", "2026-10-26T05:00"),
        ("weekly", 1, "2026-11-23T05:59", "UTC", "2026-11-23T06:00"),
        ("weekly", 1, "2026-11-23T06:00", "UTC", "2026-11-30T06:00"),
        ("monthly", 31, "2026-02-01T00:00", "UTC", "2026-02-28T06:00"),
        ("monthly", 31, "2028-02-01T00:00", "UTC", "2028-02-29T06:00"),
        ("monthly", 31, "2026-01-31T06:00", "UTC", "2026-02-28T06:00"),
        ("monthly", 1, "2026-12-31T23:00", "Pacific/Auckland", "2027-01-31T17:00"),
    ]
    for frequency, day, after, zone, expected in cases:
        found = next_run(frequency, day, datetime.fromisoformat(f"{after}+00:00"), ZoneInfo(zone))
        assert found == datetime.fromisoformat(f"{expected}+00:00"), after


async def test_everything_above_is_withdrawn_once_a_day(shop: Actor, services: Services) -> None:
    await fund(shop)
    one = await scheduled(shop, recipient_id=await nina(shop), keep="60.00")
    assert (one["status"], one["keep"], one["amount"]) == ("active", "60.00", None)
    await work(shop, services, one)
    assert await runs(shop, one) == [], "it is not due yet"
    await wait(shop)
    await asyncio.gather(*(work(shop, services, one) for _ in range(3)))
    await work(shop, services, one)
    assert await runs(shop, one) == [("created", None)]
    assert await purse(shop) == (6_000, 4_000, 0)
    await wait(shop, 5 * DAY)
    await work(shop, services, one)
    await work(shop, services, one)
    assert await runs(shop, one) == [("skipped", None), ("created", None)], "missed times are not made up"
    [made] = (await shop.get("/withdrawals")).ok().body["withdrawals"]
    assert (made["amount"], made["receiver"], made["recipient_id"]) == ("40.00", "Nina", one["recipient_id"])


async def test_paused_resumed_and_ended(shop: Actor, neighbour: Actor, services: Services) -> None:
    await fund(shop)
    one = await scheduled(shop, recipient_id=await nina(shop), amount="1.00", frequency="weekly", day=3)
    (await neighbour.get(f"{PATH}/{one['id']}")).refused("not_found", 404)
    (await shop.post(f"{PATH}/{one['id']}/pause")).ok()
    (await shop.post(f"{PATH}/{one['id']}/pause")).refused("invalid_state", 409)
    await wait(shop, 8 * DAY)
    await work(shop, services, one)
    assert await runs(shop, one) == []
    resumed = (await shop.post(f"{PATH}/{one['id']}/resume")).ok().body
    assert resumed["next_run_at"] > one["next_run_at"]
    await wait(shop, 7 * DAY)
    await work(shop, services, one)
    assert await runs(shop, one) == [("created", None)]
    ended = (await shop.call("DELETE", f"{PATH}/{one['id']}")).ok().body
    assert (ended["status"], ended["next_run_at"]) == ("ended", None)
    (await shop.call("DELETE", f"{PATH}/{one['id']}")).refused("invalid_state", 409)
    assert (await shop.get(PATH)).ok().body["withdrawal_schedules"] == [ended]


async def test_what_cannot_be_paid_fails_the_run(shop: Actor, services: Services) -> None:
    await fund(shop, "5.00")
    recipient = await nina(shop)
    now = datetime.fromisoformat((await scheduled(shop, recipient_id=recipient))["next_run_at"]) + timedelta(hours=1)
    once = {"recipient_id": recipient, "frequency": "once", "amount": "9.00", "scheduled_for": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    poor, deleted = await scheduled(shop, **once), await scheduled(shop, **once | {"amount": "1.00"})
    await wait(shop, 2 * DAY)
    await work(shop, services, poor)
    assert (await runs(shop, poor), (await fresh(shop, poor))["status"]) == ([("failed", "insufficient_funds")], "ended")
    (await shop.call("DELETE", f"/withdrawal-recipients/{recipient}")).ok()
    await work(shop, services, deleted)
    assert await runs(shop, deleted) == [("failed", "recipient_deleted")]
    assert await purse(shop) == (500, 0, 0)


async def test_a_reached_daily_limit_is_tried_again(
    shop: Actor, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fund(shop)
    one = await scheduled(shop, recipient_id=await nina(shop), keep="60.00")
    priced(monkeypatch, minimum_minor=200, daily_limit_minor=100)
    await wait(shop)
    await work(shop, services, one)
    assert (await runs(shop, one), (await fresh(shop, one))["status"]) == ([], "active")
    priced(monkeypatch, minimum_minor=200, daily_limit_minor=500)
    await wait(shop, 900)
    await work(shop, services, one)
    assert await runs(shop, one) == [("created", None)]
    assert await purse(shop) == (9_500, 500, 0), "what the limit leaves"


async def test_a_deleted_recipient_ends_a_recurring_schedule(shop: Actor, services: Services) -> None:
    await fund(shop)
    recipient = await nina(shop)
    one = await scheduled(shop, recipient_id=recipient, amount="1.00")
    (await shop.call("DELETE", f"/withdrawal-recipients/{recipient}")).ok()
    await wait(shop)
    await work(shop, services, one)
    after = await fresh(shop, one)
    assert (await runs(shop, one), after["status"], after["next_run_at"]) == (
        [("failed", "recipient_deleted")],
        "ended",
        None,
    )


async def test_a_schedule_that_breaks_is_tried_later_and_stops_no_other(shop: Actor, services: Services) -> None:
    await fund(shop)
    recipient = await nina(shop)
    broken, sound = [await scheduled(shop, recipient_id=recipient, amount=amount) for amount in ("1.00", "2.00")]
    currency = "UPDATE withdrawal_schedules SET currency = $2 WHERE id = $1::uuid"
    await shop.sql(currency, broken["id"], "XXX")
    await wait(shop)
    await jobs.run_schedules(services)
    assert await runs(shop, sound) == [("created", None)]
    await shop.sql(currency, broken["id"], "EUR")
    await jobs.run_schedules(services)
    assert await runs(shop, broken) == [], "it is not tried at once"
    await wait(shop, 900)
    await jobs.run_schedules(services)
    assert await runs(shop, broken) == [("created", None)]
    assert await purse(shop) == (9_700, 300, 0)


async def test_a_suspended_merchant_waits_and_a_new_recipient_is_tried_again(shop: Actor, services: Services) -> None:
    await fund(shop)
    new = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Nina"}
    recipient = (await shop.post("/withdrawal-recipients", new)).ok(201).body
    soon = datetime.fromisoformat(recipient["created_at"]) + timedelta(hours=1)
    at = f"{soon:%Y-%m-%dT%H:%M:%SZ}"
    one = await scheduled(shop, recipient_id=recipient["id"], frequency="once", amount="1.00", scheduled_for=at)
    await wait(shop, 7_200)
    await work(shop, services, one)
    assert (await runs(shop, one), (await fresh(shop, one))["status"]) == ([], "active")
    await wait(shop, DAY - 7_200)
    await shop.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", shop.merchant_id)
    await work(shop, services, one)
    await shop.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", shop.merchant_id)
    assert await runs(shop, one) == []
    await work(shop, services, one)
    assert await runs(shop, one) == [("created", None)]


async def test_what_is_wrong_is_named(shop: Actor) -> None:
    recipient = await nina(shop)
    for body, field in (
        ({"frequency": "once"}, "scheduled_for"),
        ({"frequency": "daily", "scheduled_for": "2027-01-01T00:00:00Z"}, "scheduled_for"),
        ({"frequency": "once", "scheduled_for": "2020-01-01T00:00:00Z"}, "scheduled_for"),
        ({"frequency": "once", "scheduled_for": "2099-01-01T00:00:00Z"}, "scheduled_for"),
        ({"frequency": "weekly", "day": 8}, "day"),
        ({"frequency": "monthly"}, "day"),
        ({"frequency": "daily", "day": 1}, "day"),
        ({"frequency": "daily", "amount": "1.00", "keep": "1.00"}, "keep"),
        ({"frequency": "daily", "amount": "0"}, "amount"),
        ({"frequency": "daily", "keep": "x"}, "keep"),
        ({"frequency": "daily", "keep": "-1"}, "keep"),
        ({"frequency": "hourly"}, "frequency"),
    ):
        answer = await shop.post(PATH, {"recipient_id": recipient} | body, key=str(uuid4()))
        assert set(answer.field_errors()) == {field}, body
    unknown = {"recipient_id": str(uuid4()), "frequency": "daily"}
    (await shop.post(PATH, unknown, key=str(uuid4()))).refused("not_found", 404)
    assert (await scheduled(shop, recipient_id=recipient, keep="0"))["keep"] == "0.00"


async def test_the_page(shop: Actor, services: Services) -> None:
    page = "/test/withdrawals/schedules"
    assert "No schedules in test mode yet" in await seen(shop, page)
    await fund(shop)
    recipient = await nina(shop)
    for values, field in (
        ({"recipient_id": recipient}, "frequency"),
        ({"frequency": "daily"}, "recipient_id"),
        ({"recipient_id": recipient, "frequency": "once"}, "scheduled_for"),
        ({"recipient_id": recipient, "frequency": "monthly", "month_day": "32"}, "month_day"),
        ({"recipient_id": recipient, "frequency": "daily", "amount": "x"}, "amount"),
    ):
        assert set(wrong(await post(shop, page, 422, **values))) == {field}
    one = {"schedule_id": str(new_id()), "recipient_id": recipient, "frequency": "weekly", "weekday": "3", "keep": "60"}
    await asyncio.gather(*(post(shop, page, **one) for _ in range(3)))
    [made] = (await shop.get(PATH)).ok().body["withdrawal_schedules"]
    assert (made["id"], made["frequency"], made["day"], made["keep"]) == (one["schedule_id"], "weekly", 3, "60.00")
    shown = await seen(shop, page)
    assert "Every week on Wednesday" in shown
    assert "Everything above €60.00" in shown
    for action, status in (("pause", "paused"), ("resume", "active"), ("end", "ended")):
        for _ in range(2):
            await post(shop, f"{page}/{made['id']}/{action}")
        assert (await fresh(shop, made))["status"] == status
    tomorrow = datetime.fromisoformat(made["created_at"]) + timedelta(days=3)
    once = {"recipient_id": recipient, "frequency": "once", "scheduled_for": f"{tomorrow:%Y-%m-%d}", "amount": "1,50"}
    await post(shop, page, **once)
    [second, _] = (await shop.get(PATH)).ok().body["withdrawal_schedules"]
    assert (second["amount"], second["next_run_at"][11:16]) == ("1.50", "06:00")
    await wait(shop, 3 * DAY)
    await work(shop, services, second)
    assert "View withdrawal" in await seen(shop, page)
    assert f'href="{page}"' in await seen(shop, "/settings/audit")
    assert filters_of(SchedulesPageQuery(done="created")) == {}, "links of the list do not repeat the notice"
    await refuses_foreign_forms(shop, page, f"{page}/{made['id']}/resume")
