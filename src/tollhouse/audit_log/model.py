"""Which lines of the audit log a person looks at, and what is shown of each."""

from datetime import datetime, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.audit.author import AuthorKind
from tollhouse.audit.changes import Changes
from tollhouse.audit.event_types import TOPICS, Topic
from tollhouse.http.days import time_range_of
from tollhouse.http.keyset import KeysetQuery, Position
from tollhouse.kernel.ids import Mode

Environment = Literal["", "test", "live", "account"]
"""`account`: what is of neither."""


class Wanted(Struct, frozen=True):
    """Which lines are meant; empty leaves a filter out. `kinds` are the first words of deeds. In the statements' order."""

    since: datetime
    until: datetime
    environment: str
    kinds: list[str]
    author_kind: str
    author: str


class AuditQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?what=&who=&environment=&from=&to=&before=` of the page. Empty is no filter.

    `who` is a kind of author, or a kind, a colon and an id. The days begin in the merchant's time zone, and `to` is within.
    """

    what: Literal[Topic, ""] = ""
    who: str = ""
    environment: Environment = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    @property
    def filters(self) -> bool:
        """Whether not every line is meant."""
        return bool(self.what or self.who or self.environment or self.since or self.until)

    def wanted(self, zone: tzinfo) -> Wanted:
        """What is meant. Raises `ValidationFailed` with every fault."""
        since, until = time_range_of(self.since, self.until, zone)
        kinds = list(TOPICS[self.what]) if self.what else []
        author_kind, _, author = self.who.partition(":")
        return Wanted(since, until, self.environment, kinds, author_kind, author)


class Line(Struct, frozen=True, kw_only=True):
    """One deed. `mode` is missing where it is of no environment."""

    id: UUID
    created_at: datetime
    mode: Mode | None
    action: str
    author_kind: AuthorKind
    author: str
    address: str | None
    request_id: UUID | None
    subject: str | None
    name: str | None
    changed: Changes

    @property
    def place(self) -> Position:
        """Where it stands in the list."""
        return Position(self.created_at, self.id)


class KnownAuthor(Struct, frozen=True):
    """A person, an API key or an application that can have done something, by the name that people know."""

    kind: AuthorKind
    id: str
    name: str
