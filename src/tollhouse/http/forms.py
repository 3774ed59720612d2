"""Strict parsing of form bodies and query strings: invalid UTF-8, percent-encoding and NUL are errors; repeats are kept."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.text import Text

BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
FORM = "application/x-www-form-urlencoded"


class Form:
    """The parameters of a form or query, in order, with every repeat."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        self._by_name = dict(pairs)
        self._has_repeats = len(self._by_name) < len(pairs)

    def all(self, name: str) -> list[str]:
        """Every value sent under this name."""
        return [value for key, value in self.pairs if key == name]

    def one(self, name: str) -> str | None:
        """The value of a parameter that may be sent once. Sent empty it counts as not sent. Raises `InvalidRequest`."""
        self.require_no_repeats((name,))
        return self._by_name.get(name) or None

    def require_no_repeats(self, names: Iterable[str]) -> None:
        """Raises `InvalidRequest` if one of these parameters was sent twice, even with equal values."""
        for name in names if self._has_repeats else ():
            if len(self.all(name)) > 1:
                raise InvalidRequest(Text("The parameter %(name)s must not be repeated.", name=name))


def flash_message(query: bytes) -> str:
    """What the previous page did, from `?done=` in the URL; empty if it is missing. Raises `InvalidRequest`."""
    return parse_form(query).one("done") or ""


def parse_form(raw: bytes) -> Form:
    """Read `application/x-www-form-urlencoded` bytes. Raises `InvalidRequest`."""
    if b"%" not in raw:  # then no character decodes to a separator, and everything is decoded at once
        parts = (part.partition("=") for part in decode(raw).split("&") if part)
        return Form([(name, value) for name, _, value in parts])
    pairs: list[tuple[str, str]] = []
    for part in raw.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            pairs.append((decode(name), decode(value)))
    return Form(pairs)


def decode(raw: bytes) -> str:
    """One form-encoded name or value. Raises `InvalidRequest`."""
    spelt = raw.replace(b"+", b" ")
    if b"%" in spelt:
        if BAD_PERCENT.search(spelt):
            raise InvalidRequest("A parameter has invalid percent-encoding.")
        spelt = unquote_to_bytes(spelt)
    try:
        text = spelt.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise InvalidRequest("A parameter is not valid UTF-8.") from None
    if "\0" in text:
        raise InvalidRequest("A parameter contains a NUL character.")
    return text
