"""JSON bodies and query parameters into Structs: every refused field is named, in one answer."""

import re
from functools import cache
from typing import Any, cast

import msgspec

from tollhouse.kernel.refusals import Fault, ValidationFailed
from tollhouse.web.forms import parse_form

PATH = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
INNER = re.compile(r"Object (?P<how>missing required|contains unknown) field `(?P<name>.*)`")


def shown(**bounds: Any) -> msgspec.Meta:
    """Bounds of a member, for the reference alone: what is outside is refused with all other faults, not while decoding."""
    return msgspec.Meta(extra_json_schema=bounds)


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
