"""JSON as YAML that people read: blocks for what nests, every string in quotes as JSON writes it, which YAML reads alike."""

import json
import re
from collections.abc import Iterator
from typing import Any

PLAIN_KEY = re.compile(r"[A-Za-z_/$][A-Za-z0-9_/{}.$-]*")
NO_PLAIN_KEY = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null)")
"""What some readers take for no string."""
NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
STEP = "  "


def as_yaml(value: Any) -> str:
    """The text of a document."""
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _entry(f"{indent}{_key(str(key))}:", inner, indent + STEP)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list) and value:
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            first, *others = _lines(inner, indent + STEP)
            yield f"{indent}- {first.lstrip()}"
            yield from others
    else:
        yield indent + _scalar(value)


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield key
        yield from _lines(value, indent)
    else:
        yield f"{key} {_scalar(value)}"


def _key(key: str) -> str:
    return key if PLAIN_KEY.fullmatch(key) and not NO_PLAIN_KEY.fullmatch(key) else _scalar(key)


def _scalar(value: Any) -> str:
    """As JSON. What YAML takes for no printable character, or for a line break, is escaped."""
    return NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
