"""Pages of lists: `page` and `limit`, newest first, with `has_more` determined by reading one more row.

Numbered pages reach the first 10,000 rows. The pages behind them continue after a position, so that every page costs the
same however long the list is.
"""

import base64
import binascii
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.http.statuses import words_of
from tollhouse.kernel.limits import DEEP_ROWS_MAX, PAGE_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
POSITION_BYTES, POSITION_LENGTH = 24, 32


class Position(Struct, frozen=True):
    """The position of a row in a list: its time, and its id among rows of the same time."""

    at: datetime
    id: UUID

    @property
    def encoded(self) -> bytes:
        """24 bytes: microseconds since 1970, and the id."""
        return ((self.at - EPOCH) // MICROSECOND).to_bytes(8, signed=True) + self.id.bytes


def decode_position(encoded: bytes) -> Position | None:
    """The position of its 24 bytes; None if they are not one."""
    if len(encoded) != POSITION_BYTES:
        return None
    try:
        return Position(EPOCH + int.from_bytes(encoded[:8], signed=True) * MICROSECOND, UUID(bytes=encoded[8:]))
    except OverflowError:
        return None


class CreatedRow(Protocol):
    """An entry of a list: newest first, by id at the same time."""

    @property
    def id(self) -> UUID:
        """The id."""
        ...

    @property
    def created_at(self) -> datetime:
        """The creation time."""
        ...


def position_of(row: CreatedRow | Position) -> Position:
    """The position of a row."""
    return row if isinstance(row, Position) else Position(row.created_at, row.id)


PAGE_PARAMETERS = frozenset({"page", "before", "after", "done"})
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


NO_ROWS = all_rows(0)


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def offset(self) -> int:
        """The number of rows to skip."""
        return (self.page - 1) * self.limit

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


class LongPageQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    """The same for a list of any length. A page behind the numbered ones has the position `after` which it begins."""

    after: Annotated[str, Meta(max_length=POSITION_LENGTH)] | None = None

    @property
    def deepest(self) -> int:
        """The last page that can be found by its number."""
        return DEEP_ROWS_MAX // self.limit

    @property
    def window(self) -> Window:
        """The rows for the store to read. None of a page that cannot be found by its number."""
        if self.page <= self.deepest:
            return Window(EARLIEST, NEWEST.at, NEWEST.id, self.fetch, self.offset)
        after = None if self.after is None else decode_position(_bytes_of(self.after))
        return NO_ROWS if after is None else Window(EARLIEST, after.at, after.id, self.fetch, 0)

    def links(self, shown: Sequence[CreatedRow | Position], *, more: bool) -> PageLinks:
        """The links to the neighboring pages, with the same filters."""
        links = page_links(self, more=more)
        if self.page > self.deepest:
            links = PageLinks(self.page, "?" + urlencode(filters_of(self) | {"page": self.deepest}), links.older)
        if more and self.page >= self.deepest:
            after = base64.urlsafe_b64encode(position_of(shown[-1]).encoded).decode()
            links = PageLinks(self.page, links.newer, f"{links.older}&{urlencode({'after': after})}")
        return links


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


def _bytes_of(after: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(after)
    except (binascii.Error, ValueError):
        return b""
