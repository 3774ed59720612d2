"""A service without a worker, so that nothing happens but what the test does; its books are looked at after each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cast import Actor, sign_up
from tests.invariants import broken_invariants, last_id
from tests.payments.killing import fused_services
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded


@pytest.fixture(scope="package")
def exchange(server: embedded.Server) -> Iterator[Service]:
    """A service of their own for these tests, without a worker."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def shop(exchange: Service) -> AsyncIterator[Actor]:
    """A merchant there."""
    began = last_id()
    async with sign_up(exchange, "shop", "The Shop") as actor:
        yield actor
        assert await broken_invariants(exchange.dsn, began) == []


@pytest.fixture
async def services(exchange: Service) -> AsyncIterator[Services]:
    """A house there whose connections can be cut."""
    async with fused_services(exchange) as services:
        yield services
