"""A headless Chromium that watches over every page it is shown: CSP, axe, sideways overflow, foreign requests."""

import os
import re
import shutil
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import axe_playwright_python
import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.cast import PASSWORD, Actor

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = os.environ.get("CHROMIUM") or next((found for name in BROWSERS if (found := shutil.which(name))), None)
"""The one without windows first: it takes half the processor time of a whole Chromium in headless mode."""
PICTURES = Path(__file__).parent / "pictures"
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--js-flags=--single-threaded",
]  # fmt: skip
"""On pages that live for a second, what JavaScript compiles and collects in threads of its own is not worth its time."""
HEIGHT = 900
FOLDED_BELOW = 960
TABS_MAX = 120
FOCUS_IS_SEEN = """
    element => {
        const tile = element.closest(".choice, .affix") ?? element;
        const look = getComputedStyle(tile, tile.matches(".hit") ? "::after" : null);
        const box = element.getBoundingClientRect(), middle = box.y + box.height / 2;
        const seen = [box.left + 3, box.x + box.width / 2, box.right - 3].map(x => document.elementFromPoint(x, middle));
        return look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2 && seen.some(top => element.contains(top));
    }
"""
OF_THE_LOOK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""What axe may find in one theme or width, and not in the other."""
EVERY_LOOK = "TOLLHOUSE_EVERY_LOOK" in os.environ
"""Whether each journey is made in each theme and width, with pictures; else in one, which takes a quarter."""
IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: what is seen in a browser was not tested"),
]
"""The marks of a file, or of a test, that needs a browser."""
EXPECTED_WITHIN_MS = 30_000
expect.set_options(timeout=EXPECTED_WITHIN_MS)
Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Look:
    """How the pages are looked at."""

    theme: Theme
    width: int

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


WIDE, NARROW = Look("light", 1280), Look("dark", 390)
LOOKS = [WIDE, NARROW, Look("light", 390), Look("dark", 1280)]
SMALL = Look("light", 320)
"""The narrowest window in which every page must fit."""


def by_look(usual: Look) -> pytest.MarkDecorator:
    """A journey in this look; in each of them where that is asked for."""
    return pytest.mark.parametrize("look", list(dict.fromkeys([*LOOKS, usual])) if EVERY_LOOK else [usual], ids=str)


def in_a_browser(test: Any) -> Any:
    """A test of its own among others that need no browser."""
    for mark in IN_A_BROWSER:
        test = mark(test)
    return test


@dataclass
class Visitor:
    """Somebody at a browser."""

    page: Page
    look: Look
    origins: set[str]
    problems: list[str] = field(default_factory=list[str])
    scripts: bool = True

    async def see(self, name: str) -> None:
        """Look at the page that is open: note what is wrong with it, and what would be in the other look."""
        await self._begin(name)
        await self.measure(name)
        if self.scripts:  # without, axe waits for timers, which do not run
            await self.load_axe()
            await self.run_axe(name, {"type": "tag", "values": RULES})
        await self.turn(self._other)
        await self.measure(name)
        if self.scripts and not EVERY_LOOK:
            await self.run_axe(name, {"type": "rule", "values": OF_THE_LOOK})
        await self.turn(self.look)

    async def glance(self, name: str) -> None:
        """See a page that has nothing which axe does not see on another one."""
        if EVERY_LOOK:
            await self.see(name)
            return
        await self._begin(name)
        for width in (self._other.width, self.look.width):
            await self.page.set_viewport_size({"width": width, "height": HEIGHT})
            await self.measure(name)

    @property
    def _other(self) -> Look:
        return NARROW if self.look.width == WIDE.width else WIDE

    async def _begin(self, name: str) -> None:
        await self.page.wait_for_load_state("load")
        if EVERY_LOOK:
            PICTURES.mkdir(exist_ok=True)
            await self.page.screenshot(path=PICTURES / f"{name}-{self.look}.png", full_page=True)

    async def measure(self, name: str) -> None:
        """Note that the page is too wide."""
        if await self.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            width = await self.page.evaluate("innerWidth")
            self.problems.append(f"{name} is wider than a window of {width}")

    async def load_axe(self) -> None:
        """Make axe ready on the page that is open."""
        await self.page.evaluate("window.axe || loadAxe()")

    async def run_axe(self, name: str, rules: dict[str, Any]) -> None:
        """Note what axe finds, which is loaded, by these rules."""
        found: list[dict[str, Any]] = await self.page.evaluate(
            "rules => axe.run({runOnly: rules, resultTypes: ['violations'], preload: false}).then(one => one.violations)",
            rules,
        )
        self.problems += [
            f"{name}: {violation['id']} {[node['target'] for node in violation['nodes']]}" for violation in found
        ]

    async def turn(self, look: Look) -> None:
        """Look at the page in this look."""
        await self.page.emulate_media(color_scheme=look.theme, reduced_motion="reduce")  # colours change at once
        await self.page.set_viewport_size({"width": look.width, "height": HEIGHT})

    async def click(self, button: str) -> None:
        """Click the first button that says this. Read what follows by `expect`, which waits for it."""
        await self.page.click(f"button:has-text('{button}')")

    async def filter_by(self, name: str, value: str) -> None:
        """Filter a list by this value: open the chip, choose or type, apply."""
        chip = self.page.locator(".filters details.pop", has=self.page.locator("summary", has_text=name))
        await chip.locator("summary").click()
        entry = chip.locator("select, input")
        await (entry.select_option(value) if await chip.locator("select").count() else entry.fill(value))
        async with self.page.expect_navigation():
            await chip.get_by_role("button", name="Apply").click()

    async def agree(self, question: str) -> None:
        """Say yes to the question that is asked before what cannot be undone."""
        sure = self.page.locator("#sure")
        await expect(sure.get_by_role("heading")).to_have_text(question)
        async with self.page.expect_navigation():
            await sure.locator("[value=yes]").click()

    async def open_part(self, name: str) -> None:
        """Open a part of the dashboard by the navigation at its side, which a narrow window folds."""
        side, named = (
            self.page.locator(".side"),
            re.compile(rf"^{name}( ?[0-9,.]+ (open|disputes to respond to|proposals to decide))?$"),
        )
        if self.look.width < FOLDED_BELOW:
            await self.page.locator(".top [popovertarget=nav]").click()
        folded = side.locator("details:not([open])", has=self.page.get_by_role("link", name=named, include_hidden=True))
        if await folded.count():
            await folded.locator("summary").click()
        await side.get_by_role("link", name=named).click()

    async def press_part(self, name: str) -> None:
        """The same with keys alone."""
        if self.look.width < FOLDED_BELOW:
            await self.press(".top [popovertarget=nav]")
        await self.press(f".side a:text-matches('^{name}( ?[0-9,.]+ (open|disputes to respond to|proposals to decide))?$')")

    async def sign_in(self, actor: Actor) -> None:
        """At the page for it, by the password."""
        await self.page.goto(f"{actor.service.url}/signin")
        await self.page.fill("#email", actor.email)
        await self.page.fill("#password", PASSWORD)
        await self.click("Sign in")

    async def sign_out(self) -> None:
        """By the account menu."""
        await self.page.locator(".top [popovertarget=account]").click()
        await self.page.locator("#account").get_by_role("button", name="Sign out").click()

    async def open_settings(self, tab: str) -> None:
        """Open a tab of the settings."""
        await self.open_part("Settings")
        await self.page.locator(".tabs").get_by_role("link", name=tab, exact=True).click()

    async def look_until_it_ended(self) -> None:
        """Refresh until the worker has done its part."""
        await self.page.wait_for_load_state("load")
        refresh = self.page.locator("a:text-matches('^(Refresh|Look again)$')")
        while await refresh.count():
            async with self.page.expect_navigation():
                await refresh.click()

    async def press(self, wanted: str, key: str = "Enter") -> None:
        """Go there with the Tab key alone, and press this key. The focus must be seen, not covered as a whole."""
        place = await self.page.locator(wanted).element_handle()  # a locator would look for it after each key
        for _ in range(TABS_MAX):
            await self.page.keyboard.press("Tab")
            if await place.evaluate("element => element === document.activeElement"):
                break
        else:
            raise AssertionError(f"no Tab reaches {wanted}")
        if not await place.evaluate(FOCUS_IS_SEEN):
            self.problems.append(f"{self.page.url}: the focus on {wanted} is not seen")
        await self.page.keyboard.press(key)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser of the machine."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def visitor(browser: Browser, look: Look, *origins: str, scripts: bool = True) -> AsyncIterator[Visitor]:
    """A browser window of its own. Afterwards nothing may have been wrong on any page it saw."""
    context: BrowserContext = await browser.new_context(
        color_scheme=look.theme, viewport={"width": look.width, "height": HEIGHT}, java_script_enabled=scripts
    )
    if scripts:  # every page has axe, but reads it only when it is seen: to send it takes longer than to run it
        await context.add_init_script(f"window.loadAxe = () => {{ {AXE.read_text()} }}")
    page = await context.new_page()
    someone = Visitor(page, look, {urlsplit(origin).netloc for origin in origins}, scripts=scripts)
    await context.add_init_script(
        "addEventListener('securitypolicyviolation', event => console.error('Content Security Policy', event.blockedURI))"
    )
    page.on(
        "console",
        lambda said: someone.problems.append(f"{page.url}: {said.text}") if "Content Security Policy" in said.text else None,
    )
    page.on(
        "request",
        lambda request: (
            someone.problems.append(f"{page.url} asked {request.url}")
            if urlsplit(request.url).netloc not in someone.origins and request.url.startswith("http")
            else None
        ),
    )
    yield someone
    await context.close()
    assert someone.problems == []


def warn_without_browser() -> None:
    """Say loudly that the browser journeys are left out."""
    warnings.warn("There is no Chromium on this machine: the browser journeys are skipped.", stacklevel=2)
