"""Errors of a submitted form: a message above it, and messages at its fields."""

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.text import Translatable, joined

NOT_SAVED = "Check the highlighted fields and try again."
UNFIT = "This value is not valid."


class FormErrors(Struct, frozen=True):
    """The message, the messages by field name, and the status of the page."""

    message: Translatable = ""
    field_errors: dict[str, Translatable] = msgspec.field(default_factory=dict[str, Translatable])
    status: int = 200


NO_ERRORS = FormErrors()
NO_TEXTS: Mapping[tuple[str, str], Translatable] = {}


def form_errors_of(
    error: ApiError, names: Collection[str], at: str = "", said: Mapping[tuple[str, str], Translatable] = NO_TEXTS
) -> FormErrors:
    """How a form with these fields shows an error: at its fields, else at the field `at`, else above the form.

    `said` has messages for people, by field and code.
    """
    words: dict[str, Translatable] = {}
    others: list[Translatable] = []
    for field_error in error.field_errors:
        name = next((name for name in names if field_error.field == name or field_error.field.startswith(f"{name}.")), None)
        if name is None:
            others.append(field_error.message)
        else:
            words.setdefault(name, said.get((name, field_error.code)) or _for_people(field_error, name))
    if at and not words:
        words[at] = error.message
    message = joined(*others) if others else NOT_SAVED if words else error.message
    return FormErrors(message, words, error.status)


def _for_people(field_error: FieldError, name: str) -> Translatable:
    """The message for people; those of members of a JSON Schema are written for programs."""
    if "." not in name:
        return field_error.message
    return "This field is required." if field_error.code == "missing" and field_error.field == name else UNFIT
