"""All pages of the service, found by following links, each looked at in every theme and at every width."""

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Page

from tests.browser import HEIGHT, LOOKS, OF_THE_LOOK, RULES, WIDE, Visitor
from tests.cast import Actor

ROUTES = Path(__file__).parents[3] / "docs" / "routes.txt"
WIDTHS = (320, 480, 640, 768, 960, 1024, 1280, 1440, 1920, 2560)
"""The narrowest phone, 1280 pixels at 200 % (640), where the layout changes, and the widest screen."""
FILES = re.compile(r"(\.(csv|pdf|xlsx|md|txt|css)|/file)$")
TOO_WIDE = """
    () => {
        if (document.documentElement.scrollWidth <= innerWidth) return "";
        const all = [...document.querySelectorAll("body *")];
        const out = all.filter(one => one.getBoundingClientRect().right > innerWidth + 1);
        return out.slice(0, 3).map(one => one.tagName + "." + one.className).join(" ") || "something";
    }
"""
WITHOUT_EDGE = """
    () => [...document.querySelectorAll(":is(.btn:not(.plain), .input, select, textarea):not(.affix *)")]
        .filter(one => one.checkVisibility() && parseFloat(getComputedStyle(one).borderTopWidth) === 0)
        .map(one => one.outerHTML.slice(0, 80))
"""
"""Controls that have no border where a browser paints all backgrounds in the user's colours."""


def page_routes() -> dict[str, re.Pattern[str]]:
    """The route of each page, and what its path looks like, without and with a mode before it."""
    found: dict[str, re.Pattern[str]] = {}
    for line in ROUTES.read_text().splitlines():
        method, path, surface, *_ = line.split()
        if method == "GET" and surface in {"pages", "authorize"} and not FILES.search(path):
            pattern = re.sub(r"\\{[a-z_]+\\}", "[^/]+", re.escape(path).replace(r"\{mode\}", "(live|test)"))
            prefix = "(/live|/test)?" if path.startswith(("/settings", "/developers")) else ""
            found[path] = re.compile(prefix + pattern)
    return found


@dataclass
class Crawl:
    """Follows the links of one person to one page of each route; of each mode too, and looked at closely, where thorough."""

    someone: Visitor
    thorough: bool
    seen: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    routes: dict[str, re.Pattern[str]] = field(default_factory=page_routes)

    async def follow(self, *starts: str) -> None:
        """Open these pages, and what their links lead to."""
        waiting, known = deque(starts), set(starts)
        while waiting:
            url = waiting.popleft()
            kind = self._kind_of(url)
            if kind is None or (kind in self.seen and url not in starts):
                continue
            answer = await self.someone.page.goto(url)
            await self.someone.page.wait_for_load_state("load")
            if answer is None or answer.status >= 400:
                self.someone.problems.append(f"{url} answers {answer and answer.status}")
                continue
            self.seen |= {kind, self._kind_of(self.someone.page.url) or kind}
            await self._look(urlsplit(self.someone.page.url).path)
            found = await self.someone.page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
            new = [one for href in found if (one := href.partition("#")[0]) not in known]
            known.update(new)
            waiting.extend(new)

    def missing(self) -> set[str]:
        """The routes of which no page was seen."""
        return set(self.routes) - {route for route, _ in self.seen}

    def _kind_of(self, url: str) -> tuple[str, str] | None:
        parts = urlsplit(url)
        if parts.netloc not in self.someone.origins or FILES.search(parts.path):
            return None
        mode = parts.path.split("/")[1] if self.thorough and parts.path.startswith(("/live/", "/test/")) else ""
        return next(((route, mode) for route, pattern in self.routes.items() if pattern.fullmatch(parts.path)), None)

    async def _look(self, name: str) -> None:
        page = self.someone.page
        for width in WIDTHS if self.thorough else (WIDTHS[0],):
            await page.set_viewport_size({"width": width, "height": HEIGHT})
            if wide := await page.evaluate(TOO_WIDE):
                self.someone.problems.append(f"{name} is wider than a window of {width}: {wide}")
        if self.thorough:
            await self._look_closely(page, name)
            await page.set_viewport_size({"width": WIDE.width, "height": HEIGHT})

    async def _look_closely(self, page: Page, name: str) -> None:
        await self.someone.load_axe()
        for look in LOOKS:
            await page.emulate_media(color_scheme=look.theme, reduced_motion="reduce")
            await page.set_viewport_size({"width": look.width, "height": HEIGHT})
            rules = {"type": "tag", "values": RULES} if look == WIDE else {"type": "rule", "values": OF_THE_LOOK}
            await self.someone.run_axe(f"{name} {look}", rules)
        await page.emulate_media(color_scheme="light", forced_colors="active", reduced_motion="reduce")
        await self.someone.run_axe(f"{name} forced colours", {"type": "rule", "values": ["color-contrast"]})
        self.someone.problems += [f"{name} forced colours: no edge: {one}" for one in await page.evaluate(WITHOUT_EDGE)]
        await page.emulate_media(color_scheme="light", forced_colors="none", reduced_motion="reduce")


async def carry_session(someone: Visitor, actor: Actor) -> None:
    """Let the browser go on with the session of this person."""
    cookies = [{"name": cookie.key, "value": cookie.value, "url": actor.service.url} for cookie in actor.http.cookie_jar]
    await someone.page.context.add_cookies(cookies)  # pyright: ignore[reportArgumentType]
