"""Invariants: statements about the rows in the database that must always hold, and how they are checked."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database import digests_store
from tollhouse.platform.database.pool import Tx

IDS_AT_ONCE = 5_000
LINES_MAX = 1_000
"""The maximum number of violations that are reported."""


class Invariant(Struct, frozen=True):
    """A statement whose every row, one text named `line`, is a violation.

    With a `kind` (of `digests_store.TABLES`) it checks the rows whose ids are its parameter `$1`, which it finds by
    indexes: a check can verify new rows only, and old ones in parts. Without a kind it checks all rows: then it must be
    cheap for any number of rows, or `costly`, and runs in full checks only.
    """

    number: str
    meaning: str
    statement: str
    kind: str | None = None
    costly: bool = False


async def find_violations(tx: Tx, invariant: Invariant, ids: Sequence[UUID] = ()) -> list[str]:
    """A line for each of these rows that violates the invariant; `ids` apply if it has a kind."""
    rows = await digests_store.lines(tx, invariant.statement, None if invariant.kind is None else ids)
    return [f"{invariant.number} {invariant.meaning}: {row}" for row in rows[:LINES_MAX]]


async def find_all_violations(tx: Tx, invariants: Sequence[Invariant], after: UUID = digests_store.BEFORE_ALL) -> list[str]:
    """A line for each violation in the whole database, best read in one snapshot; empty if there is none.

    Of rows with ids, only those `after` this one are checked.
    """
    found: list[str] = []
    ids = {
        kind: await _ids(tx, kind, after)
        for kind in {invariant.kind for invariant in invariants if invariant.kind is not None}
    }
    for invariant in invariants:
        for some in [()] if invariant.kind is None else ids[invariant.kind]:
            found += await find_violations(tx, invariant, some)
    return found


async def _ids(tx: Tx, kind: str, after: UUID) -> list[list[UUID]]:
    pages: list[list[UUID]] = []
    page = await digests_store.page(tx, kind, after, IDS_AT_ONCE)
    while page:
        pages.append(page)
        page = await digests_store.page(tx, kind, page[-1], IDS_AT_ONCE) if len(page) == IDS_AT_ONCE else []
    return pages
