"""Pages of lists: `page` and `limit` in, newest first out, with `has_more` found by one row too many."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.limits import PAGE_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

T = TypeVar("T")


class Position(Struct, frozen=True):
    """Where in a list a row stands: by its moment, and by its id among those of the same one."""

    at: datetime
    id: UUID


EARLIEST, FIRST = datetime(1, 1, 1, tzinfo=UTC), UUID(int=0)
NEWEST = Position(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))


class Window(Struct, frozen=True):
    """The rows that a store reads: from a time on, before a place, so many, leaving out some. In the statements' order."""

    since: datetime
    before_at: datetime
    before_id: UUID
    fetch: int
    offset: int


def all_rows(limit: int) -> Window:
    """All rows, at most so many."""
    return Window(EARLIEST, NEWEST.at, NEWEST.id, limit, 0)


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def offset(self) -> int:
        """How many rows to leave out."""
        return (self.page - 1) * self.limit

    @property
    def window(self) -> Window:
        """Which rows a store reads."""
        return Window(EARLIEST, NEWEST.at, NEWEST.id, self.fetch, self.offset)

    @property
    def fetch(self) -> int:
        """How many rows to read: one more than shown."""
        return self.limit + 1

    def cut(self, rows: list[T]) -> tuple[list[T], bool]:
        """The rows to show, and whether there are more."""
        return rows[: self.limit], len(rows) > self.limit


class PageLinks(Struct, frozen=True):
    """A page of a list: its number, and the addresses of the one before and the one behind, empty where there is none."""

    number: int
    newer: str
    older: str


def page_links(query: PageQuery, *, more: bool) -> PageLinks:
    """Where one can turn to from this page of a list, with the same filters."""
    usual = type(query)()
    members = ((field.encode_name, field.name) for field in msgspec.structs.fields(query) if field.name != "page")
    asked = {shown: getattr(query, name) for shown, name in members if getattr(query, name) != getattr(usual, name)}

    def address(number: int) -> str:
        return "?" + urlencode(asked | {"page": number})

    return PageLinks(query.page, address(query.page - 1) if query.page > 1 else "", address(query.page + 1) if more else "")


def status_options(kind: Any) -> list[tuple[str, str]]:
    """What a list can be filtered by: each status or type of a Literal, with its words."""
    return [(status, status.replace("_", " ")) for status in get_args(kind)]
