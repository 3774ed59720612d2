"""The filters of the audit log and its events."""

from datetime import datetime, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit.changes import Changes
from tollhouse.accounts.audit.event_types import TOPICS, Topic
from tollhouse.http.forms import time_range_of
from tollhouse.http.lists import KeysetQuery
from tollhouse.kernel.actor import ActorKind
from tollhouse.kernel.ids import Mode

Environment = Literal["", "test", "live", "account"]
"""`account`: events of neither environment."""


class AuditFilter(Struct, frozen=True):
    """The parameters of the statement, in its order; empty is no filter. `kinds` are the first words of event types."""

    since: datetime
    until: datetime
    environment: str
    kinds: list[str]
    actor_kind: str
    actor: str


class AuditQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?what=&who=&environment=&from=&to=&before=` of the page. Empty is no filter.

    `who` is a kind of actor, or a kind, a colon and an ID. Days begin in the merchant's time zone; `to` is included.
    """

    what: Literal[Topic, ""] = ""
    who: str = ""
    environment: Environment = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.what or self.who or self.environment or self.since or self.until)

    def to_filter(self, zone: tzinfo) -> AuditFilter:
        """The filter. Raises `ValidationFailed` with every invalid field."""
        since, until = time_range_of(self.since, self.until, zone)
        kinds = list(TOPICS[self.what]) if self.what else []
        actor_kind, _, actor = self.who.partition(":")
        return AuditFilter(since, until, self.environment, kinds, actor_kind, actor)


class AuditEvent(Struct, frozen=True, kw_only=True):
    """A recorded event. `mode` is None for an event of the whole account."""

    id: UUID
    created_at: datetime
    mode: Mode | None
    event_type: str
    actor_kind: ActorKind
    actor: str
    address: str | None
    request_id: UUID | None
    subject: str | None
    name: str | None
    changed: Changes


class NamedActor(Struct, frozen=True):
    """A user, API key or application of the merchant, and its name."""

    kind: ActorKind
    id: str
    name: str
