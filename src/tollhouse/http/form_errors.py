"""What is wrong with a form that a person filled in: a message above it, and words at its fields."""

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct

from tollhouse.kernel.errors import ApiError, FieldError

NOT_SAVED = "Check the highlighted fields and try again."
UNFIT = "This value is not valid."


class FormErrors(Struct, frozen=True):
    """The message, the words by the name of the field, and the status of the page that shows them."""

    message: str = ""
    field_errors: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    status: int = 200


NO_ERRORS = FormErrors()
AS_TOLD: Mapping[tuple[str, str], str] = {}


def form_errors_of(
    error: ApiError, names: Collection[str], at: str = "", said: Mapping[tuple[str, str], str] = AS_TOLD
) -> FormErrors:
    """How a form of these fields shows a refusal: at the fields that it names, else at the field `at`, else above.

    `said` has better words for people, by field and code.
    """
    words: dict[str, str] = {}
    others: list[str] = []
    for fault in error.field_errors:
        name = next((name for name in names if fault.field == name or fault.field.startswith(f"{name}.")), None)
        if name is None:
            others.append(fault.message)
        else:
            words.setdefault(name, said.get((name, fault.code)) or _for_people(fault, name))
    if at and not words:
        words[at] = error.message
    message = " ".join(others) or (NOT_SAVED if words else error.message)
    return FormErrors(message, words, error.status)


def _for_people(fault: FieldError, name: str) -> str:
    """Of a member that a JSON Schema is about, the fault's own message is for programs."""
    if "." not in name:
        return fault.message
    return "This field is required." if fault.code == "missing" and fault.field == name else UNFIT
