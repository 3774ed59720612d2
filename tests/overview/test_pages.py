"""The home page of the dashboard, as a browser without scripts gets it."""

import re

import pytest

from tests.cast import Actor
from tests.forms import seen, signed_out, wrong
from tests.payments.bank import bank_says, refund, sell
from tests.payments.shop import open_link

FIGURE = re.compile(r'<div class="card kpi[^"]*"><span>([^<]+)</span><b>([^<]+)</b>(.*?)</div>', re.DOTALL)
TAGS = re.compile(r"<[^>]+>|\s+")
NEW_YEAR = "2026-01-01T12:00:00+00:00"


async def figures(actor: Actor, query: str = "", mode: str = "test") -> dict[str, str]:
    """Each key figure, and what is said beside it."""
    page = await seen(actor, f"/{mode}/home{query}")
    return {name: " ".join(TAGS.sub(" ", f"{value} {more}").split()) for name, value, more in FIGURE.findall(page)}


async def move(actor: Actor, transaction_id: str, moment: str) -> None:
    """Let a payment have succeeded, or failed, at another time."""
    await actor.sql(
        "UPDATE transactions SET updated_at = $2::text::timestamptz,"
        " succeeded_at = CASE WHEN succeeded_at IS NOT NULL THEN $2::text::timestamptz END WHERE id = $1::uuid",
        transaction_id,
        moment,
    )


async def test_a_new_merchant_is_reported_what_to_begin_with(alice: Actor) -> None:
    page = await seen(alice, "/test/home")
    assert "Get started" in page
    assert page.count(">to do<") == 5
    assert "No payments yet. Create a payment link to get paid." in page
    assert "No successful payments in this period." in page
    assert await figures(alice) == {
        "Gross volume": "€0.00 unchanged",
        "Available balance": "€0.00 View balances",
        "Succeeded": "0 unchanged",
        "Failed": "0 unchanged",
        "Refunded": "€0.00 unchanged",
    }


async def test_the_first_steps_go_when_they_are_done(alice: Actor) -> None:
    await sell(alice)
    assert (await seen(alice, "/test/home")).count(">to do<") == 3
    (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    assert "Get started" not in await seen(alice, "/test/home")
    assert (await seen(alice, "/live/home")).count(">to do<") == 6, "each environment has its own first payment"


async def test_what_came_in_is_counted_beside_what_came_before(alice: Actor) -> None:
    await sell(alice, amount="30.00")
    early = await sell(alice, amount="20.00")
    await sell(alice, "fail")
    given = (await refund(alice, early, "5.00")).ok(201).body
    (await bank_says(alice, given, "succeed")).ok()
    dollars = await sell(alice, amount="7.00", currency="USD")
    assert await figures(alice, "?period=7d") == {
        "Gross volume": "€50.00 no previous data",
        "Available balance": "€45.00 View balances",
        "Succeeded": "2 no previous data",
        "Failed": "1 no previous data",
        "Refunded": "€5.00 no previous data in one refund",
    }
    assert (await figures(alice, "?currency=USD"))["Gross volume"] == "$7.00 no previous data"
    await alice.sql(
        "UPDATE transactions SET succeeded_at = succeeded_at - interval '7 days' WHERE id = ANY ($1::uuid[])",
        [early["id"], dollars["id"]],
    )
    week = await figures(alice, "?period=7d")
    assert week["Gross volume"] == "€30.00 +50.0 % previously €20.00"
    assert week["Succeeded"] == "1 unchanged"
    assert (await figures(alice, "?period=14d"))["Gross volume"] == "€50.00 no previous data"
    assert (await figures(alice, "?period=7d&currency=USD"))[
        "Gross volume"
    ] == "$0.00 \N{MINUS SIGN}100.0 % previously $7.00"
    for query in ("?currency=XYZ", "?currency=BTC"):
        assert (await figures(alice, query)).keys() == week.keys()


async def test_the_chart_has_a_table_that_says_the_same(alice: Actor) -> None:
    paid = await sell(alice, amount="12.34")
    await move(alice, paid["id"], NEW_YEAR)
    page = await seen(alice, "/test/home?period=custom&from=2025-12-31&to=2026-01-02")
    rows = re.findall(r'<tr><th scope="row">(.+?)</th><td class="num">(\d+)</td><td class="num">(.+?)</td>', page)
    assert rows == [("31 Dec", "0", "0.00"), ("1 Jan", "1", "12.34"), ("2 Jan", "0", "0.00")]
    assert page.count("<title>1 Jan: €12.34</title>") == 2
    assert 'Test payment in EUR</th><td class="num">100.0 %</td><td class="num">12.34</td>' in page


async def test_days_are_those_of_the_merchants_time_zone(alice: Actor) -> None:
    paid = await sell(alice, amount="12.34")
    await move(alice, paid["id"], NEW_YEAR)
    second = "?period=custom&from=2026-01-02&to=2026-01-02"
    assert (await figures(alice, second))["Succeeded"].startswith("0")
    await alice.sql("UPDATE merchants SET time_zone = 'Pacific/Kiritimati' WHERE id = $1::uuid", alice.merchant_id)
    assert (await figures(alice, second))["Succeeded"].startswith("1")
    page = await seen(alice, f"/test/home{second}")
    assert "Pacific/Kiritimati" in page
    assert "<title>02:00: €12.34</title>" in page


async def test_the_latest_payments_stand_as_they_are(alice: Actor) -> None:
    paid = await sell(alice, amount="3.00")
    link = await open_link(alice, display_name="<b>Tea</b>")
    (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "fail"})).ok()
    page = (await alice.send("GET", "/test/home", headers={"Accept": "text/html"})).ok().text
    assert f'href="/test/payments/{paid["id"]}"' in page
    assert page.index(">failed<") < page.index(">succeeded<")
    assert "&lt;b&gt;Tea&lt;/b&gt;" in page
    assert paid["id"] not in await seen(alice, "/live/home")


async def test_events_that_do_not_arrive_are_reported(alice: Actor) -> None:
    await alice.sql(
        "INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)"
        " SELECT gen_random_uuid(), $1::uuid, 'test', now() - n * interval '1 day' FROM generate_series(0, 9) AS n",
        alice.merchant_id,
    )
    page = await seen(alice, "/test/home")
    assert 'href="/test/developers/events?status=failed">Failed in the last 7 days: 7</a>' in page
    assert "were not delivered" not in await seen(alice, "/live/home")


@pytest.mark.parametrize(
    ("query", "status", "fields"),
    [
        ("?period=custom&from=2026-01-03&to=2026-01-02", 422, {"to"}),
        ("?period=custom", 422, {"from", "to"}),
        ("?period=custom&from=%3Cb%3E&to=2026-01-02", 422, {"from"}),
    ],
)
async def test_invalid_days_are_reported_at_their_fields(alice: Actor, query: str, status: int, fields: set[str]) -> None:
    page = (await alice.send("GET", f"/test/home{query}", headers={"Accept": "text/html"})).ok(status)
    assert wrong(page).keys() == fields
    assert "Gross volume" in page.text
    assert '<b>"' not in page.text


async def test_nobody_else_sees_it(alice: Actor, carol: Actor) -> None:
    await sell(alice, amount="30.00")
    assert (await figures(carol))["Gross volume"] == "€0.00 unchanged"
    assert (await figures(alice, mode="live"))["Gross volume"] == "€0.00 unchanged"
    assert (await alice.anonymously("GET", "/test/home")).ok(303).location == signed_out("/test/home")
    await seen(alice, "/prod/home", 404)
    await seen(alice, "/test/home?period=year", 422)
