"""Provider fields: their JSON Schema (draft 2020-12), and validation of values against it."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NoReturn, cast

import jsonschema_rs
import msgspec

from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text, Translatable, as_text

MEMBER = "provider_fields"
ENCODER = msgspec.json.Encoder(order="sorted")


def schema_error(schema: dict[str, Any]) -> str | None:
    """The error of a schema, which must describe an object without additional properties; None if it is valid."""
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        return "must have type object and additionalProperties false"
    try:
        _validator(ENCODER.encode(schema))
    except (ValueError, jsonschema_rs.ReferencingError):
        return "must be a self-contained JSON Schema"
    return None


def fields_errors(schema: dict[str, Any], sent: dict[str, Any], member: str = MEMBER) -> Iterator[FieldError]:
    """The validation errors; each message begins with a JSON pointer."""
    for places in _unreadable(sent):
        yield _error([member, *places], "invalid_value", messages.READABLE)
    for error in _validator(ENCODER.encode(schema)).iter_errors(sent):
        kind, places = error.kind, [str(step) for step in error.instance_path]
        if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
            yield _error([member, *places, kind.property], "missing", messages.REQUIRED)
        elif isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            for name in kind.unexpected:
                yield _error([member, *places, name], "unknown_field", messages.UNKNOWN_FIELD)
        else:
            code = "invalid_type" if isinstance(kind, jsonschema_rs.ValidationErrorKind.Type) else "invalid_value"
            yield _error([member, *places], code, _rule(schema, [str(step) for step in error.schema_path]))


def _unreadable(value: Any) -> Iterator[list[str]]:
    """Where texts are that must not be stored."""
    if isinstance(value, str) and not is_readable(value):
        yield []
    members: Iterable[tuple[object, Any]] = ()
    if isinstance(value, dict):
        members = cast("dict[object, Any]", value).items()
    elif isinstance(value, list):
        members = enumerate(cast("list[Any]", value))
    for name, one in members:
        yield from ([str(name), *places] for places in _unreadable(one))


def _rule(schema: dict[str, Any], path: list[str]) -> Translatable:
    """The schema keyword that is violated, with its value, such as `maxLength 70`; of a pattern its description."""
    value, within = schema, schema
    for step in path:
        within = value
        value = cast("list[Any]", value)[int(step)] if isinstance(value, list) else value[step]
    if path[-1] == "pattern" and isinstance(description := within.get("description"), str):
        return description
    return Text("This must match %(keyword)s in the schema.", keyword=f"{path[-1]} {msgspec.json.encode(value).decode()}")


def _error(places: list[str], code: str, message: Translatable) -> FieldError:
    pointer = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in places)
    return FieldError(".".join(places), code, Text("%(pointer)s: %(message)s", pointer=pointer, message=as_text(message)))


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(msgspec.json.decode(schema), retriever=_refuse_to_fetch)


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched: the schema must be self-contained")
