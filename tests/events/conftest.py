"""Desks for the events' tests, on a database of their own: no other worker delivers what they record."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.events.desk import Desk, open_desk
from tests.running import settings_for
from tollhouse import main
from tollhouse.platform import embedded
from tollhouse.platform.config import Settings
from tollhouse.platform.migrations import migrate
from tollhouse.web.house import House


@pytest.fixture(scope="session")
def settings(server: embedded.Server) -> Settings:
    """Settings with a migrated database and a short retry schedule."""
    made = settings_for(server.cluster.dsn, fresh=True, NOTIFY_DEPRECATED_WH="true")
    asyncio.run(migrate(made.database_url or ""))
    return made


@pytest.fixture
async def house(settings: Settings) -> AsyncIterator[House]:
    """A house in which nothing waits to be delivered."""
    opened = main.open_house(settings)
    await opened.db.execute("DELETE FROM webhook_deliveries")
    await opened.db.execute("DELETE FROM webhook_deliveries_later")
    await opened.db.execute("DELETE FROM webhook_attempts")
    await opened.db.execute("DELETE FROM webhook_events")
    yield opened
    await opened.db.close()


@pytest.fixture
async def live(house: House) -> Desk:
    """A merchant's live environment."""
    return await open_desk(house, "live")


@pytest.fixture
async def test(house: House) -> Desk:
    """A merchant's test environment."""
    return await open_desk(house, "test")
