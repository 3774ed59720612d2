"""What makes the dashboard quick and easy on the eye, in headless Chromium: keys, light or dark, copying an id."""

import pytest
from playwright.async_api import Browser, Dialog, expect

from tests.browser import FOLDED_BELOW, IN_A_BROWSER, NARROW, WIDE, Look, Visitor, by_look, visitor
from tests.cast import Actor
from tests.payments.shop import open_link
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
KEYS = """
- dialog "Keyboard shortcuts":
  - heading "Keyboard shortcuts" [level=2]
  - term: Home
  - definition: g h
  - term: Payments
  - definition: g p
"""
SURE = """
- dialog /Revoke the key “.+”/:
  - heading /Requests that use it will fail immediately/ [level=2]
  - button "Go back"
  - button "Revoke"
"""
FOLDED = """
- button "Menu"
- button "Account menu"
"""
UNFOLDED = """
- navigation "Dashboard":
  - list:
    - listitem:
      - link "Home"
    - listitem:
      - link "Payments"
    - listitem:
      - link "Payment links"
  - region "Accounting":
    - heading "Accounting" [level=2]
    - list:
      - listitem:
        - link "Reports"
  - group: Developers
  - list:
    - listitem:
      - link "Settings"
"""


@by_look(NARROW)
async def test_the_comforts_of_the_dashboard(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    link = await open_link(alice)
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await someone.page.wait_for_url("**/test/home")
        await go_by_keys(someone, service)
        await fold(someone)
        await think_again(someone, service)
        await copy_an_id(someone, f"{service.url}/test/payment-links/{link['id']}")
        await choose_a_theme(someone)
        await switch_keys_off(someone)


@by_look(WIDE)
async def test_the_search_of_the_dashboard(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    """The key `/` goes to the top bar also where the page has filters, and Enter searches."""
    await open_link(alice, display_name="Guided tour", external_id="order-1001", customer_email="nina@example.com")
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await page.wait_for_url("**/test/home")
        await page.goto(f"{service.url}/test/payments")
        if look.width >= FOLDED_BELOW:
            await page.keyboard.press("/")
            await expect(page.locator("#q")).to_be_focused()
        else:
            await page.get_by_role("link", name="Search", exact=True).click()
            await expect(page).to_have_title("TEST · Search · Tollhouse")
            await page.keyboard.press("/")
            await expect(page.locator("#search")).to_be_focused()
        await page.keyboard.type("order-10")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"{service.url}/test/search?q=order-10")
        await expect(page.get_by_role("table", name="Payment links").get_by_role("link")).to_have_text("Guided tour")
        await someone.see("search")
        await page.goto(f"{service.url}/live/search?q=order-1001")
        await expect(page.locator(".banner[role=status]")).to_contain_text("Also found in test mode.")
        await someone.see("search-elsewhere")
        await page.get_by_role("link", name="Show results in test mode").click()
        await page.get_by_role("link", name="Guided tour").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text("Guided tour")


async def go_by_keys(someone: Visitor, service: Service) -> None:
    """To a list, into the search of the bar or the first filter, which opens; there keys are letters. The list of keys."""
    page = someone.page
    await page.keyboard.type("gv")
    await expect(page).to_have_url(f"{service.url}/test/developers/events")
    await page.keyboard.press("/")
    wide = someone.look.width >= FOLDED_BELOW
    await expect(page.locator("#q" if wide else "#status")).to_be_focused()
    if wide:
        await page.locator("#q").blur()
    else:
        await page.keyboard.press("Escape")
    await expect(page.locator("#status")).to_be_hidden()
    await page.keyboard.type("gr")
    await expect(page).to_have_title("TEST · API requests · Tollhouse")
    await page.keyboard.press("/")
    search = page.locator("#q" if wide else "#path")
    await expect(search).to_be_focused()
    await page.keyboard.type("g?h")
    await expect(search).to_have_value("g?h")
    await expect(page.locator("#shortcuts")).to_be_hidden()
    await search.blur()
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_match_aria_snapshot(KEYS)
    await someone.see("shortcuts")
    await page.keyboard.press("Escape")
    await expect(page.locator("#shortcuts")).to_be_hidden()
    await page.keyboard.type("gp")
    await expect(page).to_have_url(f"{service.url}/test/payments")


async def fold(someone: Visitor) -> None:
    """A narrow window has a button for the navigation, which comes before the page, and Escape closes it."""
    page = someone.page
    is_folded = someone.look.width < FOLDED_BELOW
    if is_folded:
        await page.reload()
        await expect(page.locator("nav.side")).to_be_hidden()
        await expect(page.locator(".top")).to_match_aria_snapshot(FOLDED)
        await someone.press(".top [popovertarget=nav]")
        await someone.see("menu")
    await expect(page.locator(".side a[aria-current=page]")).to_have_text("Payments")
    await expect(page.locator("nav.side")).to_match_aria_snapshot(UNFOLDED)
    if is_folded:
        await page.keyboard.press("Escape")
        await expect(page.locator("nav.side")).to_be_hidden()


async def think_again(someone: Visitor, service: Service) -> None:
    """Before a key is revoked its name is said. Enter does no harm, and neither does Escape."""
    page = someone.page
    await page.goto(f"{service.url}/test/developers/keys")
    for key in ("Enter", "Escape"):
        await page.locator("[popovertarget^=more-]").first.click()
        await page.locator("form[data-sure] button").first.click()
        await expect(page.locator("#sure")).to_match_aria_snapshot(SURE)
        if key == "Enter":
            await someone.see("sure")
        await page.keyboard.press(key)
        await expect(page.locator("#sure")).to_be_hidden()
    await expect(page.locator("form[data-sure]")).to_have_count(1)
    await page.locator("[popovertarget^=more-]").first.click()
    await page.locator("form[data-sure] button").click()
    await page.locator("#sure [value=yes]").click()
    await expect(page.locator("form[data-sure]")).to_have_count(0)


async def copy_an_id(someone: Visitor, address: str) -> None:
    """Beside it there is a button for that."""
    page = someone.page
    await page.goto(address)
    await page.get_by_role("button", name="Copy Payment link ID").click()
    await expect(page.locator("p[aria-live]")).to_contain_text("ID")
    await someone.glance("copied")


async def choose_a_theme(someone: Visitor) -> None:
    """The other one than the device's, and the same again."""
    page = someone.page
    other = "Light" if someone.look.theme == "dark" else "Dark"
    await page.get_by_role("form", name="Appearance").get_by_role("button", name=other).click()
    await expect(page.locator("html")).to_have_attribute("data-theme", other.lower())
    await someone.glance("other-theme")
    await page.get_by_role("form", name="Appearance").get_by_role("button", name="System").click()
    await expect(page.locator("html[data-theme]")).to_have_count(0)


async def switch_keys_off(someone: Visitor) -> None:
    """Then a key is only a key, until they are switched on again."""
    page = someone.page
    await open_help(someone)
    await page.get_by_role("button", name="Keyboard shortcuts").click()
    await page.get_by_role("button", name="Turn off shortcuts").click()
    await page.wait_for_load_state("load")
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_have_count(0)
    await open_help(someone)
    await page.get_by_role("button", name="Turn on keyboard shortcuts").click()
    await expect(page.locator("#shortcuts")).to_have_count(1)
    await open_help(someone)
    await expect(page.get_by_role("button", name="Keyboard shortcuts", exact=True)).to_be_visible()


async def open_help(someone: Visitor) -> None:
    """The menu with the shortcuts. A narrow window has it in the account menu."""
    menu = "account" if someone.look.width < FOLDED_BELOW else "help"
    await someone.page.locator(f".top [popovertarget={menu}]").click()


@by_look(WIDE)
async def test_unsaved_changes(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    """A changed form says so and asks before its page is left; not when it is saved, discarded or as it was."""
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        page.on("dialog", stay)
        await someone.sign_in(alice)
        await page.goto(f"{service.url}/settings/business")
        form, bar = page.locator("form[data-unsaved]"), page.get_by_text("You have unsaved changes.")
        name = await page.input_value("#business_name")
        await expect(form).to_have_attribute("data-unsaved", "no")
        await expect(bar).to_be_hidden()
        await page.fill("#business_name", f"{name}!")
        await expect(bar).to_be_visible()
        await someone.see("settings-unsaved")
        await page.get_by_role("link", name="Audit log").click()
        assert asked == ["beforeunload"]
        await expect(page.locator("#business_name")).to_have_value(f"{name}!")
        await page.fill("#business_name", name)
        await expect(form).to_have_attribute("data-unsaved", "no")
        await page.fill("#business_name", f"{name}?")
        await page.get_by_role("link", name="Discard").click()
        await expect(page.locator("#business_name")).to_have_value(name)
        await page.fill("#business_name", f"{name} 2")
        await someone.click("Save settings")
        await expect(page.get_by_role("status")).to_have_text("Settings saved.")
        await expect(form).to_have_attribute("data-unsaved", "no")
        assert asked == ["beforeunload"]
        await page.evaluate("document.querySelector('#business_name').required = false")
        await page.fill("#business_name", "")
        await someone.click("Save settings")
        await expect(form).to_have_attribute("data-unsaved", "yes")
        await someone.see("settings-wrong")
        await page.get_by_role("link", name="Business name: ").click()
        await expect(page.locator("#business_name")).to_be_focused()
