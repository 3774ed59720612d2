"""Lists, newest first: what a request asks for, what a store reads for it, and the way to the next part.

A request of the API is a *page request*, by page or by cursor. A page has a *query*, with links to its neighbors: numbered
pages (`PageQuery`); numbered pages of the first 10,000 rows, then by position (`LongPageQuery`); or by the last row of the
page before (`KeysetQuery`). All tell the store a `Window` or a `Position`, and read one more row than they show.

A cursor has the position after which the list continues: time and id of the last row, or the name of the last entry of
a catalogue. It starts with a digest of the list and its owner, so that cursors of other lists, merchants or modes are
rejected. It is not a credential: merchant and mode come from the caller. Filters may change between two parts.
"""

import base64
import binascii
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.http.positions import Position, decode_position
from tollhouse.http.statuses import words_of
from tollhouse.kernel import base64url, messages
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE, DEEP_ROWS_MAX, PAGE_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

T = TypeVar("T")
TAG_BYTES = 6
PAGE = Meta(ge=1, description="Page number, 1 by default. Pages reach the first 10,000 rows; use `cursor` to read further.")
CURSOR = Meta(description="The `next_cursor` of the previous response, instead of `page`.")
SINCE = Meta(tz=True, description="Only objects created at or after this time.")
UNTIL = Meta(tz=True, description="Only objects created before this time.")
POSITION_LENGTH = 32
PAGE_PARAMETERS = frozenset({"page", "before", "after", "done"})


class ListedRow(Protocol):
    """An entry of a list: newest first, by id at the same time."""

    @property
    def id(self) -> UUID:
        """The id."""
        ...

    @property
    def created_at(self) -> datetime:
        """The creation time."""
        ...


def position_of(row: ListedRow | Position) -> Position:
    """The position of a row."""
    return row if isinstance(row, Position) else Position(row.created_at, row.id)


EARLIEST, FIRST = datetime(1, 1, 1, tzinfo=UTC), UUID(int=0)
NEWEST = Position(datetime(9999, 12, 31, tzinfo=UTC), UUID(int=2**128 - 1))
R = TypeVar("R", bound=ListedRow)


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


async def read_in_batches(read: Callable[[Position], Awaitable[list[R]]], at_once: int) -> AsyncIterator[list[R]]:
    """All rows of a list, `at_once` at a time. `read` reads the rows after a position.

    No database connection is used between two parts, as the consumer may be slow.
    """
    after = NEWEST
    while part := await read(after):
        yield part
        if len(part) < at_once:
            return
        after = position_of(part[-1])


class PageTooDeep(ApiError):
    """422: the page is not within the first 10,000 rows."""

    code, status = "page_too_deep", 422
    message = "Pages end at 10,000 rows. To continue, send the next_cursor of the last page as cursor."
    solution = "Send `next_cursor` of the last page as `cursor`."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("page", self.code, messages.A_SHALLOW_PAGE)])


class CatalogueQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=&cursor=` of a list of the catalogue."""

    page: Annotated[int, PAGE] | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT
    cursor: Annotated[str, CURSOR] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the cursor."""
        return _cursor_errors(self, context)


class ListQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=&cursor=` of a list of objects, with a filter by creation time."""

    page: Annotated[int, PAGE] | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT
    cursor: Annotated[str, CURSOR] | None = None
    created_from: Annotated[datetime, SINCE] | None = None
    created_to: Annotated[datetime, UNTIL] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the cursor and the filter."""
        yield from _cursor_errors(self, context)
        yield from _span_errors(self)


class ConnectionsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&cursor=` of connections, 100 per page, with a filter by creation time."""

    limit: ClassVar[int] = CONNECTIONS_PER_PAGE
    page: Annotated[int, PAGE] | None = None
    cursor: Annotated[str, CURSOR] | None = None
    created_from: Annotated[datetime, SINCE] | None = None
    created_to: Annotated[datetime, UNTIL] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the cursor and the filter."""
        yield from _cursor_errors(self, context)
        yield from _span_errors(self)


class OptionalPageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=&cursor=` of a list that is complete unless one of them is sent."""

    page: Annotated[int, PAGE] | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] | None = None
    cursor: Annotated[str, CURSOR] | None = None

    @property
    def is_paged(self) -> bool:
        """Whether a part of the list is asked for."""
        return (self.page, self.limit, self.cursor) != (None, None, None)

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the cursor."""
        return _cursor_errors(self, context)


AnyQuery = CatalogueQuery | ListQuery | ConnectionsQuery | OptionalPageQuery
SPANNED = (ListQuery, ConnectionsQuery)


