"""A merchant limits an application as she connects it, and a key as she makes it, by clicking in headless Chromium."""

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import INTEGRATION, Actor, Application, application
from tests.oauth.test_changing_limits import saved
from tests.receiver import Receiver
from tests.running import Service

SCOPE = "account:read withdrawals:write conversions:write offline_access"

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


def limits(someone: Visitor, kind: str, name: str) -> Locator:
    """A field of the first row of a kind."""
    return someone.page.get_by_role("group", name=kind, exact=True).get_by_label(name, exact=True)


async def allow(someone: Visitor, app: Application) -> str:
    """Allow what moves money, with a limit that is typed wrong first; the code of the callback."""
    page = someone.page
    await page.goto(app.owner.service.url + app.authorize_path(SCOPE))
    for scope in SCOPE.split():
        await page.check(f"input[value='{scope}']")
    await page.locator("summary", has_text="Limits").click()
    await limits(someone, "Withdrawals", "Currency").select_option("EUR")
    await limits(someone, "Withdrawals", "In 24 hours").fill("20.005")
    await page.select_option("#recipients", "selected")
    await page.get_by_label("Nina").check()
    await page.fill("#expires_on", "2999-01-01")
    await someone.see("consent-limits")
    await someone.click("Allow selected")
    await expect(page.get_by_role("alert")).to_contain_text("Check the limits")
    await expect(limits(someone, "Withdrawals", "In 24 hours")).to_have_attribute("aria-invalid", "true")
    await someone.see("consent-limits-wrong")
    await limits(someone, "Withdrawals", "In 24 hours").fill("20.00")
    await someone.click("Allow selected")
    await page.wait_for_url("**/callback?**")
    return dict(pair.split("=", 1) for pair in page.url.partition("?")[2].split("&"))["code"]


async def make_a_key(someone: Visitor) -> str:
    """A key of the till, which may convert 50.00 in 30 days; the key."""
    page = someone.page
    await someone.open_part("API keys")
    await page.fill("#name", "Till")
    await page.locator("summary", has_text="Limits").click()
    await limits(someone, "Conversions", "Currency").select_option("EUR")
    await limits(someone, "Conversions", "In 30 days").fill("50.00")
    await page.get_by_label("Allowed networks").fill("127.0.0.0/8 ::1/128")
    await someone.see("key-limits")
    await someone.click("Create test key")
    return (await page.input_value("#new-key")).strip()


@by_look(WIDE)
async def test_limits_by_clicking(
    look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor, receiver: Receiver
) -> None:
    callback = receiver.url.replace("/hook", "/callback")
    app = await application(bob, redirect_uris=[callback])
    await saved(alice)
    async with visitor(browser, look, service.url, callback) as someone:
        await someone.sign_in(alice)
        tokens = (await app.exchange(await allow(someone, app))).ok().body
        await someone.page.goto(f"{service.url}/test/home")
        headers = {"X-API-Key": await make_a_key(someone)}
        await someone.page.goto(service.url + app.authorize_path(SCOPE))
        await someone.click("Deutsch")
        await someone.page.locator("summary", has_text="Limits").click()
        await someone.see("german-consent-limits")
        [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
        await someone.page.goto(f"{service.url}/settings/connected-apps/{grant['grant_id']}")
        await someone.see("german-connection-limits")
    [granted] = tokens["authorization_details"]
    [limit] = granted["limits"]
    assert (limit["kind"], limit["currency"], limit["per_day"], limit["per_month"]) == ("withdrawals", "EUR", "20.00", None)
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert (len(grant["recipients"]), grant["limits_expire_at"]) == (1, "2999-01-01T00:00:00.000Z")
    account = (await alice.anonymously("GET", f"{INTEGRATION}/account", headers=headers)).ok().body
    assert [(limit["kind"], limit["per_month_remaining"]) for limit in account["limits"]] == [("conversions", "50.00")]
