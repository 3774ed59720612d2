"""A merchant with books, and the pool to write in them."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.ledger.books.books import Books
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, parse_id


@pytest.fixture(scope="module")
async def services(service: Service) -> AsyncIterator[Services]:
    """With as many connections as there are posts at once."""
    opened = service.create_services(connections=30)
    yield opened
    await opened.db.close()


@pytest.fixture
async def books(services: Services, alice: Actor) -> Books:
    """Alice's books in test mode."""
    merchant_id = parse_id(alice.merchant_id)
    assert merchant_id is not None
    return Books(services, MerchantEnv(MerchantId(merchant_id), "test"))
