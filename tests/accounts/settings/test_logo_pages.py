"""The merchant's logo: uploaded, shown, replaced and removed, by nobody else, and served as an image only."""

import asyncio
import html
import re
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from tests.accounts.settings.logo_files import RECT, raster, svg, unique
from tests.accounts.settings.test_payment_pages import form, send, settings
from tests.cast import Actor, Answer
from tests.forms import FOREIGN, refuses_foreign_forms, seen, wrong
from tests.payments.shop import COFFEE, open_link, visit

PATH = "/test/settings/payments"
IMAGE = re.compile(r'<img class="logo" src="([^"]+)"')
PNG = raster()
OTHER = raster(size=(100, 40))


async def upload(actor: Actor, raw: bytes, mode: str = "test", name: str = "logo.png", **headers: str) -> Answer:
    """Choose this file and send the form."""
    data = aiohttp.FormData()
    data.add_field("logo", BytesIO(raw), filename=name, content_type="application/octet-stream")
    headers = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"} | headers
    return await actor.send("POST", f"/{mode}/settings/payments/logo", data=data, headers=headers)


async def uploaded(actor: Actor, raw: bytes, mode: str = "test") -> str:
    """Upload it; the path at which it is served."""
    assert (await upload(actor, raw, mode)).ok(303).location == f"/{mode}/settings/payments?done=logo_saved#logo-label"
    return (await logo_url(actor, mode)).removeprefix(actor.service.url)


async def logo_url(actor: Actor, mode: str = "test") -> str:
    return (await settings(actor, mode))["branding"]["logo_url"]


async def stored(actor: Actor) -> int:
    """How many logos of this merchant the database has."""
    [row] = await actor.sql("SELECT count(*) AS n FROM logos WHERE merchant_id = $1::uuid", actor.merchant_id)
    return row["n"]


async def checkout(actor: Actor) -> str:
    return (await visit(await open_link(actor), actor)).ok().text


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [(PNG, "image/png"), (raster("WEBP"), "image/png"), (svg(), "image/svg+xml")],
    ids=("png", "webp", "svg"),
)
async def test_a_logo_is_served_for_images_only(alice: Actor, raw: bytes, media_type: str) -> None:
    path = await uploaded(alice, raw)
    assert re.fullmatch(r"/logos/[0-9a-f]{64}\.(png|svg)", path)
    answer = (await alice.anonymously("GET", path)).ok()
    assert answer.headers["Content-Type"] == media_type
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers.getall("Cross-Origin-Resource-Policy") == ["cross-origin"]
    assert "Set-Cookie" not in answer.headers
    assert (await alice.anonymously("HEAD", path)).ok().raw == b""


@pytest.mark.parametrize(
    "name", ["a.png", "..%2fa", "0" * 64 + ".png", "0" * 64 + ".svg", "0" * 64 + ".html", "0" * 64, "0" * 64 + ".png%0a"]
)
async def test_other_addresses_have_no_logo(alice: Actor, name: str) -> None:
    (await alice.anonymously("GET", f"/logos/{name}")).refused("not_found", 404)


async def test_an_address_has_one_suffix(alice: Actor) -> None:
    path = await uploaded(alice, PNG)
    (await alice.anonymously("GET", path.replace(".png", ".svg"))).refused("not_found", 404)


async def test_checkout_shows_the_logo_in_place_of_the_initials(alice: Actor) -> None:
    assert 'class="avatar merchant"' in await checkout(alice)
    path = await uploaded(alice, PNG)
    page = await checkout(alice)
    assert IMAGE.findall(page) == [path]
    assert 'class="avatar merchant"' not in page


