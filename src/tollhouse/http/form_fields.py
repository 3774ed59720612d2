"""Form fields that are declared on a request body."""

from typing import Literal

import msgspec
from msgspec import Struct

from tollhouse.platform.database.records import marked


class FormField(Struct, frozen=True):
    """On an optional text of a request body: its field in the form, and its label wherever pages show it."""

    label: str
    type: Literal["text", "textarea", "email", "url"] = "text"
    hint: str = ""


def form_fields(body: type[Struct]) -> dict[str, FormField]:
    """The members of a request body that have a `FormField`, by name."""
    marks = {field.name: marked(field.type)[1].get(FormField) for field in msgspec.structs.fields(body)}
    return {name: mark for name, mark in marks.items() if isinstance(mark, FormField)}
