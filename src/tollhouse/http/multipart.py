"""Strict parsing of forms with files (`multipart/form-data`, RFC 7578)."""

import re

from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.text import Text

FORM_WITH_FILES = "multipart/form-data"
FIELDS_MAX = 20
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))\s*(?:;|$)', re.IGNORECASE)
NAME = re.compile(rb'^content-disposition: *form-data; *name="([^"\r\n]*)"', re.IGNORECASE | re.MULTILINE)


def parse_multipart(content_type: str, raw: bytes) -> dict[str, bytes]:
    """The value of each field. Raises `InvalidRequest` if the body is malformed or ambiguous."""
    found = BOUNDARY.search(content_type)
    if found is None:
        raise InvalidRequest("The Content-Type must have a boundary.")
    boundary = b"--" + (found[1] or found[2]).encode("latin-1")
    fields: dict[str, bytes] = {}
    for start, end in _spans(raw, boundary):
        begins = raw.find(b"\r\n\r\n", start, end)
        head = b"" if begins < 0 else raw[start:begins]
        named = NAME.search(head) if head.startswith(b"\r\n") else None
        if named is None:
            raise InvalidRequest("A form field has no name.")
        name = named[1].decode("utf-8", "replace")
        if name in fields:
            raise InvalidRequest(Text("The field %(name)s must not be repeated.", name=name))
        fields[name] = raw[begins + 4 : end]
    return fields


def _spans(raw: bytes, boundary: bytes) -> list[tuple[int, int]]:
    """Where each field begins and ends. A file may be large, so nothing is copied."""
    found = list[tuple[int, int]]()
    start = len(boundary) if raw.startswith(boundary) else -1
    while start >= 0 and len(found) <= FIELDS_MAX and (end := raw.find(b"\r\n" + boundary, start)) >= 0:
        found.append((start, end))
        start = end + 2 + len(boundary)
    if not 0 < len(found) <= FIELDS_MAX or raw[start : start + 5] not in {b"--", b"--\r\n"}:
        raise InvalidRequest("The form is incomplete or has more than 20 fields.")
    return found
