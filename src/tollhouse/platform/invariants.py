"""What must always be true of the rows in the database: how an invariant is written down, and how it is looked at."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.platform import digests_store
from tollhouse.platform.db import Tx

IDS_AT_ONCE = 5_000
LINES_MAX = 1_000
"""What is broken more often than this is told no further."""


class Invariant(Struct, frozen=True):
    """A statement whose every row, one text named `line`, is a breach.

    With a `kind` (of `digests_store.TABLES`) it looks at the rows whose ids are its parameter `$1`, and finds them by
    indexes: so a check can look at new rows alone, and at old ones bit by bit. Without, it looks at all there are: then it
    must be cheap whatever has been posted, or `costly`, and is looked at when everything is.
    """

    number: str
    meaning: str
    statement: str
    kind: str | None = None
    costly: bool = False


async def find_violations(tx: Tx, invariant: Invariant, ids: Sequence[UUID] = ()) -> list[str]:
    """A line for each row of these that breaks the invariant; `ids` count where it has a kind."""
    rows = await digests_store.lines(tx, invariant.statement, None if invariant.kind is None else ids)
    return [f"{invariant.number} {invariant.meaning}: {row}" for row in rows[:LINES_MAX]]


async def find_all_violations(tx: Tx, invariants: Sequence[Invariant]) -> list[str]:
    """A line for each row that breaks one of them, whatever there is, best read in one snapshot; empty when all is well."""
    found: list[str] = []
    ids = {kind: await _all_ids(tx, kind) for kind in {one.kind for one in invariants if one.kind is not None}}
    for one in invariants:
        for some in [()] if one.kind is None else ids[one.kind]:
            found += await find_violations(tx, one, some)
    return found


async def _all_ids(tx: Tx, kind: str) -> list[list[UUID]]:
    pages: list[list[UUID]] = []
    page = await digests_store.page(tx, kind, digests_store.BEFORE_ALL, IDS_AT_ONCE)
    while page:
        pages.append(page)
        page = await digests_store.page(tx, kind, page[-1], IDS_AT_ONCE) if len(page) == IDS_AT_ONCE else []
    return pages