class PageRequest(Struct, frozen=True):
    """The requested part of a list. `after` is the position of the cursor."""

    tag: bytes
    limit: int
    offset: int
    after: bytes | None
    since: datetime
    until: datetime

    @property
    def window(self) -> Window:
        """The rows for the store to read."""
        before = Position(self.until, FIRST)
        if self.after is not None:
            before = min(before, decode_position(self.after) or before)
        return Window(self.since, before.at, before.id, self.limit + 1, self.offset)

    def cut(self, rows: Sequence[T], position: Callable[[T], Position] = position_of) -> tuple[list[T], bool, str | None]:
        """The rows to show, whether there are more, and the cursor of the next part."""
        return self.cut_after(rows, lambda row: position(row).encoded)

    def cut_after(self, rows: Sequence[T], encoded: Callable[[T], bytes]) -> tuple[list[T], bool, str | None]:
        """As `cut`, with a cursor of the bytes of the last row, which the next request has in `after`."""
        shown, more = list(rows[: self.limit]), len(rows) > self.limit
        return shown, more, self._cursor(encoded(shown[-1])) if more else None

    def pick(self, every: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], bool, str | None]:
        """The entries of a catalogue to show, as `cut`. Raises `ValidationFailed` if the cursor's entry is missing."""
        begin = self.offset
        if self.after is not None:
            names = [name(entry).encode() for entry in every]
            if self.after not in names:
                raise ValidationFailed(FieldError("cursor", "invalid_cursor", messages.A_CURSOR))
            begin = names.index(self.after) + 1
        shown, more = list(every[begin : begin + self.limit]), len(every) > begin + self.limit
        return shown, more, self._cursor(name(shown[-1]).encode()) if more else None

    def _cursor(self, after: bytes) -> str:
        return base64url.encode(self.tag + after)


class CataloguePageRequest(PageRequest, frozen=True):
    """The part of a list of the catalogue, for a handler without other query parameters."""

    query_type: ClassVar[type[Struct]] = CatalogueQuery


class ListPageRequest(PageRequest, frozen=True):
    """The part of a list of objects, for a handler without other query parameters."""

    query_type: ClassVar[type[Struct]] = ListQuery


class ConnectionsPageRequest(PageRequest, frozen=True):
    """The part of a list of connections."""

    query_type: ClassVar[type[Struct]] = ConnectionsQuery


def page_request_of(query: AnyQuery, context: ValidationContext) -> PageRequest:
    """The part that a valid query asks for. Raises `PageTooDeep`."""
    number, limit = query.page or 1, query.limit or PAGE_ROWS_DEFAULT
    if number * limit > DEEP_ROWS_MAX:
        raise PageTooDeep
    span = (query.created_from, query.created_to) if isinstance(query, SPANNED) else (None, None)
    kind = ListPageRequest if isinstance(query, SPANNED) else CataloguePageRequest
    return kind(
        tag=_tag(context),
        limit=limit,
        offset=(number - 1) * limit,
        after=None if query.cursor is None else _after(query.cursor, context),
        since=span[0] or EARLIEST,
        until=span[1] or NEWEST.at,
    )


def _cursor_errors(query: AnyQuery, context: ValidationContext) -> Iterator[FieldError]:
    if query.cursor is None:
        return
    if query.page is not None:
        yield FieldError("page", "not_with_cursor", messages.NOT_WITH_CURSOR)
    after = _after(query.cursor, context)
    if after is None or (isinstance(query, SPANNED) and decode_position(after) is None):
        yield FieldError("cursor", "invalid_cursor", messages.A_CURSOR)


def _span_errors(query: ListQuery | ConnectionsQuery) -> Iterator[FieldError]:
    if query.created_from is not None and query.created_to is not None and query.created_from >= query.created_to:
        yield FieldError("created_to", "invalid_value", messages.AFTER_CREATED_FROM)


def _tag(context: ValidationContext) -> bytes:
    """The prefix of a cursor: a digest of the list and its owner."""
    caller: Any = context.caller
    owner = getattr(caller, "merchant_id", None) or f"{caller.env.merchant_id} {caller.env.mode}"
    return hashlib.sha256(f"{context.path} {owner}".encode()).digest()[:TAG_BYTES]


def _after(cursor: str, context: ValidationContext) -> bytes | None:
    """The position of a cursor; None if it is not a cursor of this list."""
    raw = base64url.decode(cursor)
    return raw[TAG_BYTES:] if raw is not None and raw[:TAG_BYTES] == _tag(context) else None


