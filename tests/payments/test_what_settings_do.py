"""What a merchant sets has its effect: confirmations, late money however late, and the look of the checkout."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.accounts.settings.test_settings import body
from tests.cast import Actor
from tests.payments.bank import fresh, play, purse, sell
from tests.payments.shop import open_link, visit
from tollhouse.accounts.environments import logos_model
from tollhouse.pages.checkout import branding

DAY_S = 86_400
LOGO = "https://cdn.harbour.example:8443/logo.png?v=1"


async def setting(actor: Actor, **changes: Any) -> None:
    (await actor.call("PUT", "/settings", await body(actor, **changes))).ok()


@pytest.mark.parametrize(
    ("currency", "confirmations", "required"),
    [
        ("BTC", {}, 2),
        ("BTC", {"bitcoin": 6}, 6),
        ("BTC", {"bitcoin": 1}, 1),
        ("BTC", {"bitcoin": "finalized"}, 3),
        ("ETH", {}, 3),
        ("ETH", {"ethereum": 12, "bitcoin": 6}, 12),
        ("EUR", {"bitcoin": 6}, 3),
    ],
)
async def test_as_many_confirmations_as_the_merchant_wants(
    alice: Actor, currency: str, confirmations: dict[str, Any], required: int
) -> None:
    await setting(alice, confirmations=confirmations)
    seen = await sell(alice, "processing", amount="1", currency=currency)
    for expected in range(1, required + 2):
        details = seen["payment_details"]
        assert details["required_confirmations"] == required
        assert details["confirmations"] == min(expected, required - 1)
        assert seen["status"] == "processing"
        seen = (await play(alice, seen, "processing")).ok().body


async def test_fewer_confirmations_wanted_while_one_is_on_its_way(alice: Actor) -> None:
    await setting(alice, confirmations={"bitcoin": 6})
    seen = await sell(alice, "processing", amount="1", currency="BTC")
    await setting(alice, confirmations={"bitcoin": 1})
    seen = (await play(alice, seen, "processing")).ok().body
    assert seen["status"] == "processing"
    assert (await play(alice, seen, "succeed")).ok().body["status"] == "succeeded"


@pytest.mark.covers("P-68")
@pytest.mark.parametrize(("late_payments", "status"), [("refund_required", "refund_required"), ("accept", "succeeded")])
async def test_money_is_found_long_after_anybody_watched(alice: Actor, late_payments: str, status: str) -> None:
    await setting(alice, late_payments=late_payments, late_monitoring_days=1)
    unpaid = await sell(alice, "expire")
    (await alice.post("/test/clock/advance", {"seconds": 400 * DAY_S})).ok()
    (await play(alice, unpaid, "late")).ok()
    late = await fresh(alice, unpaid)
    assert (late["status"], late["late"], late["amount_received"]) == (status, True, "10.00")
    assert await purse(alice) == (1_000 if status == "succeeded" else 0, 0, 0)


async def test_the_clock_goes_ten_years_ahead_and_no_further(alice: Actor) -> None:
    too_far = await alice.post("/test/clock/advance", {"seconds": 3_600 * DAY_S + 1})
    assert too_far.field_errors() == {"seconds": "invalid_value"}
    (await alice.post("/test/clock/advance", {"seconds": 3_600 * DAY_S})).ok()
    assert (await alice.post("/test/clock/advance", {"seconds": 1})).field_errors() == {"seconds": "out_of_range"}


async def test_the_checkout_in_the_merchants_own_look(alice: Actor) -> None:
    link = await open_link(alice)
    plain = await visit(link, alice)
    assert "/pay/brand/" not in plain.text
    assert "mailto:" not in plain.text
    look = {
        "display_name": "Harbour",
        "logo_url": LOGO,
        "accent_color": "#1a6b4f",
        "support_email": 'a"?bcc=b@harbour.example',
    }
    await setting(alice, branding=look)
    page = (await visit(link, alice)).ok()
    assert f'src="{LOGO}"' in page.text
    assert 'href="mailto:a%22%3Fbcc%3Db@harbour.example"' in page.text
    assert 'href="/pay/brand/1a6b4f.css"' in page.text
    assert page.headers["Content-Security-Policy"].count("img-src 'self' data: https://cdn.harbour.example:8443;") == 1
    sheet = (await alice.anonymously("GET", "/pay/brand/1a6b4f.css")).ok()
    assert sheet.headers["Content-Type"].startswith("text/css")
    assert "--brand: light-dark(#1a6b4f, #237056);" in sheet.text
    assert "--on-brand: light-dark(#ffffff, #ffffff);" in sheet.text
    for name in ("nothing", "1a6b4.css", "1A6B4F.css", "1a6b4f", "1a6b4f.css%0a"):
        (await alice.anonymously("GET", f"/pay/brand/{name}")).refused("not_found", 404)
    await setting(alice, branding={}, success_url="http://shop.example/")
    policy = (await visit(link, alice)).headers["Content-Security-Policy"]
    assert policy.endswith("img-src 'self' data:")


@pytest.mark.parametrize("host", ["a;script-src *", "a,b", "[::1]", "a'b", "*"])
def test_no_address_writes_into_the_policy(host: str) -> None:
    assert logos_model.image_origin(f"https://{host}/logo.png") is None
    assert logos_model.shown_source(f"https://{host}/logo.png") is None


@pytest.mark.long
@given(st.integers(0, 0xFFFFFF))
def test_the_words_on_the_merchants_colour_can_be_read(color: int) -> None:
    shades = {
        name: [int(one, 16) for one in pair]
        for name, *pair in re.findall(r"--([a-z-]+): light-dark\(#(.{6}), #(.{6})\)", branding.sheet(f"#{color:06x}"))
    }
    assert list(shades) == ["brand", "brand-edge", "brand-hover", "on-brand", "brand-soft", "brand-line"]
    for theme, (canvas, muted) in enumerate(((0xFFFFFF, 0x5C677D), (0x0E131C, 0x97A3B9))):
        brand, edge, hover, text, soft, _ = (pair[theme] for pair in shades.values())
        assert contrast(brand, text) >= 4.5
        assert contrast(hover, text) >= 4.5
        assert contrast(edge, canvas) >= 3
        assert contrast(soft, muted) >= 4.5


def test_a_colour_that_can_be_seen_stays_as_it_is() -> None:
    yellow = branding.sheet("#e9b44c")
    assert "--brand: light-dark(#e9b44c, #e9b44c);" in yellow, "it stays yellow, with dark text and a darker edge"
    assert "--brand-edge: light-dark(#b18839, #e9b44c);" in yellow
    assert "--on-brand: light-dark(#000000, #000000);" in yellow
    assert "--brand: light-dark(#0000ff, " in branding.sheet("#0000ff")


def contrast(one: int, other: int) -> float:
    """From 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: int) -> float:
    """As WCAG 2.2 defines it, reckoned another way than the house does."""
    shares = [(color >> shift & 255) / 255 for shift in (16, 8, 0)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


async def test_a_project_says_the_default_currency(alice: Actor) -> None:
    assert {project["default_currency"] for project in (await alice.get("/projects")).ok().body["projects"]} == {"EUR"}
    await setting(alice, default_currency="JPY")
    [project] = (await alice.get("/projects")).ok().body["projects"]
    assert (await alice.get(f"/projects/{project['id']}")).ok().body["default_currency"] == "JPY"
