"""Pages of lists: `page` and `limit`, newest first, with `has_more` determined by reading one more row."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.http.statuses import words_of
from tollhouse.kernel.limits import PAGE_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

T = TypeVar("T")


class Position(Struct, frozen=True):
    """The position of a row in a list: its time, and its id among rows of the same time."""

    at: datetime
    id: UUID


PAGE_PARAMETERS = frozenset({"page", "before"})
EARLIEST, FIRST = datetime(1, 1, 1, tzinfo=UTC), UUID(int=0)
NEWEST = Position(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))


class Window(Struct, frozen=True):
    """The rows that a store reads: start time, position, limit, offset, in the order of the statements' parameters."""

    since: datetime
    before_at: datetime
    before_id: UUID
    fetch: int
    offset: int


def all_rows(limit: int) -> Window:
    """All rows, at most this many."""
    return Window(EARLIEST, NEWEST.at, NEWEST.id, limit, 0)


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def offset(self) -> int:
        """The number of rows to skip."""
        return (self.page - 1) * self.limit

    @property
    def window(self) -> Window:
        """The rows for the store to read."""
        return Window(EARLIEST, NEWEST.at, NEWEST.id, self.fetch, self.offset)

    @property
    def fetch(self) -> int:
        """The number of rows to read: one more than shown."""
        return self.limit + 1

    def cut(self, rows: list[T]) -> tuple[list[T], bool]:
        """The rows to show, and whether there are more."""
        return rows[: self.limit], len(rows) > self.limit


class PageLinks(Struct, frozen=True):
    """A page of a list: its number and the URLs of the newer and older pages, empty if there are none."""

    number: int
    newer: str
    older: str


def filters_of(query: Struct) -> dict[str, Any]:
    """The parameters of a list that are set, by their names in the URL, without those that say which page it is."""
    usual = type(query)()
    members = (
        (field.encode_name, field.name) for field in msgspec.structs.fields(query) if field.name not in PAGE_PARAMETERS
    )
    return {shown: getattr(query, name) for shown, name in members if getattr(query, name) != getattr(usual, name)}


def filter_value(query: Struct, name: str) -> Any:
    """The value of a filter by its name in the URL; empty if it is not set."""
    return filters_of(query).get(name, "")


def with_filter(query: Struct, name: str, value: str) -> str:
    """The link to the first page of a list with this filter changed; an empty value removes it."""
    return "?" + urlencode({one: kept for one, kept in (filters_of(query) | {name: value}).items() if kept != ""})


def without_filters(query: Struct, names: Collection[str]) -> str:
    """The link to the first page of a list without these filters."""
    return "?" + urlencode({name: kept for name, kept in filters_of(query).items() if name not in names})


def page_links(query: PageQuery, *, more: bool) -> PageLinks:
    """The links to the neighboring pages, with the same filters."""
    changed = filters_of(query)

    def address(number: int) -> str:
        return "?" + urlencode(changed | {"page": number})

    return PageLinks(query.page, address(query.page - 1) if query.page > 1 else "", address(query.page + 1) if more else "")


def status_options(kind: Any) -> list[tuple[str, str]]:
    """The options of a filter: each status or type of a Literal with its label."""
    return [(status, words_of(status)) for status in get_args(kind)]
