"""Trying an operation of the Integration API from the browser: what its form asks for."""

import json
from collections.abc import Mapping

from msgspec import Struct

from tollhouse.docs.entries import INTEGRATION, Entry, Json
from tollhouse.docs.samples import KEY


class Part(Struct, frozen=True):
    """A parameter that is typed: beforehand its example stands there, and below it what may be typed."""

    name: str
    place: str
    value: str
    hint: str
    required: bool


class Trial(Struct, frozen=True):
    """One operation to try. `body` is its example, empty where it takes none; `keyed`: it knows an Idempotency-Key."""

    name: str
    title: str
    method: str
    path: str
    parts: tuple[Part, ...]
    body: str
    keyed: bool


def can_be_tried(entry: Entry) -> bool:
    """Whether an API key of the test environment gets in."""
    return entry.path.startswith(INTEGRATION)


def offers(found: Mapping[str, list[Entry]]) -> dict[str, list[Entry]]:
    """What can be tried, by group."""
    tried = {group: [one for one in members if can_be_tried(one)] for group, members in found.items()}
    return {group: members for group, members in tried.items() if members}


def trial_of(entry: Entry) -> Trial:
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
            Part(one["name"], one["in"], str(one.get("example", "")), _hint(one), one["required"])
            for one in parameters
            if one["in"] != "header"
        ),
        body=body,
        keyed=any(one["name"] == KEY for one in parameters),
    )


def _hint(parameter: Json) -> str:
    return ", ".join(map(str, parameter["schema"].get("enum", ())))
