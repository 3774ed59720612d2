"""A merchant narrows a connection, is reminded before it expires, and renews it from the application, by clicking."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor, application
from tests.oauth.test_expiry_reminders import MOVE
from tests.receiver import Receiver
from tests.running import Service

SCOPE = "account:read payments:read payments:write offline_access"

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(NARROW)
async def test_a_connection_is_narrowed_and_renewed(
    look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor, receiver: Receiver
) -> None:
    callback = receiver.url.replace("/hook", "/callback")
    app = await application(bob, redirect_uris=[callback])
    await app.connect(alice, SCOPE)
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    async with visitor(browser, look, service.url, callback) as merchant:
        page = merchant.page
        await merchant.sign_in(alice)
        await page.wait_for_url("**/home")
        await page.goto(f"{service.url}/settings/connected-apps/{grant['grant_id']}")
        await merchant.see("connection")
        await page.uncheck("input[value='payments:write']")
        await merchant.click("Save permissions")
        await expect(page.locator("main")).to_contain_text("Permissions saved.")
        await merchant.see("connection-narrowed")
        await alice.sql(MOVE, grant["grant_id"], timedelta(days=6))
        await page.goto(f"{service.url}/settings/connected-apps/{grant['grant_id']}#renew")
        await expect(page.get_by_role("link", name="Go to northwind.example")).to_be_visible()
        await merchant.see("connection-expires")
        await page.goto(service.url + app.authorize_path(SCOPE))
        await expect(page.locator("main")).to_contain_text("You connected this application before.")
        await expect(page.locator("input[value='payments:read']")).to_be_checked()
        for scope in ("payments:write", "offline_access"):
            await expect(page.locator(f"input[value='{scope}']")).not_to_be_checked()
        await merchant.see("consent-renewed")
        await merchant.click("Allow selected")
        await page.wait_for_url("**/callback?**")
        code = dict(pair.split("=", 1) for pair in page.url.partition("?")[2].split("&"))["code"]
        assert (await app.exchange(code)).ok().body["scope"] == "account:read payments:read"
        await alice.sql(MOVE, grant["grant_id"], timedelta(seconds=-1))
        await page.goto(f"{service.url}/settings/connected-apps/{grant['grant_id']}")
        await merchant.click("Deutsch")
        await merchant.see("german-connection-expired")


@by_look(NARROW)
async def test_an_owner_sets_where_events_go(
    look: Look, browser: Browser, service: Service, bob: Actor, receiver: Receiver
) -> None:
    app = await application(bob)
    async with visitor(browser, look, service.url) as owner:
        page = owner.page
        await owner.sign_in(bob)
        await page.wait_for_url("**/home")
        await page.goto(f"{service.url}/developers/apps/{app.client_id}/events")
        await owner.see("application-events")
        await page.fill("#connection_webhook_url", "http://app.example/events")
        await owner.click("Save URL")
        await expect(page.locator("#connection_webhook_url")).to_have_attribute("aria-invalid", "true")
        await owner.see("application-events-wrong")
        await page.fill("#connection_webhook_url", receiver.url)
        await owner.click("Save URL")
        await expect(page.locator("#webhook-secret")).to_have_value(re.compile("^whsec_"))
        await owner.see("application-events-secret")
        await page.get_by_role("link", name="I copied the secret").click()
        await owner.click("Rotate signing secret")
        await expect(page.locator("#webhook-secret")).to_have_value(re.compile("^whsec_"))
        await page.goto(f"{service.url}/developers/apps/{app.client_id}/events")
        await owner.click("Deutsch")
        await owner.see("german-application-events")
