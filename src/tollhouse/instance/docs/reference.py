"""The API reference as Markdown, generated from the OpenAPI document: contents, operations, events and error codes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tollhouse.instance.docs.entries import Json, ReferenceEntry, grouped
from tollhouse.instance.docs.samples import note_on, samples_of
from tollhouse.instance.docs.shapes import SchemaTables, table

REFUSED = 400
ERROR_LINE = re.compile(r"^- `(?P<code>\w+)`: (?P<message>.*)$", re.MULTILINE)
CREDENTIALS = {
    "api_key": "an API key",
    "access_token": "an access token",
    "session": "a dashboard session",
    "client": "the application's credentials",
    "": "none",
}
SENT_BY_POST = "Sent with POST to your webhook URL. See [Webhooks](/docs/webhooks.md) to verify and process it."
FOREWORD = """\
# API reference

Use this reference to look up the parameters, responses and errors of every endpoint, and the payload of every event. To
generate a client, use the [OpenAPI 3.1 document](/openapi.json), also available [as YAML](/openapi.yaml). You can
[try the endpoints](/docs/try) of the Integration API with a test key, or import the
[collection](/docs/collection.json) into Postman.

Rules for all endpoints: [errors](/docs/errors.md), [error codes](/docs/api/errors.md), [idempotency](/docs/idempotency.md),
[lists](/docs/lists.md), [OAuth](/docs/oauth.md), [webhooks](/docs/webhooks.md).
"""
CODES = """\
# Error codes

