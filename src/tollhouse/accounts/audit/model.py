"""The events of the audit log, their filters, and the changed values: without secrets, since they are kept for years."""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, Literal, cast
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit.event_types import TOPICS, Topic
from tollhouse.http.forms import time_range_of
from tollhouse.http.lists import KeysetQuery
from tollhouse.kernel.actor import ActorKind
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import AUDIT_VALUE_CHARS_MAX

Value = str | int | bool | list[str] | None
Changes = dict[str, tuple[Value, Value]]
"""For each field, the value before and the value after."""
URL = re.compile(r"(https?://)(?:[^/?#]*@)?([^/?#]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
ELLIPSIS = "…"
SECRET_PATH_FIELDS = frozenset({"webhook_url", "connection_webhook_url"})
"""The URLs whose path often holds a secret."""

Environment = Literal["", "test", "live", "account"]
"""`account`: events of neither environment."""


def new_values(**values: object) -> Changes:
    """The values of a new object, without those that are None."""
    return changes({}, {name: value for name, value in values.items() if value is not None})


def changes(before: object, after: object) -> Changes:
    """The fields that differ between two Structs or mappings; a nested field is named `outer.inner`."""
    old, new = _flatten(before), _flatten(after)
    return {
        name: (_redact(name, old.get(name)), _redact(name, new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    }


def _flatten(value: object) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, member in cast("Mapping[str, Any]", msgspec.to_builtins(value)).items():
        if isinstance(member, dict):
            flat |= {f"{name}.{inner}": nested for inner, nested in cast("dict[str, Any]", member).items()}
        else:
            flat[name] = member
    return flat


def _redact(name: str, value: Any) -> Value:
    if isinstance(value, list | tuple):
        return [_redact_text(name, str(item)) for item in cast("list[object]", value)]
    return value if value is None or isinstance(value, int) else _redact_text(name, str(value))


def _redact_text(name: str, text: str) -> str:
    """The text, cut to its limit; a URL without user name, query and fragment, since each may be a secret."""
    match = URL.fullmatch(text)
    if match is not None:
        scheme, host, path, rest = match.groups()
        if name in SECRET_PATH_FIELDS:
            path, rest = "", path.strip("/") + rest
        text = f"{scheme}{host}{path}{ELLIPSIS if rest else ''}"
    return text if len(text) <= AUDIT_VALUE_CHARS_MAX else text[: AUDIT_VALUE_CHARS_MAX - 1] + ELLIPSIS


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


class PersonEvent(Struct, frozen=True):
    """What happened to the access of a person: by the person, or, to the account of the person, by an operator."""

    id: UUID
    created_at: datetime
    event_type: str
    actor_kind: ActorKind
    address: str | None


class NamedActor(Struct, frozen=True):
    """A user, API key or application of the merchant, and its name."""

    kind: ActorKind
    id: str
    name: str
