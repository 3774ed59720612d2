"""Follows the balance at the card provider: reads what changed it, and posts the fees and payouts."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services, Work
from tollhouse.ledger.books.post import post_platform
from tollhouse.rails.cards import balance_store as store
from tollhouse.rails.cards.provider_postings import entry_of
from tollhouse.rails.cards.stripe.cards import StripeCards

OVERLAP = timedelta(minutes=15)
"""How much of what was read is read again each time: clocks differ, and a transaction may be listed late."""
WINDOW = timedelta(days=1)
"""How much is read before the cursor moves."""
SETTLED_PER_BATCH = 500


async def read_new(services: Services, cards: StripeCards, now: datetime, overlap: timedelta = OVERLAP) -> None:
    """Read and store what changed the balance since the last time. It is stored once, however often it is read.

    Raises `RailUnavailableError`, `StripeError` and `InexactAmountError`.
    """
    await cards.read_balance()  # refuses one of the test mode, which the transactions themselves do not tell
    await store.begin(services.db, cards.name, cards.mode, now)
    read_until = min(now, await store.get_read_until(services.db, cards.name, cards.mode))
    while True:
        end = read_until + WINDOW
        until = end if end < now else None  # the last part has no end: the provider's clock may be ahead
        async for page in cards.list_balance_transactions(read_until - overlap, until):
            known = [one for one in page if one.currency in services.catalogue.currencies]
            await store.insert(services.db, cards.name, cards.mode, known)
        await store.advance(services.db, cards.name, cards.mode, until or now, now)
        if until is None:
            return
        read_until, overlap = until, timedelta()


async def settle(services: Services, cards: StripeCards, now: datetime) -> None:
    """Settle the balance transactions of whose objects the ledger has everything, with their fees, and post payouts."""

    async def settle_batch(work: Work) -> int:
        settled = await store.lock_settled(work.tx, cards.name, cards.mode, SETTLED_PER_BATCH)
        if settled:
            await store.settle(work.tx, settled, work.now)
            await post_platform(work, [entry for one in settled if (entry := entry_of(one)) is not None])
        return len(settled)

    while await services.transact(settle_batch, now) == SETTLED_PER_BATCH:
        pass
