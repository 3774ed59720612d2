"""The application in the browser: connected by a person, with its tokens in memory only."""

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NoReturn

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from tests import npm
from tests.browser import IN_A_BROWSER
from tests.cast import PASSWORD, Actor, application
from tests.examples.running import EXAMPLES
from tests.running import free_port
from tests.sdk_typescript import generate

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@pytest.fixture
async def app(alice: Actor, bob: Actor, tmp_path: Path, skip_aloud: Callable[[str], NoReturn]) -> AsyncIterator[str]:
    """The static files with the SDK, of an application that bob has registered."""
    if missing := npm.why_missing(generate.SDK):
        skip_aloud(f"NOT TESTED: the example for browsers, because {missing}")
    shutil.copytree(EXAMPLES / "browser", tmp_path / "app")
    generate.run("esbuild", *generate.BUNDLED, f"--outfile={tmp_path}/app/tollhouse-sdk.js")
    port = free_port()
    url = f"http://127.0.0.1:{port}/index.html"
    scopes = ["account:read", "payments:read"]
    registered = await application(bob, "public", redirect_uris=[url], scopes=scopes)
    settings = {"baseUrl": alice.service.url, "clientId": registered.client_id, "mode": "test"}
    lines = "".join(f'export const {name} = "{value}";\n' for name, value in settings.items())
    (tmp_path / "app" / "config.js").write_text(lines)
    files = web.Application()
    files.router.add_static("/", tmp_path / "app")
    runner = web.AppRunner(files, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield url
    await runner.cleanup()


@pytest.fixture
async def page(browser: Browser, alice: Actor) -> AsyncIterator[Page]:
    """Alice at her browser, signed in."""
    context = await browser.new_context()
    opened = await context.new_page()
    await opened.goto(f"{alice.service.url}/signin")
    await opened.fill("#email", alice.email)
    await opened.fill("#password", PASSWORD)
    await opened.click("button:text-is('Sign in')")
    await opened.wait_for_url(lambda url: "/signin" not in url)
    yield opened
    await context.close()


async def test_a_merchant_connects_in_the_browser(app: str, page: Page, alice: Actor) -> None:
    link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
    link = (await alice.post("/payment-links", link)).ok(201).body
    (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})).ok()
    await page.goto(app)
    await expect(page.locator("#message")).to_have_text("Connect to see your payments.")
    await page.click("#connect")
    await page.click("button[value=allow]")
    await expect(page.locator("#message")).to_have_text("Connected.")
    await expect(page.locator("#account")).to_have_text("Alice's Coffee")
    await expect(page.locator("#payments li")).to_have_text(["4.20 EUR: succeeded"])
    assert page.url == app
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert kept == '[{},{},""]'

    await page.click("#disconnect")
    await expect(page.locator("#message")).to_have_text("Disconnected.")
    (grant,) = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert grant["status"] == "revoked"


async def test_a_denial_and_a_foreign_callback_connect_nobody(app: str, page: Page) -> None:
    await page.goto(app)
    await page.click("#connect")
    await page.click("button[value=deny]")
    await expect(page.locator("#message")).to_have_text("You did not allow the connection.")
    await page.goto(f"{app}?code=thac_1&state=s&iss=x")
    await expect(page.locator("#message")).to_have_text("Connect to see your payments.")
    assert page.url == app
