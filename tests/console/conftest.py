"""Olga runs the house."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.console.seat import seated
from tests.running import Service


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga runs the house, at its pages."""
    async with seated(service) as actor:
        yield actor
