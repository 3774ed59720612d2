"""Decoding plain values into the types of a Struct: every error is collected, invalid values become neutral ones.

So the rules of a request are checked together with its types, and one response names every invalid member.
"""

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec import inspect as types

from tollhouse.kernel import messages
from tollhouse.kernel.clock import parse_time
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.text import Translatable

T = TypeVar("T")
WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
UNKNOWN = "unknown_field"
SUGGESTIONS_MAX, NAME_CHARS_MAX = 5, 40
NEUTRAL_ID = "00000000-0000-0000-0000-000000000000"
NEUTRAL_TIME = "2000-01-01T00:00:00Z"


@cache
def type_of(kind: Any) -> types.Type:
    """The type information of msgspec."""
    return types.type_info(kind)


def bare(kind: types.Type) -> types.Type:
    """A type without its annotations."""
    while isinstance(kind, types.Metadata):
        kind = kind.type
    return kind


class Reader:
    """Decodes one body or query. `field_errors` collects errors; `is_text`: all values are text, as in a query."""

    def __init__(self, *, is_text: bool = False) -> None:
        self.field_errors: list[FieldError] = []
        self._is_text = is_text

    def read(self, value: Any, kind: types.Type, path: str) -> Any:
        """The value in the required type; a neutral value, and an error, if it does not fit."""
        kind = bare(kind)
        if isinstance(kind, types.UnionType):
            return self._union(value, kind, path)
        if isinstance(kind, types.StructType):
            return self._struct(value, kind, path)
        if isinstance(kind, types.ListType | types.VarTupleType):
            return self._list(value, kind, path)
        if isinstance(kind, types.DictType):
            return self._dict(value, kind, path)
        if isinstance(kind, types.AnyType | types.RawType):
            return value
        return self._scalar(value, kind, path)

    def _error(self, path: str, code: str, message: Translatable) -> None:
        error = FieldError(path, code, message)
        if error not in self.field_errors:
            self.field_errors.append(error)

    def _unknown(self, path: str, name: str, others: Collection[str]) -> None:
        """An unknown member, with the name that may have been meant: for a few of usual length, since it takes time."""
        suggested = sum(error.code == UNKNOWN for error in self.field_errors) < SUGGESTIONS_MAX
        near = get_close_matches(name, sorted(others), 1) if suggested and len(name) <= NAME_CHARS_MAX else []
        message = messages.unknown_field(near[0]) if near else messages.UNKNOWN_FIELD
        self.field_errors.append(FieldError(path, UNKNOWN, message, near[0] if near else None))

    def _union(self, value: Any, kind: types.UnionType, path: str) -> Any:
        others = [bare(member) for member in kind.types if not isinstance(member, types.NoneType)]
        if value is None and len(others) < len(kind.types):
            return None
        if len(others) == 1:
            return self.read(value, others[0], path)
        for other in others:
            attempt = Reader(is_text=self._is_text)
            found = attempt.read(value, other, path)
            if not attempt.field_errors:
                return found
        numbers = [other for other in others if isinstance(other, types.IntType)]
        words = [word for other in others if isinstance(other, types.LiteralType) for word in other.values]
        self._error(path, "invalid_type", messages.number_or(numbers[0].ge, words) if numbers else messages.WRONG)
        return neutral(others[0])

    def _struct(self, value: Any, kind: types.StructType, path: str) -> Any:
        if not isinstance(value, dict):
            self._error(path, "invalid_type", messages.AN_OBJECT)
            return neutral(kind)
        members = cast("dict[str, Any]", value)
        fields = {field.encode_name: field for field in kind.fields}
        read: dict[str, Any] = {}
        for name, field in fields.items():
            at = f"{path}.{name}" if path else name
            if name in members:
                read[name] = self.read(members[name], field.type, at)
            elif field.required:
                self._error(at, "missing", messages.REQUIRED)
                read[name] = neutral(field.type)
        if kind.forbid_unknown_fields:
            for name in members.keys() - fields.keys():
                self._unknown(f"{path}.{name}" if path else name, name, fields.keys() - members.keys())
        return read

    def _list(self, value: Any, kind: types.ListType | types.VarTupleType, path: str) -> Any:
        if not isinstance(value, list):
            self._error(path, "invalid_type", messages.A_LIST)
            return neutral(kind)
        items = cast("list[Any]", value)
        # A query parameter that is sent several times has one name in errors.
        places = [path if self._is_text else f"{path}.{place}" for place in range(len(items))]
        read = [self.read(item, kind.item_type, place) for place, item in zip(places, items, strict=True)]
        if not _within(len(read), kind.min_length, kind.max_length):
            self._error(path, "invalid_value", messages.items(kind.min_length, kind.max_length))
            return neutral(kind)
        return read

    def _dict(self, value: Any, kind: types.DictType, path: str) -> Any:
        if not isinstance(value, dict):
            self._error(path, "invalid_type", messages.AN_OBJECT)
            return {}
        members = cast("dict[str, Any]", value)
        return {name: self.read(member, kind.value_type, f"{path}.{name}") for name, member in members.items()}

    def _scalar(self, value: Any, kind: types.Type, path: str) -> Any:
        read = _from_text(value, kind) if self._is_text else value
        code, message = _scalar_error(read, kind)
        if message:
            self._error(path, code, message)
            return neutral(kind)
        return parse_time(read) if isinstance(kind, types.DateTimeType) else read


