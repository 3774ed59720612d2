"""By whose clocks pages go: those of the merchant at the dashboard, UTC where nobody has a session."""

import re
from datetime import datetime

import pytest
from jinja2 import Environment

from tests.cast import Actor
from tests.forms import seen
from tests.payments.shop import open_link, pay, visit
from tollhouse.http.templates import Templates
from tollhouse.kernel.clock import zone_of
from tollhouse.payments.transactions.payment_list import PaymentsQuery

KATHMANDU = "Asia/Kathmandu"
TIME = re.compile(r'<time datetime="(?P<utc>[^"]+Z)" title="(?P<there>[^"]+)">(?P<short>[^<]+)</time>')


async def move_to(actor: Actor, zone: str) -> None:
    """Choose this time zone."""
    await actor.sql("UPDATE merchants SET time_zone = $1 WHERE id = $2::uuid", zone, actor.merchant_id)


async def test_the_dashboard_goes_by_the_merchants_clocks(alice: Actor) -> None:
    link = await open_link(alice, amount="1234.50")
    (await pay(link)).ok(303)
    await move_to(alice, KATHMANDU)
    pages = ("home", "payments", "payment-links", f"payment-links/{link['id']}", "ledger", "projects", "developers/events")
    for path in pages:
        page = await seen(alice, f"/test/{path}")
        shown = TIME.findall(page)
        assert shown, path
        for utc, there, short in shown:
            moment = datetime.fromisoformat(utc).astimezone(zone_of(KATHMANDU))
            assert there == f"{moment.day} {moment:%b %Y, %H:%M:%S} UTC+5:45", path
            assert short.endswith((f"{moment:%H:%M}", " ago")), path
        assert "Times are in the time zone Asia/Kathmandu." in page
        assert "1234.50" not in page, path


async def test_customers_see_the_merchants_clocks_and_which_they_are(alice: Actor) -> None:
    link = await open_link(alice)
    await move_to(alice, KATHMANDU)
    end = datetime.fromisoformat(link["expires_at"]).astimezone(zone_of(KATHMANDU))
    for page in (await visit(link, alice), await alice.send("GET", link["url"].removeprefix(alice.service.url))):
        [shown] = re.findall(r"<time datetime=[^>]+ data-local [^>]+>([^<]+)</time>", page.ok().text)
        assert re.fullmatch(rf"{end:%A}, {end.day} {end:%B}( {end.year})?, {end:%H:%M} UTC\+5:45", shown)


def test_days_of_a_filter_begin_there() -> None:
    wanted = PaymentsQuery(start="2026-11-21", to="2026-11-21").to_filter(zone_of(KATHMANDU), {})
    assert wanted.created_from == datetime.fromisoformat("2026-11-20T18:15:00Z")
    assert wanted.created_to == datetime.fromisoformat("2026-11-21T18:15:00Z")


def test_another_zone_compiles_no_template(monkeypatch: pytest.MonkeyPatch) -> None:
    services = Templates()
    facts = {
        "layout": "http/card.html",
        "home": "/",
        "code": "not_found",
        "number": 404,
        "message": "",
        "field_errors": (),
        "request_id": "",
        "back": "/",
        "theme": "",
    }
    first = services.render("http/error.html", "en", **facts)
    monkeypatch.delattr(Environment, "compile")
    assert services.render("http/error.html", "en", zone_of(KATHMANDU), **facts) == first
