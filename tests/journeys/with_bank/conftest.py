"""A service of each file's own with an account at a bank, so that live mode can be paid by transfer."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.rails.bank.camt import ACCOUNT
from tests.rails.bank.steps import Bank, bank_of
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of its own, with an account at a bank."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **ACCOUNT)) as running:
        yield running


@pytest.fixture
async def bank(service: Service) -> AsyncIterator[Bank]:
    """The bank of the service."""
    async with bank_of(service) as bank:
        yield bank
