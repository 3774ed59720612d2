"""Keyset pagination of long lists: every page costs the same."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.http.paging import NEWEST, PageLinks, Position, filters_of
from tollhouse.kernel.limits import PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

__all__ = ["NEWEST", "KeysetQuery", "Position", "keyset_links", "read_in_batches"]
T = TypeVar("T")


class KeysetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?before=&limit=` of a list, newest first. `before` is the id of the last row of the previous page."""

    before: UUID | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def fetch(self) -> int:
        """The number of rows to read: one more than shown."""
        return self.limit + 1

    def cut(self, rows: list[T]) -> tuple[list[T], bool]:
        """The rows to show, and whether there are more."""
        return rows[: self.limit], len(rows) > self.limit

    def address(self, before: UUID | None) -> str:
        """The URL of the page after this row, with the same filters; empty if there are no parameters."""
        changed = filters_of(self)
        if before is not None:
            changed["before"] = before
        return "?" + urlencode(changed) if changed else ""


async def read_in_batches(read: Callable[[T | None], Awaitable[list[T]]], at_once: int) -> AsyncIterator[list[T]]:
    """All rows of a list, `at_once` at a time. `read` reads the rows after the given one, or the first ones for None.

    No database connection is used between two parts, as the consumer may be slow.
    """
    last: T | None = None
    while part := await read(last):
        yield part
        if len(part) < at_once:
            return
        last = part[-1]


def keyset_links(query: KeysetQuery, path: str, last_id: UUID | None) -> PageLinks:
    """The links of a page: to the newest rows, and to the rows after the last one shown (None: there are none)."""
    newest = path + query.address(None) if query.before is not None else ""
    return PageLinks(0, newest, "" if last_id is None else path + query.address(last_id))
