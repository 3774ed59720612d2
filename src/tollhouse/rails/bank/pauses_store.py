"""SQL of the conditions under which payouts may be resumed after a restore."""

from datetime import date, datetime

from msgspec import Struct

from tollhouse.platform.database.pool import Tx

# The newest statement that was imported since $2, by the day of its closing balance.
NEWEST = """
    SELECT closing_on, closing_minor FROM bank_statements
    WHERE iban = $1 AND imported_at >= $2 AND closing_on IS NOT NULL ORDER BY closing_on DESC, id DESC LIMIT 1
"""
# The last one that ended before the day $2: the balance from which the entries since then are counted.
BASE = """
    SELECT coalesce(closing_on, last_on) AS closing_on, closing_minor FROM bank_statements
    WHERE iban = $1 AND coalesce(closing_on, last_on) < $2 AND closing_minor IS NOT NULL
    ORDER BY coalesce(closing_on, last_on) DESC, id DESC LIMIT 1
"""
MOVED = """
    SELECT coalesce(sum(CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END), 0)::bigint
    FROM bank_entries e JOIN bank_statements s ON s.id = e.first_statement_id
    WHERE s.iban = $1 AND e.booked_on > $2 AND e.booked_on <= $3
"""
UNDECIDED_DEBITS = """
    SELECT count(*) FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id AND e.side = 'debit'
    WHERE p.outcome = 'unmatched' AND e.booked_on >= $1
"""


class Closing(Struct, frozen=True):
    """A closing balance and its day."""

    on: date
    minor: int | None


async def newest(tx: Tx, iban: str, imported_since: datetime) -> Closing | None:
    """The newest closing balance among the statements that were imported since then."""
    row = await tx.fetchrow(NEWEST, iban, imported_since)
    return None if row is None else Closing(*row.values())


async def base(tx: Tx, iban: str, before: date) -> Closing | None:
    """The last closing balance before this day."""
    row = await tx.fetchrow(BASE, iban, before)
    return None if row is None else Closing(*row.values())


async def moved_minor(tx: Tx, iban: str, after: date, until: date) -> int:
    """What the entries after one day until another add up to."""
    return await tx.fetchval(MOVED, iban, after, until)


async def undecided_debits(tx: Tx, since: date) -> int:
    """The number of unmatched outgoing transfers since this day."""
    return await tx.fetchval(UNDECIDED_DEBITS, since)
