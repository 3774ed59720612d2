"""Writes the generated modules of the SDK from the API reference: models, operations, error classes.

`just records` runs it; a test compares what is committed.
"""

import builtins
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

GENERATED = Path(__file__).parent.parent.parent / "sdk" / "python" / "src" / "tollhouse_sdk" / "generated"
ROOT = "/api/v2/integration"
HEAD = '"""{about} Made by `just records` from the API reference."""\n\n'
TYPES = {"integer": "int", "boolean": "bool", "string": "str", "number": "float"}
LEFT_OUT = {
    "additionalProperties",
    "example",
    "examples",
    "title",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
}
CODEGEN = (
    "--input-file-type=openapi",
    "--openapi-scopes=schemas",
    "--output-model-type=typing.TypedDict",
    "--target-python-version=3.11",
    "--disable-timestamp",
    "--enum-field-as-literal=all",
    "--use-standard-collections",
    "--use-union-operator",
    "--use-schema-description",
    "--use-field-description",
    "--formatters=builtin",
)
SEND = """\
    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        key: str | None,
        *,
        keyed: bool,
    ) -> {}: ..."""
BY_HAND = {"events_expired": "EventsExpired", "feed_reset": "FeedReset"}
"""Codes whose classes have more than a name: they are in `errors.py` of the SDK."""
Json = dict[str, Any]


@cache
def modules() -> dict[str, str]:
    """The text of each generated module by its file name."""
    document: Json = msgspec.json.decode(reference.encoded(config.load({})))
    calls = list(_calls(document))
    items = {name: item for name, schema in document["components"]["schemas"].items() if (item := _item(schema))}
    return {
        "__init__.py": HEAD.format(about="What the API reference says, as Python.").rstrip() + "\n",
        "models.py": _models(document),
        "operations.py": _operations(calls, items, asynchronous=False),
        "async_operations.py": _operations(calls, items, asynchronous=True),
        "error_types.py": _error_types(document),
    }


def write() -> None:
    """Write all of them."""
    GENERATED.mkdir(exist_ok=True)
    for name, text in modules().items():
        (GENERATED / name).write_text(text)


