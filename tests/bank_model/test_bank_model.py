"""Random histories of a bank account. `TOLLHOUSE_BANK_HISTORIES=1000 pytest tests/bank_model` plays 1,000 of them."""

import os
from collections.abc import Iterator

import pytest

from tests.bank import camt
from tests.bank.steps import Bank
from tests.bank_model.history import Player
from tests.cast import sign_up
from tests.invariants import broken_invariants
from tests.running import Service, settings_for
from tollhouse.platform import embedded

HISTORIES = int(os.environ.get("TOLLHOUSE_BANK_HISTORIES", "4"))
BATCH = 25
STEPS = 25


@pytest.fixture
def service(server: embedded.Server) -> Iterator[Service]:
    """A service for each batch, so that checking all of it stays fast."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.mark.parametrize("first", range(0, HISTORIES, BATCH))
async def test_the_books_match_the_bank(service: Service, first: int) -> None:
    services = service.create_services(connections=4)
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        player = Player(Bank(services), alice)
        for seed in range(first, min(first + BATCH, HISTORIES)):
            await player.play(seed, STEPS)
            assert await broken_invariants(service.dsn) == [], f"history {seed}"
    await services.db.close()
