"""A merchant's own data of an object (`external_id`, `description`, `metadata`) and its rules."""

import re
from collections.abc import Iterator

from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import LINE_FEEDS, is_readable

METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def reference_errors(
    *, external_id: str | None, metadata: dict[str, str] | None, description: str | None = None
) -> Iterator[FieldError]:
    """Every field error."""
    if external_id is not None and not (1 <= len(external_id) <= limits.EXTERNAL_ID_CHARS_MAX and is_readable(external_id)):
        yield FieldError("external_id", "invalid_value", messages.plain_text(1, limits.EXTERNAL_ID_CHARS_MAX))
    if description is not None and (
        len(description) > limits.DESCRIPTION_CHARS_MAX or not is_readable(description, LINE_FEEDS)
    ):
        yield FieldError("description", "invalid_value", messages.plain_text(None, limits.DESCRIPTION_CHARS_MAX))
    yield from _metadata_errors(metadata or {})


def _metadata_errors(metadata: dict[str, str]) -> Iterator[FieldError]:
    if len(metadata) > limits.METADATA_KEYS_MAX:
        yield FieldError("metadata", "too_many", messages.items(None, limits.METADATA_KEYS_MAX))
    for key, value in metadata.items():
        if not METADATA_KEY.fullmatch(key):
            yield FieldError("metadata", "invalid_key", messages.A_METADATA_KEY)
        elif not is_readable(value, LINE_FEEDS):
            yield FieldError(f"metadata.{key}", "invalid_value", messages.READABLE)
        elif len(value) > limits.METADATA_VALUE_CHARS_MAX:
            yield FieldError(f"metadata.{key}", "too_long", messages.characters(None, limits.METADATA_VALUE_CHARS_MAX))
