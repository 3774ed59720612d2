"""A developer connects the own account with the debugger, verifies a signature and advances the test clock, in Chromium."""

import base64
import hmac
import time

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, Application, application
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes....").decode()
BODY = '{"id":"0193-7","type":"payment.succeeded"}'


@by_look(WIDE)
async def test_debugging_an_application(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    app = await application(alice, scopes=["account:read", "offline_access"])
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await register_the_debugger(someone, app)
        await walk_the_flow(someone, app)


async def register_the_debugger(someone: Visitor, app: Application) -> None:
    """The page says what is missing, and how to add it."""
    page, path = someone.page, f"{app.owner.service.url}/developers/apps/{app.client_id}"
    await page.wait_for_url("**/home")
    await page.goto(f"{path}/debug")
    await someone.see("debugger-unregistered")
    callback = await page.locator("#callback").input_value()
    assert callback == f"{path}/debug"
    await page.goto(f"{path}/settings")
    await page.fill("[name=redirect_uris]", callback)
    await someone.click("Save settings")
    await expect(page.locator("[role=status]")).to_contain_text("Settings saved.")


async def walk_the_flow(someone: Visitor, app: Application) -> None:
    """From the authorization URL to the revoked connection; each request and response is shown, without the secret."""
    page, secret = someone.page, app.client_secret
    await page.goto(f"{app.owner.service.url}/developers/apps/{app.client_id}/debug")
    await expect(page.locator("[data-authorization]")).to_contain_text("code_challenge=")
    await someone.see("debugger")
    await someone.click("Go to the consent page")
    if await page.locator("#password").count():
        await page.fill("#password", PASSWORD)
    await page.check("input[value=offline_access]")
    await someone.click("Allow selected")
    await expect(page.locator("[data-parameters]")).to_contain_text("(matches)")
    assert "code=" not in page.url
    await page.fill("#client-secret", secret or "")
    await someone.click("Exchange code")
    response = page.locator("[data-exchange=token] [data-response]")
    await expect(response).to_contain_text('"access_token"')
    assert (secret or "-") not in await page.locator("[data-exchange=token] [data-request]").inner_text()
    await someone.click("Retrieve the account")
    used = page.locator("[data-exchange=use] [data-response]")
    await expect(used).to_contain_text('"merchant_id"')
    await someone.click("Refresh the tokens")
    await expect(used).to_contain_text('"refresh_token"')
    await someone.see("debugger-connected")
    await someone.click("Revoke the connection")
    await expect(used).to_contain_text("HTTP 200")
    await someone.click("Retrieve the account")
    await expect(used).to_contain_text("HTTP 401")


@by_look(WIDE)
async def test_verifying_a_signature(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await page.wait_for_url("**/home")
        await page.goto(f"{service.url}/test/developers/webhooks/signatures")
        await page.fill("#body", BODY)
        await page.fill("#secret", SECRET)
        await verify(someone, "Enter at least one signature.")
        await page.fill("#signature", hmac.digest(SECRET.encode(), BODY.encode(), "sha256").hex())
        await verify(someone, "The signature is valid.")
        await someone.see("signatures")
        await page.fill("#body", BODY + " ")
        await verify(someone, "The signature does not match.")
        await page.fill("#body", BODY)
        await page.fill("#signature", "")
        for age, said in ((0, "The signature is valid."), (400, "sent more than 5 minutes ago")):
            sent_at = int(time.time()) - age
            key = base64.b64decode(SECRET.removeprefix("whsec_"))
            digest = hmac.digest(key, f"msg_1.{sent_at}.{BODY}".encode(), "sha256")
            await page.fill("#id", "msg_1")
            await page.fill("#timestamp", str(sent_at))
            await page.fill("#standard", f"v1,AAAA v1,{base64.b64encode(digest).decode()}")
            await verify(someone, said)


async def verify(someone: Visitor, said: str) -> None:
    await someone.click("Verify")
    await expect(someone.page.locator("[data-result]")).to_contain_text(said)


@by_look(WIDE)
async def test_advancing_the_clock(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await page.wait_for_url("**/home")
        await someone.open_part("Test clock")
        await someone.see("clock")
        await page.select_option("#seconds", "604800")
        await someone.click("Advance clock")
        await expect(page.locator("main")).to_contain_text("7 days ahead of the present time.")
        await expect(page.locator("[role=status]")).to_contain_text("Clock advanced.")
        await page.locator("nav.mode").get_by_role("link", name="Live").click()
        await expect(page.locator("main")).to_contain_text("The test clock exists only in the test environment.")
        await someone.glance("clock-live")
