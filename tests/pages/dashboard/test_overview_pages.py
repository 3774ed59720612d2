"""The home page of the dashboard, as a browser without scripts gets it."""

import re

import pytest

from tests.cast import Actor
from tests.forms import seen, signed_out, wrong
from tests.payments.bank import bank_says, refund, sell
from tests.payments.shop import open_link

TILE = re.compile(r'<a class="tile"[^>]*><span class="label">([^<]+)</span>(.*?)</a>', re.DOTALL)
VOLUME = re.compile(r'<h2 id="volume"[^>]*>([^<]+)</h2>(.*?)</div>', re.DOTALL)
BALANCE = re.compile(r'<p class="muted small">(Available in [A-Z]+)</p>(.*?)</p>', re.DOTALL)
TAGS = re.compile(r"<[^>]+>|\s+")
NEW_YEAR = "2026-01-01T12:00:00+00:00"


async def figures(actor: Actor, query: str = "", mode: str = "test") -> dict[str, str]:
    """Each key figure, and what is said beside it."""
    page = await seen(actor, f"/{mode}/home{query}")
    found = [figure for part in (VOLUME, BALANCE, TILE) for figure in part.findall(page)]
    return {name: " ".join(TAGS.sub(" ", figure).split()) for name, figure in found}


async def move(actor: Actor, transaction_id: str, moment: str) -> None:
    """Let a payment have succeeded, or failed, at another time."""
    await actor.sql(
        "UPDATE transactions SET updated_at = $2::text::timestamptz,"
        " succeeded_at = CASE WHEN succeeded_at IS NOT NULL THEN $2::text::timestamptz END WHERE id = $1::uuid",
        transaction_id,
        moment,
    )


def to_do(page: str) -> list[str]:
    """The first steps that are not done."""
    return re.findall(r'<li class="(?:next|todo)">.*?<h3>([^<]+)</h3>', page, re.DOTALL)


async def test_a_new_merchant_is_reported_what_to_begin_with(alice: Actor) -> None:
    page = await seen(alice, "/test/home")
    assert "<h1>Welcome, Alice's Coffee</h1>" in page
    assert "1 of 6 done" in page
    assert to_do(page) == [
        "Make a test payment",
        "Receive events on your server",
        "Call the API from your server",
        "Protect your account",
        "Go live",
    ]
    assert re.findall(r'<a class="btn primary" href="([^"]+)"', page) == ["/test/payment-links/new"]
    assert "No payments yet" in page
    assert "Create a payment link to get paid." in page
    assert await figures(alice) == {}


