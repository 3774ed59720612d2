"""An operation or an event of the OpenAPI document as the parts of its page."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus

from markupsafe import Markup
from msgspec import Struct

from tollhouse.docs.code import Sample, highlight
from tollhouse.docs.entries import Json, ReferenceEntry
from tollhouse.docs.markdown import inline
from tollhouse.docs.reference import REFUSED, error_codes, pretty, wanted
from tollhouse.docs.samples import NOTES, call_of, credential_of, in_curl, in_php, in_python
from tollhouse.docs.shapes import MemberGroup, SchemaMember, SchemaTables

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


class EndpointView(Struct, frozen=True):
    """The page of an operation. The page of an event has no `access`; its payload is `body` and `example`."""

    entry: ReferenceEntry
    paragraphs: tuple[Markup, ...]
    access: Markup
    is_deprecated: bool
    parameters: Mapping[str, tuple[SchemaMember, ...]]
    media_type: str
    body: tuple[MemberGroup, ...]
    returned: tuple[ReturnedView, ...]
    errors: tuple[ErrorRow, ...]
    common_errors: tuple[ErrorRow, ...]
    note: Markup
    samples: tuple[Sample, ...]
    example: Markup


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
    call = call_of(document["servers"][0]["url"], entry.method, entry.path, shown)
    common = common_codes(document)
    errors = [ErrorRow(status, code, inline(message)) for status, code, message in error_codes(shown)]
    access = wanted(shown)
    return EndpointView(
        entry,
        paragraphs=_paragraphs(shown["summary"].partition(". ")[2], shown.get("description", "")),
        access=inline("No credential is required." if access == "none" else f"Requires {access}."),
        is_deprecated=shown.get("deprecated", False),
        parameters={
            place: tuple(_parameter(one, shapes) for one in shown["parameters"] if one["in"] == place)
            for place in ("path", "query", "header")
        },
        media_type=media_type,
        body=shapes.groups(contents[media_type]["schema"]) if contents else (),
        returned=tuple(_returned(shown, shapes)),
        errors=tuple(row for row in errors if row.code not in common),
        common_errors=tuple(row for row in errors if row.code in common),
        note=inline(NOTES.get(credential_of(shown), "")),
        samples=(
            Sample("cURL", "sh", in_curl(call)),
            Sample("Python", "python", in_python(call)),
            Sample("PHP", "php", in_php(call)),
        ),
        example=Markup(),
    )


def _event(entry: ReferenceEntry, document: Json, shapes: SchemaTables) -> EndpointView:
    content = entry.shown["requestBody"]["content"]["application/json"]
    headers = (document["components"]["parameters"][one["$ref"].rpartition("/")[2]] for one in entry.shown["parameters"])
    sent = "Sent with POST to your webhook URL. See [Webhooks](/docs/webhooks) to verify and process it."
    return EndpointView(
        entry,
        paragraphs=_paragraphs(entry.shown["description"], sent),
        access=Markup(),
        is_deprecated=False,
        parameters={"header": tuple(_parameter(one, shapes) for one in headers)},
        media_type="application/json",
        body=shapes.groups(content["schema"]),
        returned=(),
        errors=(),
        common_errors=(),
        note=Markup(),
        samples=(),
        example=highlight(pretty(content["example"]), "json"),
    )


def _paragraphs(*texts: str) -> tuple[Markup, ...]:
    return tuple(inline(one) for text in texts for one in text.split("\n\n") if one)


def _parameter(one: Json, shapes: SchemaTables) -> SchemaMember:
    return shapes.member(
        one["name"], one["schema"], is_required=one.get("required", False), about=one.get("description", "")
    )


def _returned(shown: Json, shapes: SchemaTables) -> Iterator[ReturnedView]:
    for status, response in _successes(shown["responses"].items()):
        content = response.get("content", {}).get("application/json")
        yield ReturnedView(
            status,
            HTTPStatus(int(status)).phrase,
            Markup() if content is None else highlight(pretty(content["example"]), "json"),
            () if content is None else shapes.groups(content["schema"]),
            redirects="Location" in response.get("headers", {}),
        )


def _successes(responses: Iterable[tuple[str, Json]]) -> Iterator[tuple[str, Json]]:
    yield from ((status, response) for status, response in responses if status.isdecimal() and int(status) < REFUSED)
