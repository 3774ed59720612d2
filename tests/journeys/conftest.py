"""One browser for all journeys of a process, and a house whose mail goes to a postbox."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.accounts.mail.conftest import mail_worker, mailing
from tests.browser import chromium

__all__ = ["browser", "mail_worker", "mailing"]


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium, in which each journey opens windows of its own."""
    async with chromium() as one:
        yield one
