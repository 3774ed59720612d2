"""Every kind of email as a mail client shows it: both parts, in each language, in a wide and in a narrow window."""

from html import escape

import pytest
from playwright.async_api import Browser, Page

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.test_contents import DEVICE, KINDS, NOTICE, PROPOSAL, RECEIPT, RECIPIENT, message_of
from tests.browser import EVERY_LOOK, IN_A_BROWSER, NARROW, PICTURES, RULES, SMALL, WIDE, visitor
from tollhouse.http.languages import LANGUAGES

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
WCAG = [rule for rule in RULES if rule != "best-practice"]
"""An email is a part of the page of its reader, which has the landmarks."""
LINE_MAX = 100
"""Longer lines of the plain part are addresses of pages."""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_email_is_readable(mail_worker: MailWorker, browser: Browser, language: str) -> None:
    async with visitor(browser, WIDE) as reader:
        await reader.page.goto("about:blank")
        for kind in KINDS:
            message = message_of(mail_worker, kind, language, DEVICE | RECIPIENT | RECEIPT | PROPOSAL | NOTICE)
            plain, html = message.get_body(("plain",)), message.get_body(("html",))
            assert plain is not None
            assert html is not None
            text = plain.get_content()
            assert [line for line in text.splitlines() if len(line) > LINE_MAX and "://" not in line] == []
            name = f"mail-{kind}-{language}"
            await reader.page.set_content(html.get_content())
            for look in (SMALL, NARROW, WIDE):
                await reader.turn(look)
                await reader.measure(name)
            await reader.load_axe()
            await reader.run_axe(name, {"type": "tag", "values": WCAG})
            if EVERY_LOOK:
                await photograph(reader.page, name, text)


async def photograph(page: Page, name: str, text: str) -> None:
    """Keep a picture of both parts, the plain one below, in a wide and in a narrow window."""
    PICTURES.mkdir(exist_ok=True)
    plain = f"<pre style='white-space:pre-wrap;font:13px monospace;padding:1rem'>{escape(text)}</pre>"
    await page.evaluate("plain => document.body.insertAdjacentHTML('beforeend', plain)", plain)
    for look in (NARROW, WIDE):
        await page.emulate_media(color_scheme=look.theme)
        await page.set_viewport_size({"width": look.width, "height": 900})
        await page.screenshot(path=PICTURES / f"{name}-{look}.png", full_page=True)
