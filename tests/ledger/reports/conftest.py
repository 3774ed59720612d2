"""Books of a merchant to report on, whose postings have any time and no action behind them: in a database of their own."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.cast import Actor
from tests.running import Service, settings_for
from tollhouse.http.services import Services, Work
from tollhouse.instance.database import embedded
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id, parse_id
from tollhouse.ledger.books.model import Account, EntryType, JournalEntry, Posting, Source, equity
from tollhouse.ledger.books.post import post_now

LET_LEAVE = "SELECT value_let_leave($1, $2, $3, $4, $5, false)"
"""Whatever leaves the merchant has passed the gate."""


class Harness:
    """Posts for one merchant at chosen moments. Signs are the merchant's: above zero gives."""

    def __init__(self, services: Services, env: MerchantEnv) -> None:
        self.services = services
        self.env = env

    async def post(
        self, at: datetime, entry_type: EntryType, amount_minor: int, currency: str = "EUR", code: str = "available"
    ) -> None:
        """One line between the merchant's account and the house."""
        mine, ours = Account(code, self.env.merchant_id), equity("adjustment")
        debit, credit = (ours, mine) if amount_minor > 0 else (mine, ours)
        posting = Posting(entry_type, currency, abs(amount_minor), debit, credit)
        await self._post(at, entry_type, posting)

    async def move(self, at: datetime, entry_type: EntryType, amount_minor: int, currency: str = "EUR") -> None:
        """One line from available to reserved."""
        posting = Posting(
            entry_type,
            currency,
            amount_minor,
            Account("available", self.env.merchant_id),
            Account("reserved", self.env.merchant_id),
        )
        await self._post(at, entry_type, posting)

    async def _post(self, at: datetime, entry_type: EntryType, posting: Posting) -> None:
        entry = JournalEntry(self.env.mode, entry_type, Source("withdrawal", new_id()), (posting,))

        async def posted(work: Work) -> None:
            await work.tx.execute(
                LET_LEAVE, entry.source.type, entry.source.id, self.env.merchant_id, self.env.mode, posting.currency
            )
            await post_now(work, entry)

        await self.services.transact(posted, at)


@pytest.fixture(scope="package")
def service(server: embedded.Server) -> Iterator[Service]:
    """What is posted here would break the invariants that other tests look at."""
    with Service(settings_for(server.cluster.dsn, fresh=True)) as running:
        yield running


@pytest.fixture
async def harness(services: Services, alice: Actor) -> Harness:
    """Alice's books in test mode."""
    merchant_id = parse_id(alice.merchant_id)
    assert merchant_id is not None
    return Harness(services, MerchantEnv(MerchantId(merchant_id), "test"))
