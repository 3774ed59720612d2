"""A developer looks after webhooks at the dashboard, by clicking in headless Chromium."""

import re
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page

from tests.browser import CHROMIUM, Look, Visitor, by_look, chromium, visitor
from tests.cast import PASSWORD, Actor, sign_up
from tests.journeys.test_browser import LOOKS
from tests.receiver import Receiver
from tests.running import Service

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: the browser journeys were not run"),
]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@pytest.fixture
def compatible(make_service: Callable[..., Service]) -> Service:
    """Saved URLs still work here."""
    return make_service(fresh=True, NOTIFY_DEPRECATED_WH="true")


async def press(page: Page, button: str) -> None:
    await page.click(f"button:has-text('{button}')")


async def until_sent(page: Page) -> None:
    """Look again until no attempt is due."""
    while await page.locator("text=Look again").count():
        await page.click("text=Look again")


async def sign_in(someone: Visitor, actor: Actor) -> None:
    page = someone.page
    await page.goto(f"{actor.service.url}/signin")
    await page.fill("#email", actor.email)
    await page.fill("#password", PASSWORD)
    await press(page, "Sign in")


@by_look(LOOKS)
async def test_looking_after_webhooks(
    look: Look, browser: Browser, service: Service, compatible: Service, alice: Actor, receiver: Receiver
) -> None:
    async with visitor(browser, look, service.url) as someone:
        await sign_in(someone, alice)
        await save_a_secret(someone)
        await try_an_address(someone, receiver)
        await find_events(someone)
        await switch_off_and_on(someone)
    async with sign_up(compatible, "dora", "Dora's Dolls") as dora, visitor(browser, look, compatible.url) as someone:
        await sign_in(someone, dora)
        await see_the_saved_url(someone, dora)


async def save_a_secret(someone: Visitor) -> None:
    """Generate, copy, save."""
    page = someone.page
    await page.click(".side a:has-text('Events')")
    await someone.see("webhooks-events-empty")
    await page.click(".side a:has-text('Webhooks')")
    await someone.see("webhooks-none")
    assert await page.locator("button:has-text('Send a test event')").count() == 0
    await press(page, "Generate a secret")
    await someone.see("webhooks-generated")
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", await page.input_value("#new-secret"))
    await press(page, "Copy")
    await page.wait_for_selector("button:has-text('Copied'), button:has-text('Selected')")
    await press(page, "Save the secret")
    await someone.see("webhooks-saved")
    assert await page.locator("#new-secret").count() == 0


async def try_an_address(someone: Visitor, receiver: Receiver) -> None:
    """A wrong address first, then one whose receiver fails, then the same event again."""
    page = someone.page
    await page.fill("#url", "http://10.0.0.1/")
    await press(page, "Send a test event")
    await someone.see("webhooks-wrong-address")
    assert await page.get_attribute("#url", "aria-invalid") == "true"

    async def fails(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    receiver.answer = fails
    await page.fill("#url", receiver.url)
    await press(page, "Send a test event")
    await until_sent(page)
    await someone.see("webhooks-event-failed")
    assert "The receiver answered 503" in await page.inner_text("main")
    receiver.answer = None
    await press(page, "Send it again")
    await until_sent(page)
    await someone.see("webhooks-event-delivered")
    assert [got.headers["X-Service-Attempt"] for got in receiver.received] == ["1", "2"]


async def find_events(someone: Visitor) -> None:
    """By status and type; nothing in the other environment."""
    page = someone.page
    await page.click("text=All events")
    await someone.see("webhooks-events")
    await page.select_option("#status", "failed")
    await press(page, "Filter")
    await someone.see("webhooks-events-no-match")
    assert "status=failed" in page.url
    await page.click("text=Clear filters >> nth=0")
    await page.select_option("#type", "webhook.test")
    await press(page, "Filter")
    assert await page.locator("tbody tr").count() == 1
    await page.click(".modes a:has-text('Live')")
    assert "Nothing has happened in the live environment" in await page.inner_text("main")
    await page.click(".modes a:has-text('Test')")


async def switch_off_and_on(someone: Visitor) -> None:
    """While delivery is off, an event cannot be sent again, and the page says what to do."""
    page = someone.page
    await page.click(".side a:has-text('Webhooks')")
    await press(page, "Switch delivery off")
    await someone.see("webhooks-off")
    await page.click(".side a:has-text('Events')")
    await page.click("tbody a")
    await press(page, "Send it again")
    await someone.see("webhooks-event-refused")
    assert "Switch delivery on under Webhooks" in await page.inner_text("[role=alert]")
    await page.click(".side a:has-text('Webhooks')")
    await press(page, "Switch delivery on")
    await someone.see("webhooks-on")


async def see_the_saved_url(someone: Visitor, actor: Actor) -> None:
    """It is shown while it counts."""
    page = someone.page
    await page.click(".side a:has-text('Webhooks')")
    body = {"url": "https://shop.example/hook", "event_types": ["payment.succeeded", "payment.refunded"]}
    (await actor.call("PUT", "/webhook", body)).ok()
    await page.reload()
    await someone.see("webhooks-saved-url")
    assert "https://shop.example/hook" in await page.inner_text("main")
