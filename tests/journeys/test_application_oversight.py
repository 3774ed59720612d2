"""Oversight of applications in a browser: the form, a consent page with links and badge, and the operators' pages."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, application
from tests.oauth.test_links import LINKS
from tests.pages.console.operator_pages import invite
from tests.running import Service
from tollhouse.oauth.model import DEVICE_CODE_GRANT

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@pytest.fixture(scope="module")
def service(make_service: Callable[..., Service]) -> Service:
    """A service that reviews applications."""
    return make_service(TOLLHOUSE_REVIEW_APPLICATIONS="on")


@by_look(NARROW)
async def test_an_application_is_reviewed(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    app = await application(bob, name="Northwind Ledger", **LINKS)
    authorize = service.url + app.authorize_path("account:read payments:write", mode="live")
    async with visitor(browser, look, service.url) as owner:
        await owner.sign_in(bob)
        await owner.page.wait_for_url("**/home")
        await owner.page.goto(f"{service.url}/developers/apps/{app.client_id}/settings")
        await owner.page.check(f"input[value='{DEVICE_CODE_GRANT}']")
        await owner.see("application-settings")
        await owner.click("Save settings")
        await expect(owner.page.locator("main")).to_contain_text("Settings saved.")
        await expect(owner.page.locator(f"input[value='{DEVICE_CODE_GRANT}']")).to_be_checked()
        await owner.page.goto(f"{service.url}/developers/apps/new")
        await owner.glance("application-new")
    async with visitor(browser, look, service.url) as merchant:
        await merchant.sign_in(alice)
        await merchant.page.wait_for_url("**/home")
        await merchant.page.goto(authorize)
        await expect(merchant.page.locator("main")).to_contain_text("The operator of this service has to approve it first.")
        await merchant.see("consent-not-approved")
        async with visitor(browser, look, service.url) as olga:
            await review(olga, service, app.client_id)
        await merchant.page.goto(authorize)
        await expect(merchant.page.locator("main")).to_contain_text("(verified)")
        await merchant.see("consent-verified")


async def review(olga: Visitor, service: Service, client_id: str) -> None:
    """An operator finds the application, approves it and verifies it."""
    page = olga.page
    await page.goto(service.url + await invite(service, f"olga-{uuid4().hex[:8]}@house.example"))
    await page.fill("#password", PASSWORD)
    await olga.click("Save password")
    await page.wait_for_url("**/operator")
    await page.goto(f"{service.url}/operator/applications")
    await page.select_option("#only", "to_approve")
    await olga.click("Search")
    await olga.see("operator-applications-to-approve")
    await page.click(f"a[href='/operator/applications/{client_id}'] >> nth=0")
    await olga.see("operator-application-to-approve")
    await page.fill("#remark", "Contract of 3 March")
    await olga.click("Approve live writes")
    await expect(page.locator("main")).to_contain_text("Done: application approved")
    await page.fill("#verified_by", "Commercial register")
    await olga.click("Verify application")
    await expect(page.locator("main")).to_contain_text("Done: application verified")
    await olga.see("operator-application-reviewed")
    await page.goto(f"{service.url}/operator/applications?only=verified")
    await olga.glance("operator-applications-verified")