async def test_the_first_steps_go_when_they_are_done(alice: Actor) -> None:
    await sell(alice)
    assert len(to_do(await seen(alice, "/test/home"))) == 3
    (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    assert "First steps" not in await seen(alice, "/test/home")
    assert to_do(await seen(alice, "/live/home")) == [
        "Create a project",
        "Receive your first payment",  # each environment has its own
        "Receive events on your server",
        "Call the API from your server",
        "Protect your account",
    ]


async def test_without_payments_in_the_period_the_figures_are_nothing(alice: Actor) -> None:
    await sell(alice, "fail")
    page = await seen(alice, "/test/home?period=custom&from=2026-01-01&to=2026-01-02")
    assert "No successful payments in this period." in page
    assert "Nothing needs your attention." in page
    assert await figures(alice, "?period=custom&from=2026-01-01&to=2026-01-02") == {
        "Gross volume": "€0.00 unchanged",
        "Available in EUR": "€0.00",
        "Successful payments": "0 unchanged",
        "Success rate": "\N{EN DASH} unchanged",
        "Average payment": "\N{EN DASH} unchanged",
        "Refunded": "€0.00 unchanged",
    }


async def test_what_came_in_is_counted_beside_what_came_before(alice: Actor) -> None:
    await sell(alice, amount="30.00")
    early = await sell(alice, amount="20.00")
    await sell(alice, "fail")
    given = (await refund(alice, early, "5.00")).ok(201).body
    (await bank_says(alice, given, "succeed")).ok()
    dollars = await sell(alice, amount="7.00", currency="USD")
    assert await figures(alice, "?period=7d") == {
        "Gross volume": "€50.00 no previous data",
        "Available in EUR": "€45.00",
        "Successful payments": "2 no previous data",
        "Success rate": "66.7% no previous data 1 failed",
        "Average payment": "€25.00 no previous data",
        "Refunded": "€5.00 no previous data in one refund",
    }
    assert (await figures(alice, "?currency=USD"))["Gross volume"] == "$7.00 no previous data"
    await alice.sql(
        "UPDATE transactions SET succeeded_at = succeeded_at - interval '7 days' WHERE id = ANY ($1::uuid[])",
        [early["id"], dollars["id"]],
    )
    week = await figures(alice, "?period=7d")
    assert week["Gross volume"] == "€30.00 +50.0% previously €20.00"
    assert week["Successful payments"] == "1 unchanged"
    assert week["Success rate"] == "50.0% \N{MINUS SIGN}50.0 points previously 100.0% 1 failed"
    assert week["Average payment"] == "€30.00 +50.0% previously €20.00"
    assert (await figures(alice, "?period=14d"))["Gross volume"] == "€50.00 no previous data"
    assert (await figures(alice, "?period=7d&currency=USD"))["Gross volume"] == "$0.00 \N{MINUS SIGN}100.0% previously $7.00"
    for query in ("?currency=XYZ", "?currency=BTC"):
        assert (await figures(alice, query)).keys() == week.keys()


async def test_the_chart_has_a_table_that_says_the_same(alice: Actor) -> None:
    paid = await sell(alice, amount="12.34")
    await move(alice, paid["id"], NEW_YEAR)
    page = await seen(alice, "/test/home?period=custom&from=2025-12-31&to=2026-01-02")
    rows = re.findall(r'<th role="rowheader"[^>]*>(.+?)</th><td[^>]*>(\d+)</td><td[^>]*>(.+?)</td>', page)
    assert rows == [("31 Dec", "0", "0.00"), ("1 Jan", "1", "12.34"), ("2 Jan", "0", "0.00")]
    assert page.count("<title>1 Jan: €12.34</title>") == 1
    assert "Highest value: 1 Jan: €12.34." in page
    assert "Test payment in EUR</dt><dd>100.0% · €12.34</dd>" in page


async def test_days_are_those_of_the_merchants_time_zone(alice: Actor) -> None:
    paid = await sell(alice, amount="12.34")
    await move(alice, paid["id"], NEW_YEAR)
    second = "?period=custom&from=2026-01-02&to=2026-01-02"
    assert (await figures(alice, second))["Successful payments"].startswith("0")
    await alice.sql("UPDATE merchants SET time_zone = 'Pacific/Kiritimati' WHERE id = $1::uuid", alice.merchant_id)
    assert (await figures(alice, second))["Successful payments"].startswith("1")
    page = await seen(alice, f"/test/home{second}")
    assert "Pacific/Kiritimati" in page
    assert "<title>02:00: €12.34</title>" in page


async def test_the_latest_payments_stand_as_they_are(alice: Actor) -> None:
    paid = await sell(alice, amount="3.00")
    link = await open_link(alice, display_name="<b>Tea</b>")
    (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "fail"})).ok()
    page = (await alice.send("GET", "/test/home", headers={"Accept": "text/html"})).ok().text
    assert f'href="/test/payments/{paid["id"]}"' in page
    assert page.index("Failed</span>") < page.index("Succeeded</span>")
    assert "&lt;b&gt;Tea&lt;/b&gt;" in page
    assert paid["id"] not in await seen(alice, "/live/home")


async def test_events_that_do_not_arrive_are_reported(alice: Actor) -> None:
    await alice.sql(
        "INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)"
        " SELECT gen_random_uuid(), $1::uuid, 'test', now() - n * interval '1 day' FROM generate_series(0, 9) AS n",
        alice.merchant_id,
    )
    await sell(alice)
    page = await seen(alice, "/test/home")
    assert 'href="/test/developers/events?status=failed">Webhook events failed in the last 7 days: 7</a>' in page
    assert "Webhook events failed" not in await seen(alice, "/live/home")


async def test_payments_to_decide_are_counted(alice: Actor) -> None:
    for _ in range(2):
        assert (await sell(alice, "late"))["status"] == "refund_required"
    page = await seen(alice, "/test/home")
    assert 'href="/test/payments?status=refund_required">Payments that need a decision: 2</a>' in page


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
    for actor, mode in ((carol, "test"), (alice, "live")):
        assert await figures(actor, mode=mode) == {}
        assert "No payments yet" in await seen(actor, f"/{mode}/home")
    assert (await alice.anonymously("GET", "/test/home")).ok(303).location == signed_out("/test/home")
    await seen(alice, "/prod/home", 404)
    await seen(alice, "/test/home?period=year", 422)
