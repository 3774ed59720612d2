"""The sandbox passes the contract of rails."""

from collections.abc import AsyncIterator

import pytest

from tests.invariants import broken_invariants
from tests.rails.contract import RailContract
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.rails.sandbox.provider import SANDBOX


@pytest.fixture
async def services(service: Service, services: Services) -> AsyncIterator[Services]:
    """Services on the same database, to report to as a rail's job would."""
    yield services
    assert await broken_invariants(service.dsn) == []


@pytest.mark.covers("P-71", "P-72")
class TestSandbox(RailContract):
    """In test mode."""

    provider = SANDBOX
    method_id = "sandbox:EUR"
    impossible_receivers = ("", "sandbox-invalid", "x" * 257)
