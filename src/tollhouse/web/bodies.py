"""JSON bodies and query parameters into Structs: every refused field is named, in one answer."""

import re
from typing import Any, cast

import msgspec

from tollhouse.kernel.refusals import Fault, InvalidRequest, ValidationFailed
from tollhouse.web.forms import parse_form

PATH = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def shown(**bounds: Any) -> msgspec.Meta:
    """Bounds of a member, for the reference alone: what is outside is refused with all other faults, not while decoding."""
    return msgspec.Meta(extra_json_schema=bounds)


def parse_json(raw: bytes) -> Any:
    """Plain Python from a JSON text. Raises `InvalidRequest` where it is malformed or holds what no text may hold."""
    try:
        parsed = msgspec.json.decode(raw)
        if b"\\u0000" in raw and _holds_nul(parsed):
            raise InvalidRequest("The body holds a NUL character.")
        if b"\\ud" in raw.lower() and not _is_text(parsed):
            raise InvalidRequest("The body holds half a character.")
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidRequest("The body is not valid JSON.") from None
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply.") from None
    return parsed


def shape(parsed: Any, kind: type[Any]) -> Any:
    """The checked Struct of a parsed body. Raises `ValidationFailed` naming every field that does not fit."""
    try:
        return msgspec.convert(parsed, kind)
    except msgspec.ValidationError as fault:
        raise ValidationFailed(*_all_faults(parsed, kind, fault)) from None


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
    steps = [name or place for name, place in STEP.findall(path)]
    code = "invalid_type" if what.startswith("Expected `") and "got `" in what else "invalid_value"
    return Fault(".".join([field, *steps] if field else steps), code, what.replace("`", "") + ".")


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
