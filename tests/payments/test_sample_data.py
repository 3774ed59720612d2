"""Sample data: offered where nobody has paid in the test environment, made once, and as sound as what is real."""

import asyncio
import re

from tests.cast import Actor
from tests.forms import forms, post, refuses_foreign_forms, seen
from tests.payments.shop import open_link, pay
from tollhouse.sandbox.sample_data import SAMPLES

MAKE = "/test/sample-data"


async def payments(actor: Actor) -> list[dict[str, str]]:
    return (await actor.get("/transactions?limit=100")).ok().body["transactions"]


async def test_it_is_made_once(alice: Actor) -> None:
    for path in ("/test/home", "/test/payments"):
        assert MAKE in forms(await seen(alice, path))
    responses = await asyncio.gather(*(post(alice, MAKE) for _ in range(3)))
    assert {answer.location for answer in responses} == {"/test/home"}
    await post(alice, MAKE)
    made = await payments(alice)
    assert len(made) == len(SAMPLES)
    assert [one["created_at"] for one in made] == sorted((one["created_at"] for one in made), reverse=True)
    statuses = [one["status"] for one in made]
    assert {status: statuses.count(status) for status in set(statuses)} == {
        "succeeded": 15, "failed": 2, "refunded": 1, "partially_refunded": 1, "chargeback": 1,
    }  # fmt: skip
    balance = (await alice.get("/balances/EUR")).ok().body
    lost = sum(int(one.refund or 0) for one in SAMPLES) + 25
    assert balance["available"] == f"{sum(int(one.amount) for one in SAMPLES if one.outcome != 'fail') - lost}.00"
    home = await seen(alice, "/test/home")
    assert MAKE not in forms(home)
    days = len({one.days for one in SAMPLES if one.outcome != "fail"})
    assert len(re.findall(r'data-label="Payments">[1-9]', home)) == days
    report = (await alice.get("/reports/financial-summary?group_by=day")).ok().body["financial_summaries"]
    assert sum(row["payments_gross_minor"] > 0 for row in report) == len(
        {one.days for one in SAMPLES if one.outcome != "fail"}
    )


async def test_it_is_for_who_has_nothing_yet(alice: Actor) -> None:
    await pay(await open_link(alice, amount="10.00"))
    assert MAKE not in forms(await seen(alice, "/test/home"))
    await post(alice, MAKE)
    assert len(await payments(alice)) == 1


async def test_it_is_for_the_test_environment_and_its_own_people(alice: Actor) -> None:
    for path in ("/live/home", "/live/payments"):
        assert not any("sample-data" in form for form in forms(await seen(alice, path)))
    await post(alice, "/live/sample-data", 404)
    await refuses_foreign_forms(alice, MAKE)
    assert MAKE not in forms(await seen(alice, "/test/home"))
