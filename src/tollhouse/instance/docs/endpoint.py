"""An operation or an event of the OpenAPI document as the parts of its page."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus

from markupsafe import Markup
from msgspec import Struct

from tollhouse.instance.docs.code import Sample, highlight
from tollhouse.instance.docs.entries import Json, ReferenceEntry
from tollhouse.instance.docs.markdown import inline
from tollhouse.instance.docs.reference import (
    SENT_BY_POST,
    error_codes,
    events_after,
    headers_of,
    operations_before,
    pretty,
    successes,
    wanted,
)
from tollhouse.instance.docs.samples import note_on, samples_of
from tollhouse.instance.docs.shapes import MemberGroup, SchemaMember, SchemaTables

COMMON_PERCENT = 40
"""An error that more than this percentage of all operations can return is folded below the others."""


class ErrorRow(Struct, frozen=True):
    """An error that an operation can return."""

    status: str
    code: str
    meaning: Markup


class ReturnedView(Struct, frozen=True):
    """A response: its status, an example if it has a body, and the members of the body."""

    status: str
    phrase: str
    example: Markup
    groups: tuple[MemberGroup, ...]
    redirects: bool


class EndpointView(Struct, frozen=True, kw_only=True):
    """The page of an operation or an event. Only events have an `example`; it is that of their payload, the `body`."""

    entry: ReferenceEntry
    paragraphs: tuple[Markup, ...]
    parameters: Mapping[str, tuple[SchemaMember, ...]]
    media_type: str
    body: tuple[MemberGroup, ...]
    access: Markup = Markup()
    is_deprecated: bool = False
    returned: tuple[ReturnedView, ...] = ()
    errors: tuple[ErrorRow, ...] = ()
    common_errors: tuple[ErrorRow, ...] = ()
    note: Markup = Markup()
    samples: tuple[Sample, ...] = ()
    example: Markup = Markup()


def endpoint_of(entry: ReferenceEntry, document: Json) -> EndpointView:
    """The page of an entry of the reference."""
    shapes = SchemaTables(document["components"])
    return _operation(entry, document, shapes) if entry.path else _event(entry, document, shapes)


def common_codes(document: Json) -> frozenset[str]:
    """The codes of errors that many operations return."""
    operations = [shown for methods in document["paths"].values() for shown in methods.values()]
    counts: dict[str, int] = {}
    for shown in operations:
        for code in {code for _, code, _ in error_codes(shown)}:
            counts[code] = counts.get(code, 0) + 1
    return frozenset(code for code, count in counts.items() if 100 * count > COMMON_PERCENT * len(operations))


def _operation(entry: ReferenceEntry, document: Json, shapes: SchemaTables) -> EndpointView:
    shown = entry.shown
    contents: Json = shown.get("requestBody", {}).get("content", {})
    media_type = next(iter(contents), "")
    common = common_codes(document)
    errors = [ErrorRow(status, code, inline(message)) for status, code, message in error_codes(shown)]
    access = wanted(shown)
    return EndpointView(
        entry=entry,
        paragraphs=_paragraphs(shown["summary"].partition(". ")[2], shown.get("description", ""), events_after(shown)),
        access=inline("No credential is required." if access == "none" else f"Requires {access}."),
        is_deprecated=shown.get("deprecated", False),
        parameters={
            place: tuple(_parameter(parameter, shapes) for parameter in shown["parameters"] if parameter["in"] == place)
            for place in ("path", "query", "header")
        },
        media_type=media_type,
        body=shapes.groups(contents[media_type]["schema"]) if contents else (),
        returned=tuple(_returned(shown, shapes)),
        errors=tuple(row for row in errors if row.code not in common),
        common_errors=tuple(row for row in errors if row.code in common),
        note=inline(note_on(shown)),
        samples=samples_of(entry, document),
    )


def _event(entry: ReferenceEntry, document: Json, shapes: SchemaTables) -> EndpointView:
    content = entry.shown["requestBody"]["content"]["application/json"]
    return EndpointView(
        entry=entry,
        paragraphs=_paragraphs(entry.shown["description"], SENT_BY_POST, operations_before(entry, document)),
        parameters={"header": tuple(_parameter(header, shapes) for header in headers_of(entry, document))},
        media_type="application/json",
        body=shapes.groups(content["schema"]),
        example=highlight(pretty(content["example"]), "json"),
    )


def _paragraphs(*texts: str) -> tuple[Markup, ...]:
    return tuple(inline(paragraph) for text in texts for paragraph in text.split("\n\n") if paragraph)


def _parameter(parameter: Json, shapes: SchemaTables) -> SchemaMember:
    return shapes.member(
        parameter["name"],
        parameter["schema"],
        is_required=parameter.get("required", False),
        about=parameter.get("description", ""),
    )


def _returned(shown: Json, shapes: SchemaTables) -> Iterator[ReturnedView]:
    for status, response in successes(shown):
        content = response.get("content", {}).get("application/json")
        yield ReturnedView(
            status,
            HTTPStatus(int(status)).phrase,
            Markup() if content is None else highlight(pretty(content["example"]), "json"),
            () if content is None else shapes.groups(content["schema"]),
            redirects="Location" in response.get("headers", {}),
        )
