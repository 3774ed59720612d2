"""JSON bodies and query parameters into Structs: every refused field is named, in one answer."""

import json
import re
from functools import cache
from typing import Any, cast

import msgspec

from tollhouse.kernel.refusals import Fault, InvalidRequest, ValidationFailed
from tollhouse.web.forms import parse_form

PATH = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
INNER = re.compile(r"Object (?P<how>missing required|contains unknown) field `(?P<name>.*)`")
NESTING_MAX = 64


def shown(**bounds: Any) -> msgspec.Meta:
    """Bounds of a member, for the reference alone: what is outside is refused with all other faults, not while decoding."""
    return msgspec.Meta(extra_json_schema=bounds)


def parse_json(raw: bytes) -> Any:
    """Plain Python from a JSON text. Raises `InvalidRequest` where it is malformed or holds what no text may hold."""
    try:
        parsed = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidRequest("The body is not valid JSON.") from None
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply.") from None
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and _is_deep(parsed):
        raise InvalidRequest("The body is nested too deeply.")
    # Decoding keeps the last of two members of one name; whoever else reads the text may keep the first.
    json.loads(raw, object_pairs_hook=_refuse_twins, parse_int=str, parse_float=str)
    if b"\\u0000" in raw and _holds_nul(parsed):
        raise InvalidRequest("The body holds a NUL character.")
    if b"\\ud" in raw.lower() and not _is_text(parsed):
        raise InvalidRequest("The body holds half a character.")
    return parsed


def shape(parsed: Any, kind: type[Any]) -> Any:
    """The checked Struct of a parsed body. Raises `ValidationFailed` naming every field that does not fit."""
    if isinstance(parsed, dict):
        members = cast("dict[str, Any]", parsed)
        parsed = {name: value for name, value in members.items() if value is not None or name not in _defaults(kind)}
    try:
        return msgspec.convert(parsed, kind)
    except msgspec.ValidationError as fault:
        raise ValidationFailed(*_all_faults(parsed, kind, fault)) from None


@cache
def _defaults(kind: type[Any]) -> frozenset[str]:
    """The members that have a default and no null of their own: for them null says what absence says."""
    return frozenset(
        field.encode_name for field in msgspec.structs.fields(kind) if not field.required and not _takes_null(field.type)
    )


def _takes_null(kind: Any) -> bool:
    try:
        msgspec.convert(None, kind)
    except msgspec.ValidationError:
        return False
    return True


def shape_query(raw: bytes, kind: type[Any]) -> Any:
    """The checked Struct of a query string. Raises `ValidationFailed`."""
    form = parse_form(raw)
    values = dict(form.pairs)
    faults = [Fault(name, "repeated", "Send this once.") for name in values if len(form.all(name)) > 1]
    if faults:
        raise ValidationFailed(*faults)
    try:
        query = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as fault:
        raise ValidationFailed(*_all_faults(values, kind, fault, strict=False)) from None
    # The lax reading takes the text `null` for nothing, and a filter would be dropped without a word.
    members = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    if dropped := [name for name in values if getattr(query, members[name]) is None]:
        raise ValidationFailed(*(Fault(name, "invalid_value", "This is no value here.") for name in dropped))
    return query


def _all_faults(parsed: Any, kind: type[Any], first: msgspec.ValidationError, *, strict: bool = True) -> list[Fault]:
    """Msgspec tells the first fault only; ask it again field by field."""
    if not isinstance(parsed, dict):
        return [Fault("", "invalid_type", "The body must be a JSON object.")]
    members = cast("dict[str, Any]", parsed)
    faults: list[Fault] = []
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    faults += [Fault(name, "unknown_field", "There is no such field.") for name in members if name not in fields]
    for name, field in fields.items():
        if name not in members:
            if field.required:
                faults.append(Fault(name, "missing", "This field is required."))
            continue
        try:
            msgspec.convert(members[name], field.type, strict=strict)
        except msgspec.ValidationError as fault:
            faults.append(_fault(name, fault))
    return faults or [_fault("", first)]


def _fault(field: str, fault: msgspec.ValidationError) -> Fault:
    match = PATH.match(str(fault))
    what, path = (match["what"], match["path"] or "") if match else (str(fault), "")
    # An unnamed step is somewhere within an object whose members may have any name.
    steps = [step for name, place in STEP.findall(path) if (step := name or place) != "..."]
    if inner := INNER.fullmatch(what):
        missing = inner["how"] == "missing required"
        code, what = ("missing", "This field is required") if missing else ("unknown_field", "There is no such field")
        return Fault(".".join(filter(None, [field, *steps, inner["name"]])), code, f"{what}.")
    code = "invalid_type" if what.startswith("Expected `") and "got `" in what else "invalid_value"
    return Fault(".".join([field, *steps] if field else steps), code, what.replace("`", "") + ".")


def _refuse_twins(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise InvalidRequest("The body names a member twice.")


def _is_deep(parsed: Any) -> bool:
    level = [parsed]
    for _ in range(NESTING_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(parsed: Any) -> list[Any]:
    if isinstance(parsed, dict):
        return list(cast("dict[str, Any]", parsed).values())
    return cast("list[Any]", parsed) if isinstance(parsed, list) else []


def _holds_nul(parsed: Any) -> bool:
    return any("\0" in text for text in _texts(parsed))


def _is_text(parsed: Any) -> bool:
    try:
        for text in _texts(parsed):
            text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(parsed: Any) -> list[str]:
    if isinstance(parsed, str):
        return [parsed]
    if isinstance(parsed, dict):
        members = cast("dict[str, Any]", parsed)
        return [text for name, value in members.items() for text in (name, *_texts(value))]
    if isinstance(parsed, list):
        items = cast("list[Any]", parsed)
        return [text for item in items for text in _texts(item)]
    return []
