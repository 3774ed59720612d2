"""A house with a bank account, for statements to be imported into; the invariants hold after each test.

The house is these tests' own and has no worker: what leaves by bank is of the whole house, and waits for its operator.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bank import camt
from tests.bank.desk import Bank
from tests.invariants import broken_invariants
from tests.running import Service, settings_for
from tollhouse import main
from tollhouse.platform import embedded
from tollhouse.rails import configured


@pytest.fixture(scope="package")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of their own."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture(autouse=True)
def no_bank_afterwards() -> Iterator[None]:
    """Whoever opens a house with an account puts its rail where all tests of this process see it."""
    yield
    configured.RAILS.pop(("bank", "live"), None)


@pytest.fixture
async def bank(service: Service) -> AsyncIterator[Bank]:
    """The bank of the house. While it is there, live mode can be paid by it."""
    services = main.create_services(service.settings, connections=4)
    yield Bank(services)
    await services.db.close()
    assert await broken_invariants(service.dsn) == []
