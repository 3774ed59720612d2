"""Random histories of a bank account. `TOLLHOUSE_BANK_HISTORIES=1000 pytest tests/bank_model` plays 1,000 of them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bank_model.history import Player
from tests.cast import sign_up
from tests.invariants import broken_invariants
from tests.rails.bank import camt
from tests.rails.bank.steps import Bank, bank_of
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded

HISTORIES = int(os.environ.get("TOLLHOUSE_BANK_HISTORIES", "4"))
BATCH = 25
STEPS = 25
WAITS_FOR_ACCOUNTS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM bank_accounts ORDER BY%'
"""


@pytest.fixture
def service(server: embedded.Server) -> Iterator[Service]:
    """A service for each batch, so that checking all of it stays fast."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture
async def bank(service: Service) -> AsyncIterator[Bank]:
    """The bank, and the operator who goes between it and the service."""
    async with bank_of(service) as bank:
        yield bank


async def test_an_import_is_checked_while_no_other_begins(bank: Bank) -> None:
    """Between its reading of the account and of the known entries, another import of the same file had posted some."""
    await bank.shows(camt.Line(500))
    again = await bank.statement(camt.Line(700))
    async with bank.services.db.transaction() as other:
        await other.execute("UPDATE bank_accounts SET last_on = last_on")
        importing = asyncio.create_task(bank.brings(again))
        while await bank.services.db.fetchrow(WAITS_FOR_ACCOUNTS) is None:
            await asyncio.sleep(0.01)
    assert (await importing).new_entries == 1


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, HISTORIES, BATCH))
async def test_the_books_match_the_bank(service: Service, bank: Bank, first: int) -> None:
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        player = Player(bank, alice)
        for seed in range(first, min(first + BATCH, HISTORIES)):
            await player.play(seed, STEPS)
            assert await broken_invariants(service.dsn) == [], f"history {seed}"
