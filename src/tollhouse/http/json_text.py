"""Parsing JSON strictly, so that every parser reads the same."""

import json
from typing import Any, cast

import msgspec

from tollhouse.kernel.errors import InvalidRequest

NESTING_MAX = 64


def parse_json(raw: bytes) -> Any:
    """The parsed value. Raises `InvalidRequest` if it is malformed or contains invalid characters."""
    try:
        parsed = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidRequest("The request body is not valid JSON.") from None
    except RecursionError:
        raise InvalidRequest("The request body must be nested at most 64 levels deep.") from None
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and _is_deep(parsed):
        raise InvalidRequest("The request body must be nested at most 64 levels deep.")
    # Parsers differ on repeated members: the last one wins here, the first one elsewhere.
    json.loads(raw, object_pairs_hook=_reject_duplicates, parse_int=str, parse_float=str)
    if b"\\u0000" in raw and _contains_nul(parsed):
        raise InvalidRequest("The request body must not contain NUL characters.")
    if b"\\ud" in raw.lower() and not _is_text(parsed):
        raise InvalidRequest("The request body is not valid Unicode.")
    return parsed


def _reject_duplicates(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise InvalidRequest("The request body has an object with duplicate members.")


def _is_deep(parsed: Any) -> bool:
    level = [parsed]
    for _ in range(NESTING_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(parsed: Any) -> list[Any]:
    if isinstance(parsed, dict):
        return list(cast("dict[str, Any]", parsed).values())
    return cast("list[Any]", parsed) if isinstance(parsed, list) else []


def _contains_nul(parsed: Any) -> bool:
    return any("\0" in text for text in _texts(parsed))


def _is_text(parsed: Any) -> bool:
    try:
        for text in _texts(parsed):
            text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(parsed: Any) -> list[str]:
    if isinstance(parsed, str):
        return [parsed]
    if isinstance(parsed, dict):
        members = cast("dict[str, Any]", parsed)
        return [text for name, value in members.items() for text in (name, *_texts(value))]
    if isinstance(parsed, list):
        items = cast("list[Any]", parsed)
        return [text for item in items for text in _texts(item)]
    return []
