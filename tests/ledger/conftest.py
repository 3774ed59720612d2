"""A merchant with books, and the pool to write in them."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.ledger.books import Books
from tests.running import Service
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, parse_id


@pytest.fixture
async def books(service: Service, alice: Actor) -> AsyncIterator[Books]:
    """Alice's books in test mode."""
    merchant_id = parse_id(alice.merchant_id)
    assert merchant_id is not None
    services = service.create_services(connections=30)
    yield Books(services, MerchantEnv(MerchantId(merchant_id), "test"))
    await services.db.close()
