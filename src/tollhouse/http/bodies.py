"""Bodies and queries of requests: their types, their rules and the errors of their members."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Any, NoReturn, Protocol, cast, runtime_checkable

import msgspec
from msgspec import Struct
from msgspec import inspect as types

from tollhouse.http.forms import parse_form
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.platform.decoding import Reader, bare, type_of
from tollhouse.platform.settings.config import Settings

METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class ValidationContext(Struct, frozen=True):
    """What the rules of a body or query depend on besides its own members."""

    caller: Any
    path: str
    settings: Settings
    catalogue: Catalogue
    now: datetime


MULTILINE = frozenset({"description", "note", "metadata", *Evidence.__struct_fields__})
"""The members whose texts may have line feeds."""
SECRETS = frozenset({"password", "current_password", "new_password"})
"""They hold any character and are never shown."""


@runtime_checkable
class HasRules(Protocol):
    """A body or query with rules beyond its types. Rules do not read stored data; actions do."""

    def rule_errors(self, context: ValidationContext) -> Iterable[FieldError]:
        """Every field error."""
        ...


def documented(**bounds: Any) -> msgspec.Meta:
    """Bounds of a member for the API reference; violations are reported with all other errors, not while decoding."""
    return msgspec.Meta(extra_json_schema=bounds)


def decode_body(
    parsed: Any, kind: type[Any], context: ValidationContext | None = None, *, always_check_rules: bool = False
) -> Any:
    """The validated Struct of a parsed body. Raises `ValidationFailed` with every field error.

    If types do not fit, the rules are checked as well if there is a `context`; `always_check_rules`: always.
    """
    if not isinstance(parsed, dict):
        raise ValidationFailed(FieldError("", "invalid_type", "The body must be a JSON object."))
    members = cast("dict[str, Any]", parsed)
    members = {name: value for name, value in members.items() if value is not None or name not in _defaults(kind)}
    if unreadable := [FieldError(path, "invalid_value", messages.READABLE) for path in _unreadable(members)]:
        return _refuse_with(unreadable, members, kind, context)
    if all(members.get(name) is None for name in _times(kind)):
        try:
            body = msgspec.convert(members, kind)
        except msgspec.ValidationError:
            pass
        else:
            if always_check_rules and context is not None:
                _refuse(_rule_errors(body, context))
            return body
    return _read(Reader(), members, kind, context, always_check_rules=always_check_rules)


def _unreadable(value: Any, path: str = "", *, lines: bool = False) -> Iterator[str]:
    """The paths of texts that hold what their reader would not see. Members in `MULTILINE` may have line feeds."""
    if isinstance(value, str):
        if not is_readable(value, LINE_FEEDS if lines else frozenset()):
            yield path
    elif isinstance(value, dict):
        for name, member in cast("dict[str, Any]", value).items():
            if name not in SECRETS:
                yield from _unreadable(member, f"{path}.{name}" if path else name, lines=lines or name in MULTILINE)
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            yield from _unreadable(item, f"{path}.{place}", lines=lines)


def _refuse_with(
    unreadable: list[FieldError], members: dict[str, Any], kind: type[Any], context: ValidationContext | None
) -> NoReturn:
    """Raise `ValidationFailed` with every error; what the rules of a member say about it comes first."""
    found: list[FieldError] = []
    try:
        _read(Reader(), members, kind, context, always_check_rules=True)
    except ValidationFailed as error:
        found = list(error.field_errors)
    faulty = {error.field for error in found}
    raise ValidationFailed(*found, *(error for error in unreadable if not _is_within(error.field, faulty)))


def decode_query(raw: bytes, kind: type[Any], context: ValidationContext | None = None) -> Any:
    """The validated Struct of a query string. Raises `ValidationFailed`."""
    form = parse_form(raw)
    reader = Reader(is_text=True)
    lists = _lists(kind)
    values: dict[str, Any] = {}
    for name, value in form.pairs:
        if name in lists:
            values.setdefault(name, []).append(value)
        elif name in values:
            if not any(error.field == name for error in reader.field_errors):
                reader.field_errors.append(FieldError(name, "repeated", messages.SENT_TWICE))
        else:
            values[name] = value
    return _read(reader, values, kind, context, always_check_rules=True)


def _read(
    reader: Reader, members: dict[str, Any], kind: type[Any], context: ValidationContext | None, *, always_check_rules: bool
) -> Any:
    read = reader.read(members, type_of(kind), "")
    faulty = {error.field for error in reader.field_errors}
    if context is None:
        _refuse(reader.field_errors)
    body = msgspec.convert(read, kind)
    if context is not None and (always_check_rules or faulty):
        reader.field_errors += [error for error in _rule_errors(body, context) if not _is_within(error.field, faulty)]
    _refuse(reader.field_errors)
    return body


def _rule_errors(body: Any, context: ValidationContext) -> list[FieldError]:
    return list(body.rule_errors(context)) if isinstance(body, HasRules) else []


def _refuse(field_errors: list[FieldError]) -> None:
    if field_errors:
        raise ValidationFailed(*field_errors)


def _is_within(field: str, others: set[str]) -> bool:
    """Whether this field or a parent of it has an error."""
    steps = field.split(".")
    return any(".".join(steps[:length]) in others for length in range(1, len(steps) + 1))


@cache
def _fields(kind: type[Any]) -> tuple[types.Field, ...]:
    known = type_of(kind)
    return known.fields if isinstance(known, types.StructType) else ()


def _alternatives(kind: types.Type) -> tuple[types.Type, ...]:
    kind = bare(kind)
    return kind.types if isinstance(kind, types.UnionType) else (kind,)


@cache
def _times(kind: type[Any]) -> frozenset[str]:
    """The members with times, which are read by `parse_time`."""
    return _members_of(kind, types.DateTimeType)


@cache
def _lists(kind: type[Any]) -> frozenset[str]:
    """The parameters that may be repeated."""
    return _members_of(kind, types.ListType)


def _members_of(kind: type[Any], type_: type[types.Type]) -> frozenset[str]:
    """The members whose type is this one or has it as an alternative."""
    return frozenset(
        field.encode_name for field in _fields(kind) if any(isinstance(part, type_) for part in _alternatives(field.type))
    )


@cache
def _defaults(kind: type[Any]) -> frozenset[str]:
    """The members with a default that do not accept null: null means the default."""
    return frozenset(
        field.encode_name for field in msgspec.structs.fields(kind) if not field.required and not _takes_null(field.type)
    )


def _takes_null(kind: Any) -> bool:
    try:
        msgspec.convert(None, kind)
    except msgspec.ValidationError:
        return False
    return True


def reference_errors(
    *, external_id: str | None, metadata: dict[str, str] | None, description: str | None = None
) -> Iterator[FieldError]:
    """Every field error of a merchant's own data of an object."""
    if external_id is not None and not (1 <= len(external_id) <= limits.EXTERNAL_ID_CHARS_MAX and is_readable(external_id)):
        yield FieldError("external_id", "invalid_value", messages.plain_text(1, limits.EXTERNAL_ID_CHARS_MAX))
    if description is not None and (
        len(description) > limits.DESCRIPTION_CHARS_MAX or not is_readable(description, LINE_FEEDS)
    ):
        yield FieldError("description", "invalid_value", messages.plain_text(None, limits.DESCRIPTION_CHARS_MAX))
    yield from _metadata_errors(metadata or {})


def _metadata_errors(metadata: dict[str, str]) -> Iterator[FieldError]:
    if len(metadata) > limits.METADATA_KEYS_MAX:
        yield FieldError("metadata", "too_many", messages.items(None, limits.METADATA_KEYS_MAX))
    for key, value in metadata.items():
        if not METADATA_KEY.fullmatch(key):
            yield FieldError("metadata", "invalid_key", messages.A_METADATA_KEY)
        elif not is_readable(value, LINE_FEEDS):
            yield FieldError(f"metadata.{key}", "invalid_value", messages.READABLE)
        elif len(value) > limits.METADATA_VALUE_CHARS_MAX:
            yield FieldError(f"metadata.{key}", "too_long", messages.characters(None, limits.METADATA_VALUE_CHARS_MAX))
