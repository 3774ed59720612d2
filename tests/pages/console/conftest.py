"""Olga runs the house."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga runs the house, at its pages."""
    async with signed_in_operator(service) as actor:
        yield actor
