"""A till for every test of balance payments, and books that are in order after it."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.transfers.balance_payments.till import Till, open_till


@pytest.fixture
async def till(alice: Actor, bob: Actor) -> AsyncIterator[Till]:
    """Bob's application may charge Alice, who has 100 euros."""
    began = last_id()
    yield await open_till(alice, bob)
    assert await broken_invariants(alice.service.dsn, began) == []
