"""A provider and a service of their own: tests of the balance know all of it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.rails.cards.balance.books import Books
from tests.rails.cards.conftest import run_service
from tests.rails.cards.provider import CardProvider
from tests.rails.cards.steps import Shop
from tests.running import Service
from tollhouse.instance.database import embedded


@pytest.fixture(scope="package")
async def provider() -> AsyncIterator[CardProvider]:
    """The card provider."""
    async with CardProvider() as running:
        yield running


@pytest.fixture(scope="package")
def service(server: embedded.Server, provider: CardProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service."""
    yield from run_service(server, provider, tmp_path_factory)


@pytest.fixture
async def books(shop: Shop) -> Books:
    """Everything that happened before was read."""
    made = Books(shop)
    await made.read()
    return made
