"""Code samples of the API reference, in cURL, Python, JavaScript and PHP, and the form for trying an operation."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, urlencode

from msgspec import Struct

from tollhouse.instance.docs.code import Sample
from tollhouse.instance.docs.entries import INTEGRATION, Json, ReferenceEntry

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
KEY = "Idempotency-Key"
OWN_KEY = "order-1001"
LINE_CHARS = 60
NOTES = {
    "api_key": "Set `KEY` to an API key of the environment.",
    "session": "[Sign in](/docs/api/sign_in.md) to get a session.",
    "client": "Set `CLIENT_ID` and `CLIENT_SECRET`. Public applications send `client_id` in the form instead.",
}
"""How to get the credential of an example, by security scheme."""
KEY_PLACES = {
    "cURL": "X-API-Key: $KEY",
    "Python": '"X-API-Key": key',
    "JavaScript": '"X-API-Key": key',
    "PHP": "X-API-Key: $key",
}
"""Where a sample has the variable of the API key, by language."""
PHP_SPECIAL = re.compile(r'["\\$]')
PLACE = re.compile(r"\{(\w+)\}")


class SampleCall(Struct, frozen=True):
    """A request with its example body; `credential` is the name of a security scheme."""

    method: str
    url: str
    credential: str
    key: str
    media_type: str
    body: Any


def samples_of(entry: ReferenceEntry, document: Json) -> tuple[Sample, ...]:
    """The example request of an operation in every language."""
    call = _call_of(document["servers"][0]["url"], entry)
    return (
        Sample("cURL", "sh", in_curl(call)),
        Sample("Python", "python", in_python(call)),
        Sample("JavaScript", "js", in_javascript(call)),
        Sample("PHP", "php", in_php(call)),
    )


def with_key(samples: tuple[Sample, ...], api_key: str) -> tuple[Sample, ...]:
    """These samples with an API key in place of its variable."""

    def text_of(sample: Sample) -> str:
        place = KEY_PLACES[sample.label]
        name, _, variable = place.partition(": ")
        return sample.text.replace(place, f"{name}: {api_key}" if "$" in variable else f'{name}: "{api_key}"')

    return tuple(Sample(sample.label, sample.language, text_of(sample)) for sample in samples)


def has_key(entry: ReferenceEntry) -> bool:
    """Whether the samples of an entry send an API key."""
    return bool(entry.path) and credential_of(entry.shown) == "api_key"


def note_on(shown: Json) -> str:
    """How to get the credential of the example request; empty if it needs none."""
    return NOTES.get(credential_of(shown), "")


def _call_of(base_url: str, entry: ReferenceEntry) -> SampleCall:
    shown = entry.shown
    named = {parameter["name"]: parameter for parameter in shown["parameters"]}
    filled = PLACE.sub(lambda match: quote(str(named[match[1]]["example"]), safe=""), entry.path)
    required = {
        name: parameter["schema"].get("enum", [f"<{name}>"])[-1]
        for name, parameter in named.items()
        if parameter["in"] == "query" and parameter["required"]
    }
    query = f"?{urlencode(required, safe='<>')}" if required else ""
    content = shown.get("requestBody", {}).get("content", {})
    media_type, body = next(((kind, media["example"]) for kind, media in content.items()), ("", None))
    key = OWN_KEY if KEY in named else ""
    return SampleCall(entry.method, f"{base_url}{filled}{query}", credential_of(shown), key, media_type, body)


def credential_of(shown: Json) -> str:
    """The first security scheme of an operation; empty without one."""
    return next((name for alternative in shown["security"] for name in alternative), "")


def in_curl(call: SampleCall) -> str:
    """The request as a curl command."""
    method = "" if call.method == ("GET" if call.body is None else "POST") else f" -X {call.method}"
    address = f'"{call.url}"' if any(char in call.url for char in "?<&") else call.url
    return " \\\n  ".join([f"curl{method} {address}", *_curl_headers(call), *_curl_body(call)])


def in_python(call: SampleCall) -> str:
    """The request as Python, with the package requests."""
    arguments: list[str] = [f'    "{call.url}",']
    headers = [f'"{name}": {value}' for name, value in _python_headers(call)]
    if headers:
        arguments.append(f"    headers={{{', '.join(headers)}}},")
    if call.credential == "session":
        arguments.append('    cookies={"tollhouse_session": session},')
    if call.credential == "client":
        arguments.append("    auth=(client_id, client_secret),")
    if call.body is not None:
        arguments.append(f"    {'json' if call.media_type == JSON else 'data'}={_literal(call.body)},")
    lines = ["import requests", "", f"response = requests.{call.method.lower()}(", *arguments, "    timeout=10,", ")"]
    return "\n".join([*lines, "response.raise_for_status()"])


def in_javascript(call: SampleCall) -> str:
    """The request as JavaScript, which is TypeScript too, with the `fetch` of Node and browsers."""
    headers = [f'"{name}": {value}' for name, value in _javascript_headers(call)]
    options = [f'method: "{call.method}"'] if call.method != "GET" else []
    options += [f"headers: {{ {', '.join(headers)} }}"] if headers else []
    if call.body is not None:
        value = json.dumps(call.body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        options.append(
            f"body: JSON.stringify({value})" if call.media_type == JSON else f"body: new URLSearchParams({value})"
        )
    arguments = f'"{call.url}"' + (", {\n" + "".join(f"  {option},\n" for option in options) + "}" if options else "")
    lines = [f"const response = await fetch({arguments});", "if (!response.ok) throw new Error(await response.text());"]
    return "\n".join([*lines, "const result = response.status === 204 ? null : await response.json();"])


def in_php(call: SampleCall) -> str:
    """The request as PHP, with its extension curl."""
    options = ["CURLOPT_RETURNTRANSFER => true"]
    if call.method != ("GET" if call.body is None else "POST"):
        options.append(f'CURLOPT_CUSTOMREQUEST => "{call.method}"')
    if headers := [*_php_headers(call)]:
        options.append("CURLOPT_HTTPHEADER => [" + ", ".join(headers) + "]")
    if call.credential == "session":
        options.append('CURLOPT_COOKIE => "tollhouse_session=$session"')
    if call.credential == "client":
        options.append('CURLOPT_USERPWD => "$client_id:$client_secret"')
    if call.body is not None:
        encode = "json_encode" if call.media_type == JSON else "http_build_query"
        options.append(f"CURLOPT_POSTFIELDS => {encode}({_php_literal(call.body)})")
    lines = [f"$curl = curl_init({_php_literal(call.url)});", "curl_setopt_array($curl, ["]
    lines += [f"    {option}," for option in [*options, "CURLOPT_TIMEOUT => 10"]]
    return "\n".join([*lines, "]);", "$response = json_decode(curl_exec($curl), true);"])


def _curl_headers(call: SampleCall) -> Iterator[str]:
    if call.credential == "api_key":
        yield '-H "X-API-Key: $KEY"'
    elif call.credential == "session":
        yield "-b session.txt"
    elif call.credential == "client":
        yield '-u "$CLIENT_ID:$CLIENT_SECRET"'
    if call.key:
        yield f'-H "{KEY}: {call.key}"'


def _curl_body(call: SampleCall) -> Iterator[str]:
    if call.media_type == FORM:
        for name, value in call.body.items():
            yield f"--data-urlencode '{name}={value}'"
    elif call.body is not None:
        yield f'-H "Content-Type: {JSON}"'
        line = json.dumps(call.body, ensure_ascii=False)
        yield f"-d '{line if len(line) <= LINE_CHARS else json.dumps(call.body, ensure_ascii=False, indent=4)}'"


def _python_headers(call: SampleCall) -> Iterator[tuple[str, str]]:
    if call.credential == "api_key":
        yield "X-API-Key", "key"
    if call.key:
        yield KEY, f'"{call.key}"'


def _javascript_headers(call: SampleCall) -> Iterator[tuple[str, str]]:
    if call.credential == "api_key":
        yield "X-API-Key", "key"
    elif call.credential == "session":
        yield "Cookie", "`tollhouse_session=${session}`"
    elif call.credential == "client":
        yield "Authorization", "`Basic ${btoa(`${clientId}:${clientSecret}`)}`"
    if call.key:
        yield KEY, f'"{call.key}"'
    if call.media_type == JSON:
        yield "Content-Type", f'"{JSON}"'


def _php_headers(call: SampleCall) -> Iterator[str]:
    if call.credential == "api_key":
        yield '"X-API-Key: $key"'
    if call.key:
        yield f'"{KEY}: {call.key}"'
    if call.media_type == JSON:
        yield f'"Content-Type: {JSON}"'


def _php_literal(value: Any, *, lines: bool = True) -> str:
    """A value as a PHP literal; members of the outermost object on separate lines."""
    if isinstance(value, dict):
        members = cast("Json", value).items()
        pairs = [f"{_php_literal(name)} => {_php_literal(member, lines=False)}" for name, member in members]
        if not pairs:
            return "new stdClass()"
        return "[\n        " + ",\n        ".join(pairs) + ",\n    ]" if lines else "[" + ", ".join(pairs) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(_php_literal(member, lines=False) for member in cast("list[Any]", value)) + "]"
    if isinstance(value, str):
        return '"' + PHP_SPECIAL.sub(r"\\\g<0>", value) + '"'
    return json.dumps(value)


def _literal(value: Any, *, lines: bool = True) -> str:
    """A value as a Python literal; members of the outermost object on separate lines."""
    if isinstance(value, dict):
        members = cast("Json", value).items()
        pairs = [f"{_literal(name)}: {_literal(member, lines=False)}" for name, member in members]
        return "{\n        " + ",\n        ".join(pairs) + ",\n    }" if lines and pairs else "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(member, lines=False) for member in cast("list[Any]", value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


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
    groups = {group: [entry for entry in members if can_be_tried(entry)] for group, members in found.items()}
    return {group: members for group, members in groups.items() if members}


def trial_of(entry: ReferenceEntry) -> Trial:
    """The form of an operation."""
    parameters = entry.shown["parameters"]
    content = entry.shown.get("requestBody", {}).get("content", {})
    body = next((json.dumps(media["example"], ensure_ascii=False, indent=2) for media in content.values()), "")
    return Trial(
        name=entry.name,
        title=entry.title,
        method=entry.method,
        path=entry.path,
        parts=tuple(
            TrialParameter(
                parameter["name"],
                parameter["in"],
                str(parameter.get("example", "")),
                _hint(parameter),
                parameter["required"],
            )
            for parameter in parameters
            if parameter["in"] != "header"
        ),
        body=body,
        keyed=any(parameter["name"] == KEY for parameter in parameters),
    )


def _hint(parameter: Json) -> str:
    return ", ".join(map(str, parameter["schema"].get("enum", ())))
