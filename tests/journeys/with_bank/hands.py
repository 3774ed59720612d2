"""Somebody at a browser who uses nothing but the keyboard, or whose browser runs no scripts."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from playwright.async_api import Locator, expect

from tests.browser import EVERY_LOOK, PICTURES, Visitor
from tollhouse.http.texts import Texts
from tollhouse.kernel.text import Translatable

REFRESHES_MAX = 200


@dataclass
class Hands(ABC):
    """Goes from page to page in a language; `film` names the pictures that are taken of each page."""

    someone: Visitor
    texts: Texts
    film: str
    steps: int = field(default=0, init=False)

    @abstractmethod
    async def press(self, wanted: str) -> None:
        """Activate the first link or button that matches, and wait for the page it leads to."""

    @abstractmethod
    async def type(self, wanted: str, text: str) -> None:
        """Write this into a field, instead of what is there."""

    @abstractmethod
    async def tick(self, wanted: str) -> None:
        """Tick a box."""

    @abstractmethod
    async def upload(self, wanted: str, name: str, raw: bytes) -> None:
        """Choose a file."""

    def say(self, text: Translatable) -> str:
        """The text in this person's language."""
        return self.texts.translate(text)

    def link(self, text: str, within: str = "main") -> str:
        """The selector of a link or button with this text."""
        return f"{within} :is(a, button):has-text('{self.say(text)}')"

    async def arrive(self, path: str) -> None:
        """The page that follows has an address like this; it is looked at."""
        await self.someone.page.wait_for_url(path)
        await self.see(path.strip("*/").replace("/", "-").replace("*", "one"))

    async def see(self, name: str) -> None:
        """Look at the page: it is not in test mode."""
        page = self.someone.page
        await page.wait_for_load_state("load")
        assert "/test/" not in page.url, page.url
        assert await page.locator("body[data-mode=test]").count() == 0, page.url
        self.steps += 1
        if EVERY_LOOK:
            PICTURES.mkdir(exist_ok=True)
            await page.screenshot(path=PICTURES / f"{self.film}-{self.steps:02}-{name[:40]}.png", full_page=True)
        await self.someone.glance(f"{self.film}-{name}")

    async def open(self, path: str) -> None:
        """Type an address."""
        await self.someone.page.goto(path)

    async def go_to(self, part: str) -> None:
        """Open a part by the navigation at the side."""
        await self.press(f".side a:has-text('{self.say(part)}')")

    async def read_german(self) -> None:
        """Choose German in the footer, if it is this person's language."""
        if self.texts.language == "de":
            await self.press("footer button:has-text('Deutsch')")
            await expect(self.someone.page.locator("html")).to_have_attribute("lang", "de")

    async def refresh_until(self, shown: Locator) -> None:
        """Reload until the worker has done its part."""
        for _ in range(REFRESHES_MAX):
            if await shown.count():
                return
            await asyncio.sleep(0.05)
            await self.someone.page.reload()
        raise AssertionError(f"{self.someone.page.url} does not show {shown}")


class Keys(Hands):
    """The keyboard alone."""

    async def press(self, wanted: str) -> None:
        async with self.someone.page.expect_navigation():
            await self.someone.press(f"{wanted} >> nth=0")

    async def type(self, wanted: str, text: str) -> None:
        await self.someone.press(wanted, "Control+A")
        await self.someone.page.keyboard.type(text)

    async def tick(self, wanted: str) -> None:
        if not await self.someone.page.is_checked(wanted):
            await self.someone.press(wanted, "Space")

    async def upload(self, wanted: str, name: str, raw: bytes) -> None:
        async with self.someone.page.expect_file_chooser() as opened:
            await self.someone.press(wanted)
        await (await opened.value).set_files({"name": name, "mimeType": "text/xml", "buffer": raw})


class Pointer(Hands):
    """The mouse, in a browser that runs no scripts."""

    async def press(self, wanted: str) -> None:
        async with self.someone.page.expect_navigation():
            await self.someone.page.locator(wanted).first.click()

    async def type(self, wanted: str, text: str) -> None:
        await self.someone.page.fill(wanted, text)

    async def tick(self, wanted: str) -> None:
        await self.someone.page.check(wanted)

    async def upload(self, wanted: str, name: str, raw: bytes) -> None:
        await self.someone.page.set_input_files(wanted, {"name": name, "mimeType": "text/xml", "buffer": raw})
