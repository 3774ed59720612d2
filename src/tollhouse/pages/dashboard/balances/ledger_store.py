"""Queries and SQL of the ledger pages."""

from collections.abc import AsyncIterator
from datetime import datetime, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.forms import BEGINNING, END, time_range_of
from tollhouse.http.lists import KeysetQuery, Position, read_in_batches
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool


class LedgerFilter(Struct, frozen=True):
    """Which entries to list: `since` inclusive, `until` exclusive; empty matches all."""

    currency: str = ""
    account: str = ""
    type: str = ""
    since: datetime = BEGINNING
    until: datetime = END


class LedgerPageQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?currency=&account=&type=&from=&to=&before=` of the ledger page. Empty matches all.

    Days are in the merchant's time zone, `to` is inclusive.
    """

    currency: str = ""
    account: Literal["", "available", "pending", "reserved", "debt"] = ""
    type: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    @property
    def filters(self) -> bool:
        """Whether a filter is set."""
        return bool(self.currency or self.account or self.type or self.since or self.until)

    def entry_filter(self, zone: tzinfo) -> LedgerFilter:
        """The filter. Raises `ValidationFailed`."""
        since, until = time_range_of(self.since, self.until, zone)
        return LedgerFilter(currency=self.currency, account=self.account, type=self.type, since=since, until=until)


BATCH = 1_000

OLDER = """
    SELECT e.id, e.transaction_id, e.currency, e.account, e.type, e.delta AS delta_minor,
           e.balance_after AS balance_after_minor, e.version AS sequence, e.created_at,
           t.source_type, t.source_id
    FROM (
      SELECT * FROM ledger_entries e
      WHERE e.merchant_id = $1 AND e.mode = $2 AND (e.created_at, e.id) < ($3, $4)
      AND e.created_at >= $5 AND e.created_at < $6
      AND ($7 = '' OR e.currency = $7) AND ($8 = '' OR e.account = $8) AND ($9 = '' OR e.type = $9)
      AND ($11::bigint[] IS NULL OR e.account_id = ANY ($11))
      ORDER BY e.created_at DESC, e.id DESC LIMIT $10) AS e
    JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    ORDER BY e.created_at DESC, e.id DESC
"""
POSITION = "SELECT created_at, id FROM ledger_entries WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# Counts stop at $8. In the order of the list: otherwise the planner would read the table from its beginning for a merchant
# with most of its rows, wherever these are.
COUNT = """
    SELECT count(*) AS count FROM (
    SELECT FROM ledger_entries e
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.created_at >= $3 AND e.created_at < $4
      AND ($5 = '' OR e.currency = $5) AND ($6 = '' OR e.account = $6) AND ($7 = '' OR e.type = $7)
      AND ($9::bigint[] IS NULL OR e.account_id = ANY ($9))
    ORDER BY e.created_at DESC, e.id DESC LIMIT $8) AS counted
"""
# The accounts of a currency ($3) or code ($4). With them, the entries of a rarely used one are found by its account.
ACCOUNTS = """
    SELECT id FROM ledger_accounts
    WHERE owner = $1 AND mode = $2 AND ($3 = '' OR currency = $3) AND ($4 = '' OR code = $4)
"""
CURRENCIES_USED = "SELECT DISTINCT currency FROM ledger_accounts WHERE owner = $1 AND mode = $2 ORDER BY currency"


class ListedEntry(Struct, frozen=True, kw_only=True):
    """A ledger entry with its source."""

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


async def list_older(
    db: Pool, env: MerchantEnv, entry_filter: LedgerFilter, after: Position, limit: int
) -> list[ListedEntry]:
    """Entries older than this position, newest first."""
    accounts = await _list_accounts(db, env, entry_filter)
    values = (env.merchant_id, env.mode, after.at, after.id, *_of(entry_filter), limit, accounts)
    rows = await db.fetch_custom_plan(OLDER, *values)
    return [read_row(ListedEntry, row) for row in rows]


async def find_position(db: Pool, env: MerchantEnv, entry_id: UUID) -> Position | None:
    """The position of an entry of this environment; None if there is none."""
    row = await db.fetchrow(POSITION, env.merchant_id, env.mode, entry_id)
    return None if row is None else Position(row["created_at"], row["id"])


async def count(db: Pool, env: MerchantEnv, entry_filter: LedgerFilter, count_max: int) -> int:
    """Count the matching entries, up to `count_max`."""
    accounts = await _list_accounts(db, env, entry_filter)
    rows = await db.fetch_custom_plan(COUNT, env.merchant_id, env.mode, *_of(entry_filter), count_max, accounts)
    return rows[0]["count"]


async def currencies(db: Pool, env: MerchantEnv) -> list[str]:
    """The currencies with entries."""
    return [row["currency"] for row in await db.fetch(CURRENCIES_USED, env.merchant_id, env.mode)]


def iterate_all(db: Pool, env: MerchantEnv, entry_filter: LedgerFilter) -> AsyncIterator[list[ListedEntry]]:
    """Yield the matching entries in batches, newest first."""
    return read_in_batches(lambda after: list_older(db, env, entry_filter, after, BATCH), BATCH)


async def _list_accounts(db: Pool, env: MerchantEnv, entry_filter: LedgerFilter) -> list[int] | None:
    """The accounts of the filter's currency and account; None if it has neither."""
    if not entry_filter.currency and not entry_filter.account:
        return None
    rows = await db.fetch(ACCOUNTS, env.merchant_id, env.mode, entry_filter.currency, entry_filter.account)
    return [row["id"] for row in rows]


def _of(entry_filter: LedgerFilter) -> tuple[object, ...]:
    return entry_filter.since, entry_filter.until, entry_filter.currency, entry_filter.account, entry_filter.type
