"""A service with a bank account and an accountant's numbers, and without a worker: only tests post."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank import camt
from tests.rails.bank.steps import Bank, bank_of
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded

DATEV = {
    "TOLLHOUSE_DATEV_CONSULTANT": "1001",
    "TOLLHOUSE_DATEV_CLIENT": "42",
    "TOLLHOUSE_DATEV_ACCOUNTS": (
        "bank=1800, rail=1460, merchants=1700, unmatched=1590, unapplied=1591, fx=1592, payable=1593, "
        "income=4400, income:payment_fee=4401, expense=6300, equity=1890"
    ),
}


@pytest.fixture(scope="package")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of their own."""
    settings = settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT, **DATEV)
    with Service(settings, worker=False) as running:
        yield running


@pytest.fixture
async def bank(service: Service) -> AsyncIterator[Bank]:
    """The bank; the invariants hold after each test."""
    async with bank_of(service) as bank:
        yield bank
    assert await broken_invariants(service.dsn) == []


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """An operator."""
    async with signed_in_operator(service) as actor:
        yield actor