@pytest.mark.long
async def test_the_settings_show_it_on_both_grounds_and_remove_it(alice: Actor) -> None:
    page = await seen(alice, PATH)
    assert "Remove logo" not in page
    assert 'name="branding.logo_url" type="url"' in page
    url = f"{alice.service.url}{await uploaded(alice, unique())}"
    page = await seen(alice, f"{PATH}?done=logo_saved")
    assert "Logo uploaded." in page
    assert IMAGE.findall(page) == [url.removeprefix(alice.service.url)] * 2
    assert 'type="url" value="https' not in page
    await send(alice, await form(alice) | {"branding.logo_url": url, "branding.display_name": "Shop"})
    assert (await settings(alice))["branding"]["logo_url"] == url
    removed = (await alice.form(f"{PATH}/logo/remove", {})).ok(303)
    assert removed.location == f"{PATH}?done=logo_removed#logo-label"
    assert await logo_url(alice) is None
    assert (await settings(alice))["branding"]["display_name"] == "Shop"
    assert await stored(alice) == 0
    (await alice.anonymously("GET", url.removeprefix(alice.service.url))).refused("not_found", 404)
    assert (await alice.form(f"{PATH}/logo/remove", {})).ok(303)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "Choose a file."),
        (b"GIF89a", "This must be an undamaged PNG, WebP or SVG image."),
        (PNG[:50], "This must be an undamaged PNG, WebP or SVG image."),
        (raster(size=(2001, 40)), "This must be 32 to 2,000 pixels wide and high."),
        (PNG + b"\0" * 300_000, "The file is larger than 256 KiB."),
        (PNG + b"\0" * 3_000_000, "The file is larger than 256 KiB."),
    ],
    ids=range(6),
)
async def test_what_is_no_logo_is_refused_at_its_field(alice: Actor, raw: bytes, message: str) -> None:
    answer = (await upload(alice, raw)).ok(422)
    assert wrong(answer) == {"logo": message}
    assert (await settings(alice))["version"] == 1
    assert await stored(alice) == 0


async def test_the_name_and_type_of_a_file_mean_nothing(alice: Actor) -> None:
    (await upload(alice, PNG, name="logo.svg")).ok(303)
    assert (await logo_url(alice)).endswith(".png")
    (await upload(alice, b"<script>alert(1)</script>", name="logo.png")).ok(422)


async def test_a_body_beyond_the_limit_or_of_another_type_is_refused(alice: Actor) -> None:
    assert (await upload(alice, b"\0" * 5_000_000)).status == 413
    (await alice.form(f"{PATH}/logo", {"logo": "a"})).refused("invalid_request", 400)


async def test_only_the_own_pages_of_the_merchant_upload(alice: Actor, carol: Actor) -> None:
    path = await uploaded(alice, PNG)
    assert await logo_url(carol) is None
    (await carol.form(f"{PATH}/logo/remove", {})).ok(303)
    (await upload(alice, OTHER, **FOREIGN)).ok(403)
    assert (await logo_url(alice)).endswith(path)
    await refuses_foreign_forms(alice, f"{PATH}/logo", f"{PATH}/logo/remove")
    (await upload(alice, OTHER)).ok(403)
    assert "Upload logo" not in await seen(alice, PATH)
    assert (await logo_url(carol)) is None


async def test_the_api_keeps_removes_and_copies_an_uploaded_logo(alice: Actor, carol: Actor) -> None:
    path = await uploaded(alice, svg())
    url = alice.service.url + path

    async def put(actor: Actor, address: str | None, mode: str = "test") -> Answer:
        current = await settings(actor, mode)
        kept = {name: current[name] for name in current if name not in READ_ONLY}
        body = kept | {"branding": current["branding"] | {"logo_url": address}}
        return await actor.call("PUT", "/settings", body, mode=mode)

    assert (await put(alice, url)).ok().body["branding"]["logo_url"] == url
    assert (await put(alice, url, "live")).ok().body["branding"]["logo_url"] == url
    other = await uploaded(alice, unique())
    assert await stored(alice) == 2
    (await alice.anonymously("GET", path)).ok()
    assert (await put(alice, None)).ok().body["branding"]["logo_url"] is None
    assert await stored(alice) == 1
    (await alice.anonymously("GET", other)).refused("not_found", 404)
    assert (await put(carol, url)).field_errors() == {"branding.logo_url": "unknown_logo"}
    assert (await put(alice, path)).field_errors() == {"branding.logo_url": "invalid_url"}
    assert (await put(alice, "https://a.example/logo.png", "live")).ok()
    assert await stored(alice) == 0


READ_ONLY = {
    "object",
    "updated_at",
    "supported_payment_methods",
    "webhook_signing_secret_configured",
    "mode",
    "livemode",
}


