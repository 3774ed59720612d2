"""A merchant reports an application from the consent page and from its connection, and an operator reads it."""

from uuid import uuid4

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import PASSWORD, Actor, application
from tests.pages.console.operator_pages import invite
from tests.running import Service

WHY = "It asked for my bank password."

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(NARROW)
async def test_an_application_is_reported(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    app = await application(bob, name="Northwind Ledger")
    await app.connect(alice, "account:read")
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    async with visitor(browser, look, service.url) as merchant:
        page = merchant.page
        await merchant.sign_in(alice)
        await page.wait_for_url("**/home")
        await page.goto(service.url + app.authorize_path("account:read"))
        async with page.expect_popup() as opened:
            await page.get_by_role("link", name="Report this application").click()
        report = await opened.value
        await report.fill("#reason", WHY)
        await report.get_by_role("button", name="Report application").click()
        await expect(report.locator("main [role=status]")).to_be_visible()
        await report.close()
        await page.goto(f"{service.url}/settings/connected-apps/{grant['grant_id']}")
        await page.get_by_role("link", name="Report this application").click()
        await merchant.see("report-application")
        await page.fill("#reason", "Again")
        await merchant.click("Report application")
        await expect(page.locator("main")).to_contain_text("was not sent")
        await merchant.see("report-application-again")
        await merchant.click("Deutsch")
        await merchant.see("german-report-application")
    async with visitor(browser, look, service.url) as olga:
        await olga.page.goto(service.url + await invite(service, f"olga-{uuid4().hex[:8]}@house.example"))
        await olga.page.fill("#password", PASSWORD)
        await olga.click("Save password")
        await olga.page.wait_for_url("**/operator")
        await olga.page.goto(f"{service.url}/operator/applications?only=reported&search={app.client_id}")
        await olga.see("operator-applications-reported")
        await olga.page.click(f"a[href='/operator/applications/{app.client_id}'] >> nth=0")
        await expect(olga.page.locator("main")).to_contain_text(WHY)
        await olga.see("operator-application-reported")
