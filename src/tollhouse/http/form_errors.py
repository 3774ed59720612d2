"""Errors of a submitted form: a message above it, and messages at its fields."""

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.text import Translatable, joined

NOT_SAVED = "Check the highlighted fields and try again."
INVALID_VALUE = "This value is not valid."


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
    return {one.field: one.message for one in error.field_errors} if error else {}


def _for_people(field_error: FieldError, name: str) -> Translatable:
    """The message for people; those of members of a JSON Schema are written for programs."""
    if "." not in name:
        return field_error.message
    return "This field is required." if field_error.code == "missing" and field_error.field == name else INVALID_VALUE
