"""Lists of the API: the part that a request asks for, by page or by cursor, and the link to the next part.

A cursor has the position after which the list continues: time and id of the last row, or the name of the last entry of
a catalogue. It starts with a digest of the list and its owner, so that cursors of other lists, merchants or modes are
rejected. It is not a credential: merchant and mode come from the caller. Filters may change between two parts.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Meta, Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.http.paging import EARLIEST, FIRST, NEWEST, Position, Window, decode_position, position_of
from tollhouse.kernel import messages
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE, DEEP_ROWS_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX

T = TypeVar("T")
TAG_BYTES = 6
PAGE = Meta(ge=1, description="Page number, 1 by default. Pages reach the first 10,000 rows; use `cursor` to read further.")
CURSOR = Meta(description="The `next_cursor` of the previous response, instead of `page`.")
SINCE = Meta(tz=True, description="Only objects created at or after this time.")
UNTIL = Meta(tz=True, description="Only objects created before this time.")


class PageTooDeep(ApiError):
    """422: the page is not within the first 10,000 rows."""

    code, status = "page_too_deep", 422
    message = "Pages end at 10,000 rows. To continue, send the next_cursor of the last page as cursor."

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
    """The same for a list of objects, with a filter by creation time."""

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
    """The same for connections, 100 per page."""

    limit: ClassVar[int] = CONNECTIONS_PER_PAGE
    page: Annotated[int, PAGE] | None = None
    cursor: Annotated[str, CURSOR] | None = None
    created_from: Annotated[datetime, SINCE] | None = None
    created_to: Annotated[datetime, UNTIL] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the cursor and the filter."""
        yield from _cursor_errors(self, context)
        yield from _span_errors(self)


AnyQuery = CatalogueQuery | ListQuery | ConnectionsQuery


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
            before = min(before, decode_position(self.after) or before, key=lambda place: (place.at, place.id))
        return Window(self.since, before.at, before.id, self.limit + 1, self.offset)

    def cut(self, rows: Sequence[T], place: Callable[[T], Position] = position_of) -> tuple[list[T], bool, str | None]:
        """The rows to show, whether there are more, and the cursor of the next part."""
        shown, more = list(rows[: self.limit]), len(rows) > self.limit
        return shown, more, self._cursor(place(shown[-1]).encoded) if more else None

    def pick(self, every: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], bool, str | None]:
        """The same for all entries of a catalogue, by name. Raises `ValidationFailed` if the cursor's entry is missing."""
        begin = self.offset
        if self.after is not None:
            names = [name(one).encode() for one in every]
            if self.after not in names:
                raise ValidationFailed(FieldError("cursor", "invalid_cursor", messages.A_CURSOR))
            begin = names.index(self.after) + 1
        shown, more = list(every[begin : begin + self.limit]), len(every) > begin + self.limit
        return shown, more, self._cursor(name(shown[-1]).encode()) if more else None

    def _cursor(self, after: bytes) -> str:
        return base64.urlsafe_b64encode(self.tag + after).rstrip(b"=").decode()


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
    number = query.page or 1
    if number * query.limit > DEEP_ROWS_MAX:
        raise PageTooDeep
    has_span = not isinstance(query, CatalogueQuery)
    kind = ListPageRequest if has_span else CataloguePageRequest
    return kind(
        tag=_tag(context),
        limit=query.limit,
        offset=(number - 1) * query.limit,
        after=None if query.cursor is None else _after(query.cursor, context),
        since=(query.created_from if has_span else None) or EARLIEST,
        until=(query.created_to if has_span else None) or NEWEST.at,
    )


def _cursor_errors(query: AnyQuery, context: ValidationContext) -> Iterator[FieldError]:
    if query.cursor is None:
        return
    if query.page is not None:
        yield FieldError("page", "not_with_cursor", messages.NOT_WITH_CURSOR)
    after = _after(query.cursor, context)
    if after is None or (not isinstance(query, CatalogueQuery) and decode_position(after) is None):
        yield FieldError("cursor", "invalid_cursor", messages.A_CURSOR)


def _span_errors(query: ListQuery | ConnectionsQuery) -> Iterator[FieldError]:
    if query.created_from is not None and query.created_to is not None and query.created_from >= query.created_to:
        yield FieldError("created_to", "invalid_value", messages.AFTER_CREATED_FROM)


def _tag(context: ValidationContext) -> bytes:
    """The prefix of a cursor: a digest of the list and its owner."""
    caller: Any = context.caller
    whose = getattr(caller, "merchant_id", None) or f"{caller.env.merchant_id} {caller.env.mode}"
    return hashlib.sha256(f"{context.path} {whose}".encode()).digest()[:TAG_BYTES]


def _after(cursor: str, context: ValidationContext) -> bytes | None:
    """The position of a cursor; None if it is not a cursor of this list."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    is_valid = raw[:TAG_BYTES] == _tag(context) and base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == cursor
    return raw[TAG_BYTES:] if is_valid else None
