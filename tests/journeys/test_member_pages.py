"""People join a merchant by invitation, get another role with a form open, and leave, by clicking in headless Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.team.invited import id_of, secret_of, somebody
from tests.browser import IN_A_BROWSER, SMALL, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.running import Service
from tollhouse.http.services import Services

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
MEMBERS = "/settings/members"


async def invite(owner: Visitor, alice: Actor, email: str, role: str) -> None:
    """On the page of the members."""
    page = owner.page
    await page.goto(alice.service.url + MEMBERS)
    await page.fill("#email", email)
    await page.select_option("#role", role)
    await owner.click("Send invitation")


@by_look(WIDE)
async def test_joining_and_leaving(
    look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor, services: Services
) -> None:
    email = somebody()
    async with visitor(browser, look, service.url) as owner, visitor(browser, look, service.url) as nina:
        await owner.sign_in(alice)
        await owner.page.wait_for_url("**/home")
        await owner.open_settings("Members")
        await owner.see("members-alone")
        await invite(owner, alice, email, "developer")
        await expect(owner.page.locator("[role=status]")).to_contain_text("Invitation sent.")
        await owner.see("members-invited")
        await join_as_somebody_new(browser, look, service.url + f"/invitation/{await secret_of(services, email)}")
        await nina.page.goto(f"{service.url}/signin")
        await nina.page.fill("#email", email)
        await nina.page.fill("#password", PASSWORD)
        await nina.page.press("#password", "Enter")
        await nina.page.wait_for_url("**/home")
        await invite(owner, alice, bob.email, "finance")
        await join_with_an_account(browser, look, service, bob, await secret_of(services, bob.email))
        await owner.page.goto(service.url + MEMBERS)
        await owner.see("members-three")
        member = f"{service.url}{MEMBERS}/{await id_of(alice, email)}"
        await take_the_role(owner, nina, member)
        await remove(owner, nina, member, email)


async def join_as_somebody_new(browser: Browser, look: Look, link: str) -> None:
    """Without scripts; a password that is too short first, and the link once more afterwards."""
    async with visitor(browser, look, link, scripts=False) as someone:
        page = someone.page
        await page.goto(link)
        await someone.see("invitation-new")
        await page.fill("#password", "short")
        await someone.press("button:has-text('Accept invitation')")
        await expect(page.locator("#password-wrong")).to_be_visible()
        await someone.glance("invitation-new-wrong")
        await page.fill("#password", PASSWORD)
        await someone.press("button:has-text('Accept invitation')")
        await page.wait_for_url("**/home")
        await someone.see("invitation-joined")
        await page.goto(link)
        await expect(page.locator("h1")).to_have_text("This invitation does not work")
        await someone.see("invitation-over")


async def join_with_an_account(browser: Browser, look: Look, service: Service, bob: Actor, secret: str) -> None:
    """Signed in with another address first."""
    link = f"{service.url}/invitation/{secret}"
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(link)
        await someone.see("invitation-existing")
        await page.fill("#password", "not my password")
        await someone.click("Accept invitation")
        await expect(page.locator("[role=alert]")).to_be_visible()
        await someone.glance("invitation-existing-wrong")
        await page.fill("#password", PASSWORD)
        await someone.click("Accept invitation")
        await page.wait_for_url("**/home")
        await page.click("[popovertarget=account]")
        await page.click("text=Change merchant account")
        await expect(page.locator("main")).to_contain_text("Alice's Coffee")
        await someone.see("invitation-merchants")
        assert bob.email


async def take_the_role(owner: Visitor, nina: Visitor, member: str) -> None:
    """She has the form of an API key open when her role changes; it makes no key any more."""
    page = nina.page
    await page.goto(member.partition("/settings")[0] + "/test/developers/keys")
    await page.fill("#name", "Shop server")
    await nina.click("Create test key")
    await page.wait_for_selector("#new-key")
    await page.goto(page.url)
    await page.fill("#name", "Another server")
    await owner.page.goto(member)
    await owner.see("member")
    await owner.page.select_option("#role", "read_only")
    await owner.click("Change role")
    await expect(owner.page.locator("[role=status]")).to_contain_text("Role changed.")
    await owner.glance("member-role-changed")
    await nina.click("Create test key")
    await expect(page.locator("main")).to_contain_text("role")
    await nina.see("member-role-forbidden")


async def remove(owner: Visitor, nina: Visitor, member: str, email: str) -> None:
    """The owner sees what she made, and she is signed out."""
    await owner.click("Remove member")
    await owner.agree(f"Remove {email}?")
    await expect(owner.page.locator("main")).to_contain_text("This person is not a member any more")
    await expect(owner.page.locator("main")).to_contain_text("Shop server")
    await owner.see("member-former")
    await nina.page.goto(member)
    await expect(nina.page.locator("h1")).to_have_text("Sign in")


@by_look(SMALL)
async def test_in_german(look: Look, browser: Browser, service: Service, alice: Actor, services: Services) -> None:
    email = somebody()
    async with visitor(browser, look, service.url) as owner, visitor(browser, look, service.url) as nina:
        await owner.sign_in(alice)
        await owner.page.wait_for_url("**/home")
        await invite(owner, alice, email, "administrator")
        await owner.click("Deutsch")
        await owner.page.goto(service.url + MEMBERS)
        await owner.see("members-german")
        link = f"{service.url}/invitation/{await secret_of(services, email)}"
        await owner.page.goto(link)
        await expect(owner.page.locator("main")).to_contain_text(alice.email)
        await owner.see("invitation-other-german")
        await nina.page.context.set_extra_http_headers({"Accept-Language": "de"})
        await nina.page.goto(link)
        await nina.see("invitation-german")
        await nina.page.fill("#password", PASSWORD)
        await nina.page.locator("main form button").first.click()
        await nina.page.wait_for_url("**/home")
        member = f"{service.url}{MEMBERS}/{await id_of(alice, email)}"
        await owner.page.goto(member)
        await owner.see("member-german")
