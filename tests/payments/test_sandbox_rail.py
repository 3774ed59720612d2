"""The sandbox passes the contract of rails."""

from collections.abc import AsyncIterator

import pytest

from tests.invariants import broken_invariants
from tests.payments.rail_contract import RailContract
from tests.running import Service
from tollhouse import main
from tollhouse.rails.configured import SANDBOX
from tollhouse.web.house import House


@pytest.fixture
async def house(service: Service) -> AsyncIterator[House]:
    """A house on the same database, to report to as a rail's job would."""
    house = main.open_house(service.settings, connections=2)
    yield house
    await house.db.close()
    assert await broken_invariants(service.dsn) == []


@pytest.mark.covers("P-71", "P-72")
class TestSandbox(RailContract):
    """In test mode."""

    provider = SANDBOX
    method_id = "sandbox:EUR"
