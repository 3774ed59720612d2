"""Desks for the events' tests, on a database of their own: no other worker delivers what they record."""

from collections.abc import AsyncIterator

import pytest

from tests.running import settings_for
from tests.webhooks.events.harness import Harness, open_harness
from tollhouse.http.services import Services
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.platform.settings.config import Settings

TABLES = (
    "webhook_deliveries",
    "webhook_deliveries_later",
    "webhook_attempts",
    "webhook_unnumbered",
    "webhook_positions",
    "webhook_feeds",
    "webhook_events",
)


@pytest.fixture(scope="session")
def settings(server: embedded.Server) -> Settings:
    """Settings with a migrated database and a short retry schedule."""
    return settings_for(server.cluster.dsn, fresh=True, NOTIFY_DEPRECATED_WH="true")


@pytest.fixture(scope="module")
async def opened(settings: Settings) -> AsyncIterator[Services]:
    """Services on connections that the tests of a file share."""
    opened = main.create_services(settings)
    yield opened
    await opened.db.close()


@pytest.fixture
async def services(opened: Services) -> Services:
    """The same, where nothing waits to be delivered."""
    for table in TABLES:
        await opened.db.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
    return opened


@pytest.fixture
async def live(services: Services) -> Harness:
    """A merchant's live environment."""
    return await open_harness(services, "live")


@pytest.fixture
async def test(services: Services) -> Harness:
    """A merchant's test environment."""
    return await open_harness(services, "test")
