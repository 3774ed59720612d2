"""A headless Chromium that watches over every page it is shown: CSP, axe, sideways overflow, foreign requests."""

import os
import shutil
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import axe_playwright_python
import msgspec
import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.cast import PASSWORD, Actor

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = Path(__file__).parent / "pictures"
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS, HEIGHT = frozenset({1280, 390}), 900
FOLDED_BELOW = 768
TABS_MAX = 120
FOCUS_IS_SEEN = """
    element => {
        const look = getComputedStyle(element), box = element.getBoundingClientRect(), middle = box.y + box.height / 2;
        const seen = [box.left + 3, box.x + box.width / 2, box.right - 3].map(x => document.elementFromPoint(x, middle));
        return look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2 && seen.some(top => element.contains(top));
    }
"""
EVERY_LOOK = "TOLLHOUSE_EVERY_LOOK" in os.environ
"""Whether each journey is made in each theme and width, with the CSP and with axe; else twice, which takes a quarter."""
IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: what is seen in a browser was not tested"),
]
"""The marks of a file, or of a test, that needs a browser."""
EXPECTED_WITHIN_MS = 30_000
expect.set_options(timeout=EXPECTED_WITHIN_MS)
Theme = Literal["light", "dark"]


@dataclass
class Look:
    """How the pages are looked at. `axe` looks for faults of accessibility, without the CSP; else the CSP is on."""

    theme: Theme
    width: int
    axe: bool

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


LOOKS = [Look("light", 1280, axe=False), Look("dark", 390, axe=True)]
ALL_LOOKS = [Look(theme, width, axe) for theme in ("light", "dark") for width in (1280, 390) for axe in (False, True)]


def by_look(looks: list[Look]) -> pytest.MarkDecorator:
    """A test for each of these looks, named after it."""
    looks = ALL_LOOKS if EVERY_LOOK else looks
    return pytest.mark.parametrize("look", looks, ids=lambda look: f"{look}-{'axe' if look.axe else 'csp'}")


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
    faults: list[str] = field(default_factory=list[str])

    async def see(self, name: str) -> None:
        """Look at the page that is open: take its picture, and note what is wrong with it."""
        await self.page.wait_for_load_state("load")
        if not self.look.axe:
            PICTURES.mkdir(exist_ok=True)
            await self.page.screenshot(path=PICTURES / f"{name}-{self.look}.png", full_page=True)
        others = () if self.look.axe else WIDTHS - {self.look.width}
        for width in (*others, self.look.width):
            await self.page.set_viewport_size({"width": width, "height": HEIGHT})
            if await self.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                self.faults.append(f"{name} is wider than a window of {width}")
        if self.look.axe:
            await self.page.evaluate(AXE.read_text())
            found: list[dict[str, Any]] = await self.page.evaluate(
                f"axe.run({{runOnly: {msgspec.json.encode(RULES).decode()}}}).then(result => result.violations)"
            )
            self.faults += [f"{name}: {one['id']} {[node['target'] for node in one['nodes']]}" for one in found]

    async def glance(self, name: str) -> None:
        """See a page that has nothing which axe does not see on another one."""
        if EVERY_LOOK or not self.look.axe:
            await self.see(name)
        await self.page.wait_for_load_state("load")

    async def click(self, button: str) -> None:
        """Click the first button that says this. Read what follows by `expect`, which waits for it."""
        await self.page.click(f"button:has-text('{button}')")

    async def agree(self, question: str) -> None:
        """Say yes to the question that is asked before what cannot be undone."""
        sure = self.page.locator("#sure")
        await expect(sure.get_by_role("heading")).to_have_text(question)
        async with self.page.expect_navigation():
            await sure.locator("[value=yes]").click()

    async def open_part(self, name: str) -> None:
        """Open a part of the dashboard by the navigation at its side, which a narrow window folds."""
        side = self.page.locator(".side")
        if self.look.width < FOLDED_BELOW:
            await side.locator(".menu:not([open]) > summary").click()
        await side.get_by_role("link", name=name, exact=True).click()

    async def press_part(self, name: str) -> None:
        """The same with keys alone."""
        if self.look.width < FOLDED_BELOW:
            await self.press(".menu > summary")
        await self.press(f".side a:text-is('{name}')")

    async def sign_in(self, actor: Actor) -> None:
        """At the page for it, by the password."""
        await self.page.goto(f"{actor.service.url}/signin")
        await self.page.fill("#email", actor.email)
        await self.page.fill("#password", PASSWORD)
        await self.click("Sign in")

    async def look_until_it_ended(self) -> None:
        """Look again until the worker has done its part."""
        await self.page.wait_for_load_state("load")
        while await self.page.locator("text=Look again").count():
            async with self.page.expect_navigation():
                await self.page.click("text=Look again")

    async def press(self, wanted: str, key: str = "Enter") -> None:
        """Go there with the Tab key alone, and press this key. The focus must be seen, not covered as a whole."""
        place = self.page.locator(wanted)
        for _ in range(TABS_MAX):
            await self.page.keyboard.press("Tab")
            if await place.evaluate("element => element === document.activeElement"):
                break
        else:
            raise AssertionError(f"no Tab reaches {wanted}")
        if not await place.evaluate(FOCUS_IS_SEEN):
            self.faults.append(f"{self.page.url}: the focus on {wanted} is not seen")
        await self.page.keyboard.press(key)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser of the machine."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@asynccontextmanager
async def visitor(browser: Browser, look: Look, *origins: str) -> AsyncIterator[Visitor]:
    """A browser window of its own. Afterwards nothing may have been wrong on any page it saw."""
    context: BrowserContext = await browser.new_context(
        color_scheme=look.theme, viewport={"width": look.width, "height": HEIGHT}, bypass_csp=look.axe
    )
    page = await context.new_page()
    someone = Visitor(page, look, {urlsplit(origin).netloc for origin in origins})
    await context.add_init_script(
        "addEventListener('securitypolicyviolation', event => console.error('Content Security Policy', event.blockedURI))"
    )
    page.on(
        "console",
        lambda said: someone.faults.append(f"{page.url}: {said.text}") if "Content Security Policy" in said.text else None,
    )
    page.on(
        "request",
        lambda request: (
            someone.faults.append(f"{page.url} asked {request.url}")
            if urlsplit(request.url).netloc not in someone.origins and request.url.startswith("http")
            else None
        ),
    )
    yield someone
    await context.close()
    assert someone.faults == []


def warn_without_browser() -> None:
    """Say loudly that the browser journeys are left out."""
    warnings.warn("There is no Chromium on this machine: the browser journeys are skipped.", stacklevel=2)
