"""The operations as a collection of Postman (format 2.1), made from the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping

from tollhouse.instance.docs.entries import Json, ReferenceEntry, grouped
from tollhouse.instance.docs.samples import FORM, KEY, credential_of

FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
PLACE = re.compile(r"\{(\w+)\}")
CREDENTIALS: Mapping[str, Json] = {
    "api_key": {
        "type": "apikey",
        "apikey": [
            {"key": "key", "value": "X-API-Key", "type": "string"},
            {"key": "value", "value": "{{api_key}}", "type": "string"},
        ],
    },
    "client": {
        "type": "basic",
        "basic": [
            {"key": "username", "value": "{{client_id}}", "type": "string"},
            {"key": "password", "value": "{{client_secret}}", "type": "string"},
        ],
    },
}
"""By security scheme. A session is the cookie that the request for signing in gets."""
NO_CREDENTIAL: Json = {"type": "noauth"}
ABOUT = (
    "Set the variable `api_key` to an API key of the test environment. Each request has the example of the reference, "
    "and a test that its status is one that the reference names."
)


def collection(found: Mapping[str, ReferenceEntry], document: Json) -> Json:
    """The collection: a folder for each group of operations."""
    values = {"base_url": document["servers"][0]["url"], "api_key": "", "client_id": "", "client_secret": ""}
    return {
        "info": {"name": "Tollhouse", "description": ABOUT, "schema": FORMAT},
        "variable": [{"key": name, "value": value, "type": "string"} for name, value in values.items()],
        "item": [
            {"name": group, "item": [_item(entry) for entry in members]}
            for group, members in grouped({name: entry for name, entry in found.items() if entry.path}).items()
        ],
    }


def _item(entry: ReferenceEntry) -> Json:
    shown = entry.shown
    statuses = [int(status) for status in shown["responses"]]
    script = f"pm.test('The reference names its status', () => pm.expect({statuses}).to.include(pm.response.code));"
    return {
        "name": entry.title,
        "request": {
            "method": entry.method,
            "description": " ".join(filter(None, [shown["summary"], shown.get("description", "")])),
            "auth": CREDENTIALS.get(credential_of(shown), NO_CREDENTIAL),
            "header": list(_headers(shown)),
            "url": _url(entry),
        }
        | _body(shown),
        "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": [script]}}],
        "protocolProfileBehavior": {"followRedirects": False},
    }


def _headers(shown: Json) -> Iterator[Json]:
    if any(parameter["name"] == KEY for parameter in shown["parameters"]):
        yield {"key": KEY, "value": "{{$guid}}"}
    for media_type in shown.get("requestBody", {}).get("content", {}):
        yield {"key": "Content-Type", "value": media_type}


def _url(entry: ReferenceEntry) -> Json:
    """The address with a variable for each name in the path; optional parameters are there, and turned off."""
    path = PLACE.sub(r":\1", entry.path)
    query = [
        {
            "key": parameter["name"],
            "value": str(parameter.get("example", parameter["schema"].get("enum", [""])[0])),
            "description": parameter.get("description", ""),
            "disabled": not parameter["required"],
        }
        for parameter in entry.shown["parameters"]
        if parameter["in"] == "query"
    ]
    named = [parameter for parameter in entry.shown["parameters"] if parameter["in"] == "path"]
    return {
        "raw": "{{base_url}}" + path,
        "host": ["{{base_url}}"],
        "path": path[1:].split("/"),
        "query": query,
        "variable": [
            {"key": parameter["name"], "value": str(parameter["example"]), "description": parameter.get("description", "")}
            for parameter in named
        ],
    }


def _body(shown: Json) -> Json:
    for media_type, content in shown.get("requestBody", {}).get("content", {}).items():
        example = content["example"]
        if media_type == FORM:
            pairs = [{"key": name, "value": str(value), "type": "text"} for name, value in example.items()]
            return {"body": {"mode": "urlencoded", "urlencoded": pairs}}
        text = json.dumps(example, ensure_ascii=False, indent=2)
        return {"body": {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}}
    return {}
