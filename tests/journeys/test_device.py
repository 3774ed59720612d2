"""A merchant connects a program on another device by its code, in headless Chromium."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import Actor, Answer, Application
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def start(command: Application) -> dict[str, Any]:
    form = {"scope": "account:read webhooks:read offline_access", "mode": "test"}
    return (await command.protocol("/api/v2/oauth/device_authorization", form)).ok().body


async def poll(command: Application, codes: dict[str, Any]) -> Answer:
    return await command.token(grant_type=GRANT, device_code=codes["device_code"])


@pytest.mark.parametrize("scripts", [True, False])
@by_look(NARROW)
async def test_connecting_a_device(look: Look, browser: Browser, service: Service, alice: Actor, scripts: bool) -> None:
    command = Application(alice, "tollhouse-cli", None)
    async with visitor(browser, look, service.url, scripts=scripts) as someone:
        await someone.sign_in(alice)
        await someone.page.wait_for_url("**/home")
        codes = await start(command)
        await enter(someone, codes["verification_uri"], codes["user_code"].lower())
        await someone.see("device-consent")
        await someone.page.check("input[value=offline_access]")
        await someone.click("Allow selected")
        await expect(someone.page.locator("main")).to_contain_text("return to your device")
        await someone.see("device-connected")
        assert (await poll(command, codes)).ok().body["access_token"]
        codes = await start(command)
        await someone.page.goto(codes["verification_uri_complete"])
        await someone.click("Continue")
        await someone.click("Deny")
        await expect(someone.page.locator("main")).to_contain_text("The device gets no access.")
        await someone.glance("device-denied")
        (await poll(command, codes)).refused("access_denied", 400)


async def enter(someone: Visitor, address: str, code: str) -> None:
    """A wrong code, then the right one, in small letters."""
    page = someone.page
    await page.goto(address)
    await someone.see("device")
    await page.fill("#user-code", "BBBB-BBBB")
    await someone.click("Continue")
    await expect(page.get_by_role("alert")).to_contain_text("This code is wrong or has expired.")
    await someone.glance("device-wrong-code")
    await page.fill("#user-code", code)
    await someone.click("Continue")
    await expect(page.locator("main")).to_contain_text("Tollhouse CLI")