class PageLinks(Struct, frozen=True):
    """A page of a list: its number and the URLs of the newer and older pages, empty if there are none."""

    number: int
    newer: str
    older: str


class RowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many rows a page shows."""

    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def fetch(self) -> int:
        """The number of rows to read: one more than shown."""
        return self.limit + 1

    def cut(self, rows: list[T]) -> tuple[list[T], bool]:
        """The rows to show, and whether there are more."""
        return rows[: self.limit], len(rows) > self.limit


class PageQuery(RowsQuery, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1

    @property
    def offset(self) -> int:
        """The number of rows to skip."""
        return (self.page - 1) * self.limit

    def links(self, shown: Sequence[object], *, more: bool) -> PageLinks:  # noqa: ARG002 - other queries need the last row
        """The links to the neighboring pages, with the same filters."""
        newer = self.address(self.page - 1) if self.page > 1 else ""
        return PageLinks(self.page, newer, self.address(self.page + 1) if more else "")

    def address(self, number: int) -> str:
        """The link to a page by its number, with the same filters."""
        return "?" + urlencode(filters_of(self) | {"page": number})


class DeepPageQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list of any length: pages behind the first 10,000 rows begin after a row."""

    @property
    def deepest(self) -> int:
        """The last page that can be found by its number."""
        return DEEP_ROWS_MAX // self.limit

    def after_of(self, row: Any) -> str:
        """What `after` says of a row."""
        return base64.urlsafe_b64encode(position_of(row).encoded).decode()

    def links(self, shown: Sequence[object], *, more: bool) -> PageLinks:
        """The links to the neighboring pages, with the same filters."""
        links = PageQuery.links(self, shown, more=more)
        newer = links.newer if self.page <= self.deepest else self.address(self.deepest)
        after = f"&{urlencode({'after': self.after_of(shown[-1])})}" if more and self.page >= self.deepest else ""
        return PageLinks(self.page, newer, links.older + after)


class LongPageQuery(DeepPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=&after=` of a list of any length. A page behind the numbered ones begins after the position `after`."""

    after: Annotated[str, Meta(max_length=POSITION_LENGTH)] | None = None

    @property
    def window(self) -> Window:
        """The rows for the store to read. None of a page that cannot be found by its number."""
        if self.page <= self.deepest:
            return Window(EARLIEST, NEWEST.at, NEWEST.id, self.fetch, self.offset)
        after = None if self.after is None else decode_position(_bytes_of(self.after))
        return all_rows(0) if after is None else Window(EARLIEST, after.at, after.id, self.fetch, 0)


class KeysetQuery(RowsQuery, frozen=True, forbid_unknown_fields=True):
    """`?before=&limit=` of a page of a list. `before` is the id of the last row of the previous page."""

    before: UUID | None = None

    def address(self, before: UUID | None) -> str:
        """The URL of the page after this row, with the same filters; empty if there are no parameters."""
        changed = filters_of(self) | ({} if before is None else {"before": before})
        return "?" + urlencode(changed) if changed else ""

    def links(self, path: str, shown: Sequence[ListedRow], *, more: bool) -> PageLinks:
        """The links to the newest rows, and to the rows after the last one shown."""
        newest = path + self.address(None) if self.before is not None else ""
        return PageLinks(0, newest, path + self.address(shown[-1].id) if more else "")


def filters_of(query: Struct) -> dict[str, Any]:
    """The parameters of a list that are set, by their names in the URL, without those that say which page it is."""
    usual = type(query)()
    members = (
        (field.encode_name, field.name) for field in msgspec.structs.fields(query) if field.name not in PAGE_PARAMETERS
    )
    return {shown: getattr(query, name) for shown, name in members if getattr(query, name) != getattr(usual, name)}


def with_filter(query: Struct, name: str, value: str) -> str:
    """The link to the first page of a list with this filter changed; an empty value removes it."""
    return "?" + urlencode({field: kept for field, kept in (filters_of(query) | {name: value}).items() if kept != ""})


def without_filters(query: Struct, names: Collection[str]) -> str:
    """The link to the first page of a list without these filters."""
    return "?" + urlencode({name: kept for name, kept in filters_of(query).items() if name not in names})


def status_options(kind: Any) -> list[tuple[str, str]]:
    """The options of a filter: each status or type of a Literal with its label."""
    return [(status, words_of(status)) for status in get_args(kind)]


def _bytes_of(after: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(after)
    except (binascii.Error, ValueError):
        return b""
