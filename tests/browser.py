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
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = Path(__file__).parent / "pictures"
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS, HEIGHT = frozenset({1280, 390}), 900
TABS_MAX = 120
FOCUS_IS_SEEN = """
    element => {
        const look = getComputedStyle(element), box = element.getBoundingClientRect(), middle = box.y + box.height / 2;
        const seen = [box.left + 3, box.x + box.width / 2, box.right - 3].map(x => document.elementFromPoint(x, middle));
        return look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2 && seen.some(top => element.contains(top));
    }
"""
Theme = Literal["light", "dark"]


@dataclass
class Look:
    """How the pages are looked at. `axe` looks for faults of accessibility, without the CSP; else the CSP is on."""

    theme: Theme
    width: int
    axe: bool

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


def by_look(looks: list[Look]) -> pytest.MarkDecorator:
    """A test for each of these looks, named after it."""
    return pytest.mark.parametrize("look", looks, ids=lambda look: f"{look}-{'axe' if look.axe else 'csp'}")


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
