"""Forms and query strings: strict parsing, also of files and days; declared fields; errors at the fields."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct

from tollhouse.kernel import messages
from tollhouse.kernel.clock import midnight, parse_date
from tollhouse.kernel.errors import ApiError, FieldError, InvalidRequest, ValidationFailed
from tollhouse.kernel.text import Text, Translatable, joined
from tollhouse.platform.database.records import marked

BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
FORM = "application/x-www-form-urlencoded"
FORM_WITH_FILES = "multipart/form-data"
FIELDS_MAX = 20
ACTING_FOR = "acting_for"
"""In every form of a user with several merchants: the merchant that the page was opened for."""
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))\s*(?:;|$)', re.IGNORECASE)
FIELD_NAME = re.compile(rb'^content-disposition: *form-data; *name="([^"\r\n]*)"', re.IGNORECASE | re.MULTILINE)
NOT_SAVED = "Check the highlighted fields and try again."
INVALID_VALUE = "This value is not valid."
BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


class Form:
    """The parameters of a form or query, in order, with every repeat."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        self._by_name = dict(pairs)
        self._has_repeats = len(self._by_name) < len(pairs)

    def all(self, name: str) -> list[str]:
        """Every value sent under this name."""
        return [value for key, value in self.pairs if key == name]

    def one(self, name: str) -> str | None:
        """The value of a parameter that may be sent once. Sent empty it counts as not sent. Raises `InvalidRequest`."""
        self.require_no_repeats((name,))
        return self._by_name.get(name) or None

    def require_no_repeats(self, names: Iterable[str]) -> None:
        """Raises `InvalidRequest` if one of these parameters was sent twice, even with equal values."""
        for name in names if self._has_repeats else ():
            if len(self.all(name)) > 1:
                raise InvalidRequest(Text("The parameter %(name)s must not be repeated.", name=name))


def flash_message(query: bytes) -> str:
    """What the previous page did, from `?done=` in the URL; empty if it is missing. Raises `InvalidRequest`."""
    return parse_form(query).one("done") or ""


def parse_form(raw: bytes) -> Form:
    """Read `application/x-www-form-urlencoded` bytes. Raises `InvalidRequest`."""
    if b"%" not in raw:  # then no character decodes to a separator, and everything is decoded at once
        parts = (part.partition("=") for part in decode(raw).split("&") if part)
        return Form([(name, value) for name, _, value in parts])
    pairs: list[tuple[str, str]] = []
    for part in raw.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            pairs.append((decode(name), decode(value)))
    return Form(pairs)


def decode(raw: bytes) -> str:
    """One form-encoded name or value. Raises `InvalidRequest`."""
    spelt = raw.replace(b"+", b" ")
    if b"%" in spelt:
        if BAD_PERCENT.search(spelt):
            raise InvalidRequest("A parameter has invalid percent-encoding.")
        spelt = unquote_to_bytes(spelt)
    try:
        text = spelt.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise InvalidRequest("A parameter is not valid UTF-8.") from None
    if "\0" in text:
        raise InvalidRequest("A parameter contains a NUL character.")
    return text


def parse_multipart(content_type: str, raw: bytes) -> dict[str, bytes]:
    """The value of each field. Raises `InvalidRequest` if the body is malformed or ambiguous."""
    found = BOUNDARY.search(content_type)
    if found is None:
        raise InvalidRequest("The Content-Type must have a boundary.")
    boundary = b"--" + (found[1] or found[2]).encode("latin-1")
    fields: dict[str, bytes] = {}
    for start, end in _spans(raw, boundary):
        begins = raw.find(b"\r\n\r\n", start, end)
        head = b"" if begins < 0 else raw[start:begins]
        named = FIELD_NAME.search(head) if head.startswith(b"\r\n") else None
        if named is None:
            raise InvalidRequest("A form field has no name.")
        name = named[1].decode("utf-8", "replace")
        if name in fields:
            raise InvalidRequest(Text("The field %(name)s must not be repeated.", name=name))
        fields[name] = raw[begins + 4 : end]
    return fields


