"""A house with a bank account, for statements to be imported into; the invariants hold after each test."""

from collections.abc import AsyncIterator

import pytest

from tests.invariants import broken_invariants
from tests.running import Service
from tests.statements.desk import ACCOUNT, Bank
from tollhouse import main
from tollhouse.rails import configured
from tollhouse.rails.bank_transfer import BankTransfer


@pytest.fixture
async def bank(service: Service) -> AsyncIterator[Bank]:
    """The bank of the house. While it is there, live mode can be paid by it."""
    house = main.open_house(service.settings, connections=4)
    configured.RAILS["bank", "live"] = BankTransfer(ACCOUNT)
    yield Bank(house)
    del configured.RAILS["bank", "live"]
    await house.db.close()
    assert await broken_invariants(service.dsn) == []