def decode(members: dict[str, Any], kind: type[T]) -> T:
    """The Struct of these members. Raises `ValidationFailed` with every member that does not fit."""
    try:
        return msgspec.convert(members, kind)
    except msgspec.ValidationError:
        reader = Reader()
        read = reader.read(members, type_of(kind), "")
    if reader.field_errors:
        raise ValidationFailed(*reader.field_errors)
    return msgspec.convert(read, kind)


def neutral(kind: types.Type) -> Any:  # noqa: PLR0911 - one line a type
    """A neutral value of the type."""
    kind = bare(kind)
    if isinstance(kind, types.UnionType):
        return None if any(isinstance(member, types.NoneType) for member in kind.types) else neutral(kind.types[0])
    if isinstance(kind, types.StructType):
        return {field.encode_name: neutral(field.type) for field in kind.fields if field.required}
    if isinstance(kind, types.ListType | types.VarTupleType):
        return [neutral(kind.item_type)] * (kind.min_length or 0)
    if isinstance(kind, types.StrType):
        return "x" * (kind.min_length or 0)
    if isinstance(kind, types.IntType):
        return kind.ge or 0
    if isinstance(kind, types.LiteralType):
        return kind.values[0]
    return _NEUTRAL.get(type(kind))


_NEUTRAL: dict[type[types.Type], Any] = {
    types.BoolType: False,
    types.DictType: {},
    types.UUIDType: NEUTRAL_ID,
    types.DateTimeType: parse_time(NEUTRAL_TIME),
}


def _from_text(value: Any, kind: types.Type) -> Any:
    """The value of a parameter: numbers only in plain ASCII digits, booleans only as `true` or `false`."""
    if isinstance(kind, types.IntType):
        return int(value) if isinstance(value, str) and WHOLE_NUMBER.fullmatch(value) else value
    if isinstance(kind, types.BoolType):
        return {"true": True, "false": False}.get(value, value)
    return value


class ScalarRule(Struct, frozen=True):
    """The constraints of a scalar: its type, further constraints, and the message."""

    of: type
    fits: Callable[[Any], bool]
    message: Translatable


def _rule(kind: types.Type) -> ScalarRule:
    if isinstance(kind, types.IntType):
        return ScalarRule(int, lambda value: _within(value, kind.ge, kind.le), messages.whole_number(kind.ge, kind.le))
    if isinstance(kind, types.LiteralType):
        return ScalarRule(object, lambda value: value in kind.values, messages.one_of(kind.values))
    if isinstance(kind, types.StrType):
        return ScalarRule(str, lambda value: _is_text_of(value, kind), _characters(kind))
    return _RULES[type(kind)]


def _scalar_error(value: Any, kind: types.Type) -> tuple[str, Translatable]:
    """The code and message of the error; empty if there is none."""
    rule = _rule(kind)
    if not isinstance(value, rule.of) or (rule.of is int and isinstance(value, bool)):
        return "invalid_type", rule.message
    return ("", "") if rule.fits(value) else ("invalid_value", rule.message)


def _characters(kind: types.StrType) -> Translatable:
    if kind.pattern is not None:
        return messages.pattern(kind.pattern)
    return messages.characters(kind.min_length, kind.max_length)


def _is_text_of(value: str, kind: types.StrType) -> bool:
    return _within(len(value), kind.min_length, kind.max_length) and bool(re.search(kind.pattern or "", value))


def _within(number: int, least: int | None, most: int | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


def _is_uuid(value: str) -> bool:
    try:
        msgspec.convert(value, UUID)
    except msgspec.ValidationError:
        return False
    return True


_RULES: dict[type[types.Type], ScalarRule] = {
    types.BoolType: ScalarRule(bool, lambda _: True, messages.A_BOOLEAN),
    types.UUIDType: ScalarRule(str, _is_uuid, messages.A_UUID),
    types.DateTimeType: ScalarRule(str, lambda value: parse_time(value) is not None, messages.A_TIME),
}