def _spans(raw: bytes, boundary: bytes) -> list[tuple[int, int]]:
    """Where each field begins and ends. A file may be large, so nothing is copied."""
    found = list[tuple[int, int]]()
    start = len(boundary) if raw.startswith(boundary) else -1
    while start >= 0 and len(found) <= FIELDS_MAX and (end := raw.find(b"\r\n" + boundary, start)) >= 0:
        found.append((start, end))
        start = end + 2 + len(boundary)
    if not 0 < len(found) <= FIELDS_MAX or raw[start : start + 5] not in {b"--", b"--\r\n"}:
        raise InvalidRequest("The form is incomplete or has more than 20 fields.")
    return found


class FormErrors(Struct, frozen=True):
    """The message, the messages by field name, and the status of the page."""

    message: Translatable = ""
    field_errors: dict[str, Translatable] = msgspec.field(default_factory=dict[str, Translatable])
    status: int = 200


NO_ERRORS = FormErrors()
NO_TEXTS: Mapping[tuple[str, str], Translatable] = {}


def form_errors_of(
    error: ApiError, names: Collection[str], at: str = "", texts: Mapping[tuple[str, str], Translatable] = NO_TEXTS
) -> FormErrors:
    """How a form with these fields shows an error: at its fields, else at the field `at`, else above the form.

    `texts` has messages for people, by field and code.
    """
    by_field: dict[str, Translatable] = {}
    others: list[Translatable] = []
    for field_error in error.field_errors:
        name = next((name for name in names if field_error.field == name or field_error.field.startswith(f"{name}.")), None)
        if name is None:
            others.append(field_error.message)
        else:
            by_field.setdefault(name, texts.get((name, field_error.code)) or _for_people(field_error, name))
    if at and not by_field:
        by_field[at] = error.message
    message = joined(*others) if others else NOT_SAVED if by_field else error.message
    return FormErrors(message, by_field, error.status)


def by_field(error: ApiError | None) -> dict[str, Translatable]:
    """The messages of an error by field, for a form that has all of its fields."""
    return {field_error.field: field_error.message for field_error in error.field_errors} if error else {}


def _for_people(field_error: FieldError, name: str) -> Translatable:
    """The message for people; those of members of a JSON Schema are written for programs."""
    if "." not in name:
        return field_error.message
    return "This field is required." if field_error.code == "missing" and field_error.field == name else INVALID_VALUE


class FormField(Struct, frozen=True):
    """On an optional text of a request body: its field in the form, and its label wherever pages show it."""

    label: str
    type: Literal["text", "textarea", "email", "url"] = "text"
    hint: str = ""


def form_fields(body: type[Struct]) -> dict[str, FormField]:
    """The members of a request body that have a `FormField`, by name."""
    marks = {field.name: marked(field.type)[1].get(FormField) for field in msgspec.structs.fields(body)}
    return {name: mark for name, mark in marks.items() if isinstance(mark, FormField)}


def time_range_of(first: str, last: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """The start of the first day and the end of the last one in this zone; unbounded where none is given.

    Raises `ValidationFailed` with every error of the fields `from` and `to`.
    """
    since, until = parse_date(first), parse_date(last)
    if field_errors := list(_day_errors(first, since, last, until)):
        raise ValidationFailed(*field_errors)
    return (
        BEGINNING if since is None else midnight(since, zone),
        END if until is None else midnight(until + timedelta(days=1), zone),
    )


def _day_errors(first: str, since: date | None, last: str, until: date | None) -> Iterator[FieldError]:
    for name, text, day in (("from", first, since), ("to", last, until)):
        if text and day is None:
            yield FieldError(name, "invalid_value", messages.A_DAY)
    if since is not None and until is not None and since > until:
        yield FieldError("to", "out_of_range", messages.NOT_BEFORE_FIRST_DAY)
