"""Pages of lists: `page` and `limit` in, newest first out, with `has_more` found by one row too many."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, TypeVar, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel import messages
from tollhouse.kernel.limits import PAGE_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX
from tollhouse.kernel.refusals import Fault
from tollhouse.web.bodies import RequestFacts

T = TypeVar("T")


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=&limit=` of a list."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT

    @property
    def offset(self) -> int:
        """How many rows to leave out."""
        return (self.page - 1) * self.limit

    @property
    def fetch(self) -> int:
        """How many rows to read: one more than shown."""
        return self.limit + 1

    def cut(self, rows: list[T]) -> tuple[list[T], bool]:
        """The rows to show, and whether there are more."""
        return rows[: self.limit], len(rows) > self.limit


class Turn(Struct, frozen=True):
    """A page of a list: its number, and the addresses of the one before and the one behind, empty where there is none."""

    number: int
    newer: str
    older: str


def turn(query: PageQuery, *, more: bool) -> Turn:
    """Where one can turn to from this page of a list, with the same filters."""
    usual = type(query)()
    members = ((field.encode_name, field.name) for field in msgspec.structs.fields(query) if field.name != "page")
    asked = {shown: getattr(query, name) for shown, name in members if getattr(query, name) != getattr(usual, name)}

    def address(number: int) -> str:
        return "?" + urlencode(asked | {"page": number})

    return Turn(query.page, address(query.page - 1) if query.page > 1 else "", address(query.page + 1) if more else "")


def statuses_of(kind: Any) -> list[tuple[str, str]]:
    """What a list can be filtered by: each status or type of a Literal, with its words."""
    return [(status, status.replace("_", " ")) for status in get_args(kind)]


class SpanQuery(PageQuery, frozen=True):
    """A page of what was created in a span of time: `created_from` is within, `created_to` without."""

    created_from: Annotated[datetime, Meta(tz=True)] | None = None
    created_to: Annotated[datetime, Meta(tz=True)] | None = None

    def rule_faults(self, _facts: RequestFacts) -> Iterator[Fault]:
        """A span of time ends after it begins."""
        if self.created_from is not None and self.created_to is not None and self.created_from >= self.created_to:
            yield Fault("created_to", "invalid_value", messages.AFTER_CREATED_FROM)
