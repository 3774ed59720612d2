"""A brand in a browser: logo, preview of the checkout, preview of the consent page, credentials as a file."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.settings.logo_files import svg
from tests.browser import IN_A_BROWSER, NARROW, WIDE, Look, by_look, visitor
from tests.cast import Actor, application
from tests.payments.shop import open_link

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
LOGO = svg('<rect width="20" height="10" rx="2" fill="#17493b"/><circle cx="5" cy="5" r="3" fill="#e9b44c"/>')


@by_look(WIDE)
async def test_a_logo_from_upload_to_checkout(browser: Browser, alice: Actor, look: Look, tmp_path: Path) -> None:
    file = tmp_path / "logo.svg"
    file.write_bytes(LOGO)
    link = await open_link(alice)
    async with visitor(browser, look, alice.service.url) as someone:
        page = someone.page
        url = alice.service.url
        await someone.sign_in(alice)
        await expect(page.locator("main h1")).to_be_visible()
        await page.goto(f"{url}/test/settings/payments")
        await page.set_input_files("#logo", file)
        await someone.click("Upload logo")
        await expect(page.locator(".banner.ok")).to_have_text("Logo uploaded.")
        for image in await page.locator("img.logo").all():
            assert await image.evaluate("image => image.complete && image.naturalWidth") == 240
        await someone.see("brand-settings")
        await page.goto(f"{url}/test/payment-links/new")
        await page.fill("#display_name", "Harbour blend")
        await page.fill("#amount", "24.90")
        await expect(page.locator(".preview")).to_contain_text("Harbour blend")
        await expect(page.locator(".preview")).to_contain_text("€24.90")
        await someone.see("brand-new-link")
        await page.goto(link["url"])
        logo = page.locator("img.logo")
        box = await logo.bounding_box()
        assert box is not None
        assert (round(box["width"]), round(box["height"])) == (80, 40)
        await someone.see("brand-checkout")


@by_look(NARROW)
async def test_a_consent_page_in_advance_and_a_file_of_credentials(browser: Browser, bob: Actor, look: Look) -> None:
    app = await application(bob)
    async with visitor(browser, look, bob.service.url) as someone:
        page = someone.page
        url = bob.service.url
        await someone.sign_in(bob)
        await expect(page.locator("main h1")).to_be_visible()
        await page.goto(f"{url}/developers/apps/{app.client_id}")
        await page.click("text=Preview consent page")
        await expect(page.locator("h1")).to_contain_text("wants to connect to")
        await expect(page.locator("button:has-text('Allow selected')")).to_be_disabled()
        await someone.see("consent-preview")
        await page.click("text=Back to application")
        await page.goto(f"{url}/developers/apps/{app.client_id}/secret")
        await someone.click("Rotate client secret")
        await expect(page.locator("#new-secret")).to_be_visible()
        await someone.see("consent-new-secret")
        async with page.expect_download() as saving:
            await page.click("text=Download .env file")
        saved = await saving.value
        assert saved.suggested_filename == "tollhouse.env"
        text = Path(await saved.path()).read_text()
        assert re.fullmatch(
            rf"TOLLHOUSE_ISSUER=\S+\nTOLLHOUSE_CLIENT_ID={app.client_id}\nTOLLHOUSE_CLIENT_SECRET=thcs_\w+\n", text
        )
