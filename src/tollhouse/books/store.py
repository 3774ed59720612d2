"""Every SQL statement of the pages about ledger entries: a page from a place on, whatever stands before it."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.books.model import Wanted
from tollhouse.http.keyset import NEWEST, Place, all_parts
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row

BATCH = 1_000

# Both ends of time are always given, so that the index bounds the walk however the plan was made.
OLDER = """
    SELECT e.id, e.transaction_id, e.currency, e.account, e.type, e.delta, e.balance_after, e.version, e.created_at,
           t.source_type, t.source_id
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    WHERE e.merchant_id = $1 AND e.mode = $2 AND (e.created_at, e.id) < ($3, $4)
      AND e.created_at >= $5 AND e.created_at < $6
      AND ($7 = '' OR e.currency = $7) AND ($8 = '' OR e.account = $8) AND ($9 = '' OR e.type = $9)
    ORDER BY e.created_at DESC, e.id DESC LIMIT $10
"""
PLACE = "SELECT created_at, id FROM ledger_entries WHERE merchant_id = $1 AND mode = $2 AND id = $3"
COUNT = """
    SELECT count(*) AS count FROM ledger_entries e
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.created_at >= $3 AND e.created_at < $4
      AND ($5 = '' OR e.currency = $5) AND ($6 = '' OR e.account = $6) AND ($7 = '' OR e.type = $7)
"""
CURRENCIES_USED = "SELECT DISTINCT currency FROM ledger_accounts WHERE owner = $1 AND mode = $2 ORDER BY currency"


class Line(Struct, frozen=True, kw_only=True):
    """One entry: what it did to an account, and what had been on that account then."""

    id: UUID
    transaction_id: UUID
    currency: str
    account: str
    type: str
    delta_minor: int
    balance_after_minor: int
    sequence: int
    created_at: datetime
    source_type: str
    source_id: UUID

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return Place(self.created_at, self.id)


async def older(db: Pool, env: MerchantEnv, wanted: Wanted, than: Place, limit: int) -> list[Line]:
    """Entries older than this place, newest first."""
    rows = await db.fetch(OLDER, env.merchant_id, env.mode, than.at, than.id, *_of(wanted), limit)
    return [_line(row) for row in rows]


async def place_of(db: Pool, env: MerchantEnv, entry_id: UUID) -> Place | None:
    """Where this entry stands; None when it is another merchant's or another mode's."""
    row = await db.fetchrow(PLACE, env.merchant_id, env.mode, entry_id)
    return None if row is None else Place(row["created_at"], row["id"])


async def count(db: Pool, env: MerchantEnv, wanted: Wanted) -> int:
    """How many entries are meant."""
    row = await db.fetchrow(COUNT, env.merchant_id, env.mode, *_of(wanted))
    return 0 if row is None else row["count"]


async def currencies(db: Pool, env: MerchantEnv) -> list[str]:
    """The currencies with any history."""
    return [row["currency"] for row in await db.fetch(CURRENCIES_USED, env.merchant_id, env.mode)]


def all_lines(db: Pool, env: MerchantEnv, wanted: Wanted) -> AsyncIterator[list[Line]]:
    """Every entry that is meant, newest first, a batch at a time."""
    return all_parts(lambda last: older(db, env, wanted, NEWEST if last is None else last.place, BATCH), BATCH)


def _of(wanted: Wanted) -> tuple[object, ...]:
    return wanted.since, wanted.until, wanted.currency, wanted.account, wanted.type


def _line(row: Row) -> Line:
    return Line(
        id=row["id"],
        transaction_id=row["transaction_id"],
        currency=row["currency"],
        account=row["account"],
        type=row["type"],
        delta_minor=row["delta"],
        balance_after_minor=row["balance_after"],
        sequence=row["version"],
        created_at=row["created_at"],
        source_type=row["source_type"],
        source_id=row["source_id"],
    )
