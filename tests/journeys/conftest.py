"""One browser for all journeys of a process."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.browser import chromium


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium, in which each journey opens windows of its own."""
    async with chromium() as one:
        yield one