async def test_merchants_with_the_same_logo_do_not_depend_on_each_other(alice: Actor, carol: Actor) -> None:
    path = await uploaded(alice, PNG)
    assert await uploaded(carol, PNG) == path
    (await alice.form(f"{PATH}/logo/remove", {})).ok(303)
    (await alice.anonymously("GET", path)).ok()


async def test_uploads_at_once_leave_one_logo(alice: Actor) -> None:
    files = [raster(size=(40 + n, 40)) for n in range(6)]
    answers = await asyncio.gather(*(upload(alice, raw) for raw in files))
    assert {answer.status for answer in answers} <= {303, 409}
    assert any(answer.status == 303 for answer in answers)
    assert await stored(alice) == 1
    (await alice.anonymously("GET", (await logo_url(alice)).removeprefix(alice.service.url))).ok()


async def test_uploads_in_both_environments_at_once_keep_both(alice: Actor) -> None:
    for _ in range(3):
        answers = await asyncio.gather(upload(alice, PNG), upload(alice, OTHER, "live"), upload(alice, PNG, "live"))
        assert all(answer.status in {303, 409} for answer in answers)
        for mode in ("test", "live"):
            (await alice.anonymously("GET", (await logo_url(alice, mode)).removeprefix(alice.service.url))).ok()


async def test_it_is_in_the_audit_log(alice: Actor) -> None:
    await uploaded(alice, PNG)
    assert "Logo" in await seen(alice, "/settings/audit")


async def test_support_contacts_are_on_every_page_of_the_checkout(alice: Actor) -> None:
    contact = {
        "branding.support_email": "help@shop.example",
        "branding.support_phone": "+49 (30) 901820-1",
        "branding.support_url": "https://shop.example/help?a=1&b=2",
    }
    await send(alice, await form(alice) | contact)
    branding: dict[str, Any] = (await settings(alice))["branding"]
    assert {f"branding.{name}": branding[name] for name in ("support_email", "support_phone", "support_url")} == contact
    link = (await alice.post("/payment-links", COFFEE, key="supported")).ok(201).body
    path = link["url"].removeprefix(alice.service.url)

    async def shows_contact(at: str) -> None:
        page = html.unescape((await alice.anonymously("GET", at, headers={"Accept": "text/html"})).text)
        assert "Questions? Contact Alice's Coffee:" in page
        for href, text in (
            ("mailto:help@shop.example", "help@shop.example"),
            ("tel:+49309018201", "+49 (30) 901820-1"),
            ("https://shop.example/help?a=1&b=2", "shop.example"),
        ):
            assert re.search(f'<a href="{re.escape(href)}">(<svg.*?</svg>)?{re.escape(text)}</a>', page, re.DOTALL), href

    await shows_contact(path)
    begun = (await alice.form(f"{path}/method", {"method_id": "sandbox:EUR"})).ok(303).location
    await shows_contact(begun)
    await alice.form(begun.replace("?", "/simulate?"), {"outcome": "fail"})
    await shows_contact(begun)
    begun = (await alice.form(f"{path}/method", {"method_id": "sandbox:EUR"})).ok(303).location
    await alice.form(begun.replace("?", "/simulate?"), {"outcome": "succeed"})
    await shows_contact(begun)
    assert "Payment received" in await seen(alice, begun)
    canceled = (await alice.post("/payment-links", COFFEE, key="canceled")).ok(201).body
    (await alice.post(f"/payment-links/{canceled['id']}/cancel", key="cancel")).ok()
    await shows_contact(canceled["url"].removeprefix(alice.service.url))


async def test_contacts_that_are_none_are_refused(alice: Actor) -> None:
    bad = {"branding.support_phone": "call me", "branding.support_url": "http://shop.example"}
    page = await send(alice, await form(alice) | bad, 422)
    assert wrong(page) == {
        "branding.support_phone": "This must be a phone number, such as +49 30 901820.",
        "branding.support_url": "This must be an https URL without a user name, at most 2,048 characters long.",
    }


async def test_svg_with_a_script_is_served_without_it(alice: Actor) -> None:
    path = await uploaded(alice, svg(f"<script>alert(1)</script>{RECT}"))
    assert b"script" not in (await alice.anonymously("GET", path)).ok().raw
