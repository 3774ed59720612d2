"""Books what no withdrawal pays of the network fee of a batch in bitcoin: an expense."""

from tollhouse.http.services import Work
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, expense, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.rails.bitcoin.network.provider import CURRENCY
from tollhouse.rails.bitcoin.payouts_model import BitcoinBatch

BATCH_SOURCE = "bitcoin_batch"


async def book_batch(work: Work, batch: BitcoinBatch, expensed_minor: int) -> None:
    """Book what no withdrawal pays of the network fee of a batch that was just confirmed."""
    if expensed_minor:
        posting = Posting("network_fee", CURRENCY, expensed_minor, expense("network_fee"), rail(batch.rail))
        await post_platform(work, [JournalEntry(batch.mode, "network_fee", Source(BATCH_SOURCE, batch.id), (posting,))])
