"""What is kept of a receiver's response: harmless headers, and the beginning of a text body without secrets."""

import codecs
import re
from collections.abc import Iterable

from msgspec import Struct

BODY_CHARS_MAX = 4_096
BYTES_READ = BODY_CHARS_MAX + 1_024
"""More than is kept, so that a secret at the end is recognized before it is cut off."""

HEADER_CHARS_MAX = 200
SHOWN_HEADERS = frozenset(
    {"allow", "cf-ray", "content-encoding", "content-length", "content-type", "date", "location", "retry-after", "server",
     "via", "x-amzn-requestid", "x-request-id"}
)  # fmt: skip
"""Cookies, challenges and everything unknown are left out."""

HIDDEN = "[redacted]"
KEY = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z]{2,8}_(?:(?:live|test)_)?[0-9A-Za-z+/=]{16,}")
JSON_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]+(?:\.[\w-]*){1,2}")
CREDENTIALS = re.compile(r"(?i)\b(bearer|basic) +[\w.~+/=-]{8,}")
SECRET_MEMBER = re.compile(
    r"(?i)([\w-]{0,20}(?:password|passwd|secret|token|authorization|api[_-]?key|cookie|session)[\w-]{0,20}[\"']?\s{0,8}[:=]\s{0,8})"
    r"(\"[^\"]*\"?|'[^']*'?|[^\s,;&}<]+)"
)
CARD_NUMBER = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class ResponseExcerpt(Struct, frozen=True):
    """Headers by name, and the body as text. The body is None if it is not text."""

    headers: dict[str, str]
    body: str | None


def excerpt(headers: Iterable[tuple[str, str]], body: bytes) -> ResponseExcerpt:
    """The excerpt of a response of these headers; `body` is its beginning, at most `BYTES_READ` bytes."""
    shown = {
        name.lower(): _redacted(_without_query(name, value))[:HEADER_CHARS_MAX]
        for name, value in headers
        if name.lower() in SHOWN_HEADERS
    }
    return ResponseExcerpt(shown, None if "content-encoding" in shown else _text(body[:BYTES_READ]))


def _without_query(name: str, value: str) -> str:
    return re.split(r"[?#]", value, maxsplit=1)[0] if name.lower() == "location" else value


def _text(body: bytes) -> str | None:
    """The text of UTF-8, whose last character may be cut off; None for anything else."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return _redacted(text)[:BODY_CHARS_MAX]


def _redacted(text: str) -> str:
    for pattern in (JSON_WEB_TOKEN, KEY, CARD_NUMBER):
        text = pattern.sub(HIDDEN, text)
    text = CREDENTIALS.sub(rf"\1 {HIDDEN}", text)
    return CONTROL.sub("\ufffd", SECRET_MEMBER.sub(rf"\1{HIDDEN}", text))
