"""An instance with a bank account, for statements to be imported into; the invariants hold after each test.

The instance is only for these tests and has no worker: what leaves by bank is of all merchants, and waits for the operator.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.invariants import broken_invariants
from tests.rails.bank import camt
from tests.rails.bank.steps import Bank
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded


@pytest.fixture(scope="package")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of their own."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture
async def bank(service: Service, services: Services) -> AsyncIterator[Bank]:
    """The bank of the instance. While it is there, live mode can be paid by it."""
    yield Bank(services)
    assert await broken_invariants(service.dsn) == []