def _calls(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        if path.startswith(ROOT):
            for method, operation in methods.items():
                yield method.upper(), path.removeprefix(ROOT), operation


def _models(document: Json) -> str:
    """Typed dictionaries of everything that the Integration API and its events consist of."""
    schemas = document["components"]["schemas"]
    events = [shown["post"]["requestBody"] for shown in document["webhooks"].values()]
    needed: set[str] = set()
    for _, _, operation in _calls(document):
        _reach([operation.get("requestBody"), _success(operation)], schemas, needed)
    _reach(events, schemas, needed)
    kept = {name: _plain(schema) | {"title": name} for name, schema in schemas.items() if name in needed}
    for event in events:
        name = _reference_of(event["content"]["application/json"]["schema"])
        kept[name]["properties"]["data"]["title"] = f"{name}Data"
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "openapi.json", Path(folder) / "models.py"
        shell: Json = {"openapi": "3.1.0", "info": document["info"], "paths": {}, "components": {"schemas": kept}}
        source.write_bytes(msgspec.json.encode(shell))
        made = subprocess.run(
            [sys.executable, "-m", "datamodel_code_generator", f"--input={source}", f"--output={target}", *CODEGEN],
            capture_output=True,
            check=False,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(made.stderr)
        text = target.read_text()
    text = re.sub(r"\A(#.*\n)+\n*", HEAD.format(about="Typed dictionaries of requests, responses and events."), text)
    text = re.sub(r'\n    """\n    (.+)\n    """\n', _one_line, text)
    names = " | ".join(_reference_of(event["content"]["application/json"]["schema"]) for event in events)
    return f'{text.rstrip()}\n\n\nEvent = {names}\n"""Any event, told apart by its `type`."""\n'


def _one_line(found: re.Match[str]) -> str:
    said = found.group(1)
    return found.group() if said.endswith('"') or "\\" in said else f'\n    """{said}"""\n'


def _reach(part: Any, schemas: Json, needed: set[str]) -> None:
    if isinstance(part, dict):
        shown = cast("Json", part)
        name = _reference_of(shown)
        if name and name not in needed:
            needed.add(name)
            _reach(schemas[name], schemas, needed)
        _reach([value for key, value in shown.items() if key not in {"example", "examples"}], schemas, needed)
    elif isinstance(part, list):
        for item in part:  # pyright: ignore[reportUnknownVariableType]
            _reach(item, schemas, needed)


def _plain(schema: Any, *, named: bool = False) -> Any:
    """The schema without what no type says. `named`: its keys are names of members."""
    if isinstance(schema, dict):
        shown = cast("Json", schema)
        kept = {key: value for key, value in shown.items() if named or key not in LEFT_OUT}
        return {key: _plain(value, named=key == "properties" and not named) for key, value in kept.items()}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema  # pyright: ignore[reportUnknownVariableType]


def _reference_of(schema: Json) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _success(operation: Json) -> Json:
    [answer] = [shown for status, shown in operation["responses"].items() if status.startswith("2")]
    return answer["content"]["application/json"]["schema"]


def _operations(calls: list[tuple[str, str, Json]], items: dict[str, tuple[str, str]], *, asynchronous: bool) -> str:
    kind = "Async" if asynchronous else ""
    runs = "Awaitable" if asynchronous else ""
    iterator = f"{kind}Iterator"
    head = HEAD.format(about=f"A method for each operation of the Integration API{', asynchronous' * asynchronous}.")
    lines = [
        "from __future__ import annotations",
        "",
        "from abc import abstractmethod",
        f"from collections.abc import {', '.join(name for name in (iterator, runs, 'Mapping', 'Sequence') if name)}",
        "from typing import Any, Literal, Unpack, cast",
        "",
        "from tollhouse_sdk.generated import models",
        "from tollhouse_sdk.paths import segment",
        "",
        "",
        f"class {kind}Operations:",
        '    """Each method is one request. Lists have a second method that reads every page."""',
        "",
        "    @abstractmethod",
        SEND.format("Awaitable[Any]" if asynchronous else "Any"),
        "",
        "    @abstractmethod",
        f"    def _pages(self, path: str, query: Mapping[str, Any], name: str) -> {iterator}[Any]: ...",
    ]
    for method, path, operation in calls:
        lines += ["", *_method(method, path, operation, items, asynchronous=asynchronous)]
    return head + "\n".join(lines) + "\n"


def _method(
    method: str, path: str, operation: Json, items: dict[str, tuple[str, str]], *, asynchronous: bool
) -> Iterator[str]:
    """One operation as a method, and the second method of a list."""
    parameters = operation.get("parameters", [])
    inside = [f"{shown['name']}: str" for shown in parameters if shown["in"] == "path"]
    queries = [shown for shown in parameters if shown["in"] == "query" and shown["name"] != "format"]
    keyed = any(shown["name"] == "Idempotency-Key" for shown in parameters)
    body = _reference_of(operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
    answer = _success(operation)
    address = repr(path) if not inside else "f" + repr(re.sub(r"{(\w+)}", r"{segment(\1)}", path))
    keywords = [_keyword(shown) for shown in queries] + ["idempotency_key: str | None = None"] * keyed
    taken = ["self", *inside, *["*"] * bool(keywords), *keywords, *[f"**body: Unpack[models.{body}]"] * bool(body)]
    sent = f"{method!r}, {address}, {_query(queries)}, {'cast(Any, body)' if body else 'None'}, "
    sent += f"{'idempotency_key' if keyed else 'None'}, keyed={keyed}"
    prefix, wait = ("async ", "await ") if asynchronous else ("", "")
    yield f"    {prefix}def {operation['operationId']}({', '.join(taken)}) -> {_answer_type(answer)}:"
    yield f'        """{operation["summary"]}"""'
    yield f"        return {wait}self._send({sent})"
    if _reference_of(answer) in items:
        filters = [shown for shown in queries if shown["name"] not in {"page", "cursor"}]
        taken = ["self", *inside, "*", *[_keyword(shown) for shown in filters]]
        name = operation["operationId"].replace("list_", "iterate_", 1)
        noun, item = items[_reference_of(answer)]
        yield ""
        yield f"    def {name}({', '.join(taken)}) -> {'Async' * asynchronous}Iterator[models.{item}]:"
        yield f'        """{operation["summary"]} Reads every page, and yields one object at a time."""'
        yield f"        return self._pages({address}, {_query(filters)}, {noun!r})"


def _keyword(parameter: Json) -> str:
    return f"{_name(parameter)}: {_type(parameter['schema'])} | None = None"


def _query(parameters: list[Json]) -> str:
    return "{" + ", ".join(f"{shown['name']!r}: {_name(shown)}" for shown in parameters) + "}"


def _item(schema: Json) -> tuple[str, str] | None:
    """The member with the objects of a list, and what each is. None where it is no list."""
    if "next_cursor" not in schema.get("properties", {}):
        return None
    [(name, listed)] = [(name, shown) for name, shown in schema["properties"].items() if shown.get("type") == "array"]
    return name, _reference_of(listed["items"])


def _name(parameter: Json) -> str:
    return "from_" if parameter["name"] == "from" else parameter["name"]


def _type(schema: Json) -> str:
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    if schema.get("type") == "array":
        return f"Sequence[{_type(schema['items'])}]"
    return TYPES[schema["type"]]


def _answer_type(schema: Json) -> str:
    kinds = schema.get("anyOf", [schema])
    return " | ".join("None" if kind.get("type") == "null" else f"models.{_reference_of(kind)}" for kind in kinds)


def _error_types(document: Json) -> str:
    """A class for each error code."""
    codes = sorted(
        code
        for name, schema in document["components"]["schemas"].items()
        if name.endswith("Refusal")
        for code in schema["allOf"][1]["properties"]["error"]["enum"]
    )
    known = ["ApiError", *(BY_HAND[code] for code in codes if code in BY_HAND)]
    lines = [f"from tollhouse_sdk.errors import {name} as {name}" for name in known] + [""]
    for code in codes:
        if code in BY_HAND:
            continue
        name = "".join(part.title() for part in code.split("_"))
        if name in dir(builtins):
            name += "Error"
        lines += ["", f"class {name}(ApiError):", f'    """The error code `{code}`."""', ""]
        lines += [f'    code = "{code}"', ""]
    return HEAD.format(about="A class for each error code of the API.") + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    write()
