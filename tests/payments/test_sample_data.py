"""Sample data: offered in the test environment at any time, created once per click, and as sound as what is real."""

import asyncio
import re
from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.cast import Actor, sign_up
from tests.forms import forms, post, refuses_foreign_forms, seen
from tests.payments.shop import open_link, pay
from tests.running import Service
from tollhouse.kernel import limits
from tollhouse.rails.sandbox.sample_data import SAMPLES

MAKE = "/test/sample-data"
KEY = re.compile(r'<form method="post" action="/test/sample-data"[^>]*>\s*<input type="hidden" name="key" value="([^"]+)">')


async def payments(actor: Actor) -> list[dict[str, str]]:
    return (await actor.get("/transactions?limit=100")).ok().body["transactions"]


async def key_of(actor: Actor, path: str) -> str:
    """The key of the button on this page."""
    [key] = KEY.findall(await seen(actor, path))
    return key


async def test_it_is_made_once(alice: Actor) -> None:
    key = await key_of(alice, "/test/home")
    assert await key_of(alice, "/test/payments") != key
    responses = await asyncio.gather(*(alice.form(MAKE, {"key": key}) for _ in range(3)))
    for answer in responses:  # a twin does not wait longer than for two seconds
        assert answer.status == 409 or answer.ok(303).location == "/test/home?done=sample-data"
    assert [answer for answer in responses if answer.status == 303]
    assert "20 sample payments were created." in await seen(alice, "/test/home?done=sample-data")
    await post(alice, MAKE, key=key)
    made = await payments(alice)
    assert len(made) == len(SAMPLES)
    assert [transaction["created_at"] for transaction in made] == sorted(
        (transaction["created_at"] for transaction in made), reverse=True
    )
    statuses = [transaction["status"] for transaction in made]
    assert {status: statuses.count(status) for status in set(statuses)} == {
        "succeeded": 15, "failed": 2, "refunded": 1, "partially_refunded": 1, "chargeback": 1,
    }  # fmt: skip
    balance = (await alice.get("/balances/EUR")).ok().body
    lost = sum(int(sample.refund or 0) for sample in SAMPLES) + 25
    assert balance["available"] == f"{sum(int(sample.amount) for sample in SAMPLES if sample.outcome != 'fail') - lost}.00"
    home = await seen(alice, "/test/home")
    days = len({transaction["created_at"][:10] for transaction in made if transaction["status"] != "failed"})
    assert len(re.findall(r'data-label="Payments">[1-9]', home)) == days
    report = (await alice.get("/reports/financial-summary?group_by=day")).ok().body["financial_summaries"]
    assert sum(row["payments_gross_minor"] > 0 for row in report) == days
    assert len({transaction["created_at"][11:13] for transaction in made}) > 10, "at different hours"


@pytest.mark.long
async def test_there_can_be_more_at_any_time(alice: Actor) -> None:
    await pay(await open_link(alice, amount="10.00"))
    for path in ("/test/home", "/test/settings/payments"):
        await post(alice, MAKE, key=await key_of(alice, path))
    assert len(await payments(alice)) == 2 * len(SAMPLES) + 1
    assert MAKE not in forms(await seen(alice, "/test/payments"))
    await post(alice, MAKE, 422)
    await post(alice, MAKE, 422, key="again")
    await seen(alice, "/test/home?done=other")


@pytest.mark.long
async def test_it_is_created_a_few_times_an_hour(make_service: Callable[..., Service]) -> None:
    strict = await asyncio.to_thread(make_service, TOLLHOUSE_RATE_LIMITS="on")
    async with sign_up(strict, "dora", "Dora's Deli") as dora:
        keys = [str(uuid4()) for _ in range(limits.SAMPLE_DATA_PER_HOUR_MAX)]
        for key in keys:
            await post(dora, MAKE, key=key)
        refused = await post(dora, MAKE, 429, key=str(uuid4()))
        assert int(refused.headers["Retry-After"]) > 0
        await post(dora, MAKE, key=keys[0])
        [row] = await dora.sql("SELECT count(*) FROM transactions WHERE merchant_id = $1::uuid", dora.merchant_id)
        assert row[0] == len(keys) * len(SAMPLES)


async def test_it_is_for_the_test_environment_and_its_own_people(alice: Actor) -> None:
    for path in ("/live/home", "/live/payments", "/live/settings/payments"):
        assert not any("sample-data" in form for form in forms(await seen(alice, path)))
    await post(alice, "/live/sample-data", 404, key=str(uuid4()))
    await refuses_foreign_forms(alice, MAKE)
    assert MAKE not in forms(await seen(alice, "/test/home"))
