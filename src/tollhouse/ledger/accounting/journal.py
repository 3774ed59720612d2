"""The journal: every posting of a period as CSV, in the order of time."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta

from tollhouse.http.csv_table import lines
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.ledger.accounting import store
from tollhouse.ledger.accounting.model import JournalPosition, JournalPosting
from tollhouse.platform.database.pool import Pool

ROWS_AT_ONCE = 2_000
HOUR = timedelta(hours=1)
HEADER = (
    "time",
    "ledger_transaction_id",
    "line",
    "type",
    "currency",
    "amount",
    "debit_account",
    "debit_merchant_id",
    "credit_account",
    "credit_merchant_id",
    "source_type",
    "source_id",
)


async def as_csv(db: Pool, start: datetime, end: datetime, catalogue: Catalogue) -> AsyncIterator[str]:
    """A header line, and a line for each posting, with its amount in major units."""
    yield lines([HEADER])
    async for part in _iterate(db, start, end):
        yield lines(_cells(one, catalogue) for one in part)


async def _iterate(db: Pool, start: datetime, end: datetime) -> AsyncIterator[list[JournalPosting]]:
    """The postings, in parts. An hour is sorted at a time, so that a long period takes no more memory than a short one.

    The first part reaches to the first hour of the ledger.
    """
    begins_at = await store.first_posted_at(db)
    while begins_at is not None and start < end:
        until, after = min(max(start, begins_at) + HOUR, end), JournalPosition(start)
        while found := await store.list_postings(db, after, until, ROWS_AT_ONCE):
            yield found
            if len(found) < ROWS_AT_ONCE:
                break
            after = JournalPosition(found[-1].created_at, found[-1].transaction_id, found[-1].line)
        start = until


def _cells(one: JournalPosting, catalogue: Catalogue) -> Iterator[str]:
    yield from (stamp(one.created_at), str(one.transaction_id), str(one.line), one.type, one.currency)
    yield catalogue.format_amount(one.amount_minor, one.currency)
    for code, merchant_id in ((one.debit_code, one.debit_merchant_id), (one.credit_code, one.credit_merchant_id)):
        yield from (code, "" if merchant_id is None else str(merchant_id))
    yield from (one.source_type, str(one.source_id))
