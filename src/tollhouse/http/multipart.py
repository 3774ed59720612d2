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
    boundary = b"\r\n--" + (found[1] or found[2]).encode("latin-1")
    before, *pieces = (b"\r\n" + raw).split(boundary, FIELDS_MAX + 1)
    if before or not pieces or pieces.pop() not in {b"--", b"--\r\n"}:
        raise InvalidRequest("The form is incomplete or has more than 20 fields.")
    fields: dict[str, bytes] = {}
    for piece in pieces:
        head, ends, content = piece.partition(b"\r\n\r\n")
        named = NAME.search(head) if ends and head.startswith(b"\r\n") else None
        if named is None:
            raise InvalidRequest("A form field has no name.")
        name = named[1].decode("utf-8", "replace")
        if name in fields:
            raise InvalidRequest(Text("The field %(name)s must not be repeated.", name=name))
        fields[name] = content
    return fields