Use this list to look up every value of `error` and the endpoints that return it. For the format of an error response, see
[Errors](/docs/errors.md).
"""


def contents(found: Mapping[str, ReferenceEntry]) -> str:
    """All entries, by group."""
    sections = [FOREWORD.rstrip()]
    for group, members in grouped(found).items():
        lines = [f"- [{entry.title}](/docs/api/{entry.name}.md)\\\n  {entry.about}" for entry in members]
        sections.append(f"## {group}\n\n" + "\n".join(lines))
    return "\n\n".join(sections) + "\n"


def codes(found: Mapping[str, ReferenceEntry]) -> str:
    """Every error code with its statuses, messages and operations."""
    names: dict[str, list[str]] = {}
    for entry in found.values():
        for code in {code: None for _, code, _ in error_codes(entry.shown)}:
            names.setdefault(code, []).append(entry.name)
    said = messages(found)
    lines = [
        f"- **`{code}`** {said[code]}\\\n  [Cause and solution](/docs/errors/{code}.md) · {_where(names[code])}"
        for code in sorted(said)
    ]
    return "\n".join([CODES, *lines, ""])


def messages(found: Mapping[str, ReferenceEntry]) -> dict[str, str]:
    """The statuses and messages of every error code."""
    said: dict[str, dict[str, None]] = {}
    for entry in found.values():
        for status, code, message in error_codes(entry.shown):
            said.setdefault(code, {})[f"{status}. {message}"] = None
    return {code: " ".join(sentences) for code, sentences in said.items()}


def text_of(entry: ReferenceEntry, document: Json) -> str:
    """The whole text of an operation or an event."""
    shapes = SchemaTables(document["components"])
    parts = _event(entry, document, shapes) if not entry.path else _operation(entry, document, shapes)
    return "\n\n".join([f"[API reference](/docs/api.md) · {entry.group}", f"# {entry.title}", *parts]) + "\n"


def wanted(shown: Json) -> str:
    """The credentials and scopes of an operation, as text."""
    alternatives = [next(iter(scheme.items()), ("", ())) for scheme in shown["security"]] or [("", ())]
    words = [CREDENTIALS[name] + (f" with the scope `{scopes[0]}`" if scopes else "") for name, scopes in alternatives]
    return " or ".join(words)


def events_after(shown: Json) -> str:
    """The events of an operation, as a sentence with links; empty if there are none."""
    links = [f"[{name}](/docs/api/{name}.md)" for name in shown.get("x-events", ())]
    return f"**Events**: {', '.join(links)}." if links else ""


def operations_before(entry: ReferenceEntry, document: Json) -> str:
    """The operations after which an event is sent, as a sentence with links."""
    operations = [shown for methods in document["paths"].values() for shown in methods.values()]
    links = [
        f"[{shown['summary'].partition('. ')[0].rstrip('.')}](/docs/api/{shown['operationId']}.md)"
        for shown in operations
        if entry.name in shown.get("x-events", ())
    ]
    return f"**Sent after**: {', '.join(links)}."


def _operation(entry: ReferenceEntry, document: Json, shapes: SchemaTables) -> Iterator[str]:
    shown = entry.shown
    yield _block("http", f"{entry.method} {entry.path}")
    paragraphs = [shown["summary"].partition(". ")[2], shown.get("description", "")]
    yield from filter(None, paragraphs)
    if shown.get("deprecated"):
        yield "**Deprecated**: the response headers `Deprecation` and `Link` give the date and a link to the documentation."
    yield f"**Credential**: {wanted(shown)}."
    yield from filter(None, [events_after(shown)])
    if shown["parameters"]:
        yield "## Parameters"
        yield table(("Name", "Description"), (_parameter(parameter, shapes) for parameter in shown["parameters"]))
    for media_type, content in shown.get("requestBody", {}).get("content", {}).items():
        yield "## Request body"
        yield f"Content type: `{media_type}`." + ("" if shown["requestBody"]["required"] else " Optional.")
        yield from shapes.tables(content["schema"])
    yield "## Example"
    yield from filter(None, [note_on(shown)])
    yield from (_block(sample.language, sample.text) for sample in samples_of(entry, document))
    yield from _answers(shown, shapes)


def _event(entry: ReferenceEntry, document: Json, shapes: SchemaTables) -> Iterator[str]:
    yield entry.shown["description"]
    yield SENT_BY_POST
    yield operations_before(entry, document)
    yield "## Headers"
    headers = headers_of(entry, document)
    yield table(("Name", "Description"), ((f"`{header['name']}`", header["description"]) for header in headers))
    content = entry.shown["requestBody"]["content"]["application/json"]
    yield "## Payload"
    yield _block("json", pretty(content["example"]))
    yield from shapes.tables(content["schema"])


def _answers(shown: Json, shapes: SchemaTables) -> Iterator[str]:
    """The success responses, then the errors."""
    for status, response in successes(shown):
        yield f"## Response {status}"
        content = response.get("content", {}).get("application/json")
        if content is None:
            yield (
                "No response body."
                if "Location" not in response["headers"]
                else "Redirects the browser to the URL in `Location`."
            )
            continue
        yield _block("json", pretty(content["example"]))
        yield from shapes.tables(content["schema"])
    yield "## Errors"
    yield "\n".join(f"- **`{code}`** {status}. {message}" for status, code, message in error_codes(shown))


def headers_of(entry: ReferenceEntry, document: Json) -> Iterator[Json]:
    """The headers that an event is sent with."""
    parameters = document["components"]["parameters"]
    yield from (parameters[parameter["$ref"].rpartition("/")[2]] for parameter in entry.shown["parameters"])


def successes(shown: Json) -> Iterator[tuple[str, Json]]:
    """The responses of an operation that are no errors, by status."""
    yield from (
        response for response in shown["responses"].items() if response[0].isdecimal() and int(response[0]) < REFUSED
    )


def error_codes(shown: Json) -> Iterator[tuple[str, str, str]]:
    """The errors of an operation: status, code and message."""
    for status, response in shown["responses"].items():
        if status.isdecimal() and int(status) >= REFUSED:
            for match in ERROR_LINE.finditer(response["description"]):
                yield status, match["code"], match["message"]


def _where(names: list[str]) -> str:
    """Links to the operations; shortened if there are many."""
    few = 4
    links = [f"[{name}](/docs/api/{name}.md)" for name in names[:few]]
    return ", ".join(links) if len(names) <= few else f"{', '.join(links[:2])} and {len(names) - 2} more"


def _parameter(shown: Json, shapes: SchemaTables) -> tuple[str, str]:
    meaning = shapes.meaning(shown["schema"], optional=not shown["required"])
    return f"`{shown['name']}`", " ".join(filter(None, [f"In the {shown['in']}.", meaning, shown.get("description")]))


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def pretty(value: Any) -> str:
    """JSON in lines."""
    return json.dumps(value, ensure_ascii=False, indent=2)
