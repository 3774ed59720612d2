"""What tests of proposals share."""

import pytest

from tests.cast import Actor
from tests.payments.proposals.desk import Desk, open_desk


@pytest.fixture
async def desk(alice: Actor, bob: Actor) -> Desk:
    """Bob's application at Alice's, who has 100 euros."""
    return await open_desk(alice, bob)
