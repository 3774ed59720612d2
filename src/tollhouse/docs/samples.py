"""Samples of the reference: how an operation is called with curl and with Python."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote, urlencode

from msgspec import Struct

Json = dict[str, Any]
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
KEY = "Idempotency-Key"
OWN_KEY = "order-1001"
LINE_CHARS = 60
PLACE = re.compile(r"\{(\w+)\}")


class Call(Struct, frozen=True):
    """One request, with the example of its body; `credential` is the name of a security scheme."""

    method: str
    url: str
    credential: str
    key: str
    media_type: str
    body: Any


def call_of(base_url: str, method: str, path: str, shown: Json) -> Call:
    """How the example of an operation is sent."""
    named = {one["name"]: one for one in shown["parameters"]}
    filled = PLACE.sub(lambda match: quote(str(named[match[1]]["example"]), safe=""), path)
    asked = {
        name: one["schema"].get("enum", [f"<{name}>"])[-1]
        for name, one in named.items()
        if one["in"] == "query" and one["required"]
    }
    query = f"?{urlencode(asked, safe='<>')}" if asked else ""
    content = shown.get("requestBody", {}).get("content", {})
    media_type, body = next(((kind, one["example"]) for kind, one in content.items()), ("", None))
    key = OWN_KEY if KEY in named else ""
    return Call(method, f"{base_url}{filled}{query}", credential_of(shown), key, media_type, body)


def credential_of(shown: Json) -> str:
    """The scheme of an operation's security that comes first, empty where none is needed."""
    return next((name for alternative in shown["security"] for name in alternative), "")


def in_curl(call: Call) -> str:
    """One command of a shell."""
    method = "" if call.method == ("GET" if call.body is None else "POST") else f" -X {call.method}"
    address = f'"{call.url}"' if any(char in call.url for char in "?<&") else call.url
    return " \\\n  ".join([f"curl{method} {address}", *_curl_headers(call), *_curl_body(call)])


def in_python(call: Call) -> str:
    """A few lines of Python, with the package requests."""
    said: list[str] = [f'    "{call.url}",']
    headers = [f'"{name}": {value}' for name, value in _python_headers(call)]
    if headers:
        said.append(f"    headers={{{', '.join(headers)}}},")
    if call.credential == "session":
        said.append('    cookies={"tollhouse_session": session},')
    if call.credential == "client":
        said.append("    auth=(client_id, client_secret),")
    if call.body is not None:
        said.append(f"    {'json' if call.media_type == JSON else 'data'}={_literal(call.body)},")
    told = ["import requests", "", f"answer = requests.{call.method.lower()}(", *said, "    timeout=10,", ")"]
    return "\n".join([*told, "answer.raise_for_status()"])


def _curl_headers(call: Call) -> Iterator[str]:
    if call.credential == "api_key":
        yield '-H "X-API-Key: $KEY"'
    elif call.credential == "session":
        yield "-b session.txt"
    elif call.credential == "client":
        yield '-u "$CLIENT_ID:$CLIENT_SECRET"'
    if call.key:
        yield f'-H "{KEY}: {call.key}"'


def _curl_body(call: Call) -> Iterator[str]:
    if call.media_type == FORM:
        for name, value in call.body.items():
            yield f"--data-urlencode '{name}={value}'"
    elif call.body is not None:
        yield f'-H "Content-Type: {JSON}"'
        line = json.dumps(call.body, ensure_ascii=False)
        yield f"-d '{line if len(line) <= LINE_CHARS else json.dumps(call.body, ensure_ascii=False, indent=4)}'"


def _python_headers(call: Call) -> Iterator[tuple[str, str]]:
    if call.credential == "api_key":
        yield "X-API-Key", "key"
    if call.key:
        yield KEY, f'"{call.key}"'


def _literal(value: Any, *, lines: bool = True) -> str:
    """A value as Python writes it; the members of the outermost object stand on lines of their own."""
    if isinstance(value, dict):
        members = cast("Json", value).items()
        said = [f"{_literal(name)}: {_literal(one, lines=False)}" for name, one in members]
        return "{\n        " + ",\n        ".join(said) + ",\n    }" if lines and said else "{" + ", ".join(said) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(one, lines=False) for one in cast("list[Any]", value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
