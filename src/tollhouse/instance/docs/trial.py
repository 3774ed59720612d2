"""The form for trying an operation of the Integration API in the browser."""

import json
from collections.abc import Mapping

from msgspec import Struct

from tollhouse.instance.docs.entries import INTEGRATION, Json, ReferenceEntry
from tollhouse.instance.docs.samples import KEY


class TrialParameter(Struct, frozen=True):
    """An input of the form, with its example as value and a hint."""

    name: str
    place: str
    value: str
    hint: str
    required: bool


class Trial(Struct, frozen=True):
    """The form of an operation. `body` is its example; `keyed`: it accepts an Idempotency-Key."""

    name: str
    title: str
    method: str
    path: str
    parts: tuple[TrialParameter, ...]
    body: str
    keyed: bool


def can_be_tried(entry: ReferenceEntry) -> bool:
    """Whether a test API key can call it."""
    return entry.path.startswith(INTEGRATION)


def offers(found: Mapping[str, list[ReferenceEntry]]) -> dict[str, list[ReferenceEntry]]:
    """The operations that can be tried, by group."""
    groups = {group: [one for one in members if can_be_tried(one)] for group, members in found.items()}
    return {group: members for group, members in groups.items() if members}


def trial_of(entry: ReferenceEntry) -> Trial:
    """The form of an operation."""
    parameters = entry.shown["parameters"]
    content = entry.shown.get("requestBody", {}).get("content", {})
    body = next((json.dumps(one["example"], ensure_ascii=False, indent=2) for one in content.values()), "")
    return Trial(
        name=entry.name,
        title=entry.title,
        method=entry.method,
        path=entry.path,
        parts=tuple(
            TrialParameter(one["name"], one["in"], str(one.get("example", "")), _hint(one), one["required"])
            for one in parameters
            if one["in"] != "header"
        ),
        body=body,
        keyed=any(one["name"] == KEY for one in parameters),
    )


def _hint(parameter: Json) -> str:
    return ", ".join(map(str, parameter["schema"].get("enum", ())))
