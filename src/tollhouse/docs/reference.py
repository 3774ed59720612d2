"""The reference as Markdown: its contents, and a text for each operation and each event, all from the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tollhouse.docs.entries import Entry, Json, grouped
from tollhouse.docs.samples import call_of, credential_of, in_curl, in_python
from tollhouse.docs.shapes import Shapes, table

REFUSED = 400
SAID = re.compile(r"^- `(?P<code>\w+)`: (?P<message>.*)$", re.MULTILINE)
CREDENTIALS = {
    "api_key": "an API key",
    "access_token": "an access token",
    "session": "a session of the dashboard",
    "client": "the application's own credentials",
    "": "none",
}
NOTES = {
    "api_key": "`KEY` is an API key of the environment that is meant.",
    "session": "The session comes from [signing in](/docs/api/sign_in.md).",
    "client": "`CLIENT_ID` and `CLIENT_SECRET` are the application's own; a public one sends `client_id` in the form.",
}
"""What a sample takes for granted."""
FOREWORD = """\
# API reference

Every endpoint, with what it wants, what it answers and how it refuses; every event, with what it holds. Programs read the
same in the [OpenAPI 3.1 document](/openapi.json), also [as YAML](/openapi.yaml), from which clients can be generated; these
pages are made of it too. The endpoints of the Integration API can be [tried here](/docs/try) with a test key.

What holds everywhere is told once: [errors](/docs/errors.md), [idempotency](/docs/idempotency.md), [lists](/docs/lists.md),
[OAuth](/docs/oauth.md), [webhooks](/docs/webhooks.md), and the [codes](/docs/api/errors.md) of all refusals.
"""
CODES = """\
# Codes of refusals

What stands in `error` of a request that was not done, and where. How to read the whole answer, and what to do about it, is
told in [Errors](/docs/errors.md).
"""


def contents(found: Mapping[str, Entry]) -> str:
    """All entries, by group."""
    said = [FOREWORD.rstrip()]
    for group, members in grouped(found).items():
        lines = [f"- [{entry.title}](/docs/api/{entry.name}.md)\\\n  {entry.about}" for entry in members]
        said.append(f"## {group}\n\n" + "\n".join(lines))
    return "\n\n".join(said) + "\n"


def codes(found: Mapping[str, Entry]) -> str:
    """Every code, with its statuses, its sentences and the operations that refuse with it."""
    told: dict[str, dict[str, None]] = {}
    names: dict[str, list[str]] = {}
    for entry in found.values():
        for code, sentence in _refusals(entry.shown):
            told.setdefault(code, {})[sentence] = None
            names.setdefault(code, []).append(entry.name)
    lines = [f"- **`{code}`** {' '.join(told[code])}\\\n  {_where(names[code])}" for code in sorted(told)]
    return "\n".join([CODES, *lines, ""])


def text_of(entry: Entry, document: Json) -> str:
    """The whole text of an operation or an event."""
    shapes = Shapes(document["components"])
    parts = _event(entry, document, shapes) if not entry.path else _operation(entry, document, shapes)
    return "\n\n".join([f"[API reference](/docs/api.md) · {entry.group}", f"# {entry.title}", *parts]) + "\n"


def wanted(shown: Json) -> str:
    """Who is let in, in words."""
    alternatives = [next(iter(one.items()), ("", ())) for one in shown["security"]] or [("", ())]
    words = [CREDENTIALS[name] + (f" with `{scopes[0]}`" if scopes else "") for name, scopes in alternatives]
    return " or ".join(words)


def _operation(entry: Entry, document: Json, shapes: Shapes) -> Iterator[str]:
    shown = entry.shown
    yield _block("http", f"{entry.method} {entry.path}")
    told = [shown["summary"].partition(". ")[2], shown.get("description", "")]
    yield from filter(None, told)
    if shown.get("deprecated"):
        yield "**Deprecated**: its answers say since when, and where to read on, by `Deprecation` and `Link`."
    yield f"**Credential**: {wanted(shown)}."
    if shown["parameters"]:
        yield "## Parameters"
        yield table(("Name", "Meaning"), (_parameter(one, shapes) for one in shown["parameters"]))
    for media_type, content in shown.get("requestBody", {}).get("content", {}).items():
        yield "## Body"
        yield f"As `{media_type}`." + ("" if shown["requestBody"]["required"] else " It may be left out.")
        yield from shapes.tables(content["schema"])
    yield "## Sample"
    yield from filter(None, [NOTES.get(credential_of(shown))])
    call = call_of(document["servers"][0]["url"], entry.method, entry.path, shown)
    yield _block("sh", in_curl(call))
    yield _block("python", in_python(call))
    yield from _answers(shown, shapes)


def _event(entry: Entry, document: Json, shapes: Shapes) -> Iterator[str]:
    yield entry.shown["description"]
    yield "It is sent by POST; [Webhooks](/docs/webhooks.md) tells where to, and how to verify and answer it."
    yield "## Headers"
    headers = (document["components"]["parameters"][one["$ref"].rpartition("/")[2]] for one in entry.shown["parameters"])
    yield table(("Name", "Meaning"), ((f"`{one['name']}`", one["description"]) for one in headers))
    content = entry.shown["requestBody"]["content"]["application/json"]
    yield "## Payload"
    yield _block("json", _pretty(content["example"]))
    yield from shapes.tables(content["schema"])


def _answers(shown: Json, shapes: Shapes) -> Iterator[str]:
    """What comes back: the deed done, and below it every refusal."""
    for status, response in shown["responses"].items():
        if int(status) < REFUSED:
            yield f"## Answer {status}"
            content = response.get("content", {}).get("application/json")
            if content is None:
                yield (
                    "Without a body." if "Location" not in response["headers"] else "`Location` says where the browser goes."
                )
                continue
            yield _block("json", _pretty(content["example"]))
            yield from shapes.tables(content["schema"])
    yield "## Refusals"
    yield "\n".join(f"- **`{code}`** {sentence}" for code, sentence in _refusals(shown))


def _refusals(shown: Json) -> Iterator[tuple[str, str]]:
    """The code of each refusal of an operation, and its status and sentence; an event has none."""
    for status, response in shown["responses"].items():
        if status.isdecimal() and int(status) >= REFUSED:
            for said in SAID.finditer(response["description"]):
                yield said["code"], f"{status}. {said['message']}"


def _where(names: list[str]) -> str:
    """The operations that refuse so: their names while they are few."""
    few = 4
    links = [f"[{name}](/docs/api/{name}.md)" for name in names[:few]]
    return ", ".join(links) if len(names) <= few else f"{', '.join(links[:2])} and {len(names) - 2} more"


def _parameter(shown: Json, shapes: Shapes) -> tuple[str, str]:
    meaning = shapes.meaning(shown["schema"], optional=not shown["required"])
    return f"`{shown['name']}`", " ".join(filter(None, [f"In the {shown['in']}.", meaning, shown.get("description")]))


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
