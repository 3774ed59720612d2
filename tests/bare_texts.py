"""Texts of templates that no catalogue could translate: between tags, in attributes that people read, in expressions."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from jinja2 import Environment

READ_ALOUD = {"alt", "aria-label", "aria-description", "placeholder", "title"}
NAMES = re.compile(r"Tollhouse|UTC|IBAN|HTTPS?|ID|URL|ms|PostgreSQL|OAuth|OpenAPI|JSON|CSV|API|QR")
NO_WORDS = re.compile(r"""[\w-]+="[^"]*"|\S*/\S*""")
"""Attributes that a macro makes, and addresses."""
WORD = re.compile(r"[^\W\d_]{2,}")
PHRASE = re.compile(r"[A-Z][a-z]+(?:[ ,.:;].*)?|[A-Z] [a-z].*|[A-Z]+ [a-z].*")
VALUE = "\0"
TRANSLATE = {"_", "gettext", "ngettext"}


class _Page(HTMLParser):
    """Gathers what a page says to people."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in {"code", "pre"}
        self.said += [f"{name}={value}" for name, value in attrs if name in READ_ALOUD and value and _has_words(value)]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in {"code", "pre"}

    def handle_data(self, data: str) -> None:
        if not self._code and _has_words(data):
            self.said.append(" ".join(data.split()))


def bare_texts(template: Path) -> list[str]:
    """What the template says past the catalogue."""
    source = template.read_text()
    page = _Page()
    page.feed(_outside_of_translations(source))
    return page.said + list(_in_expressions(source))


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    reader = Environment(autoescape=True, extensions=["jinja2.ext.i18n"])
    lexed: Any = reader.lex(source)
    yield from ((kind, value) for _, kind, value in lexed if kind != "whitespace")


def _outside_of_translations(source: str) -> str:
    """The HTML, with a mark for each value, and without what stands between `trans` and `endtrans`."""
    made, within, begins = "", False, False
    for kind, value in _tokens(source):
        if kind == "block_begin":
            begins = True
        elif begins and kind == "name":
            within, begins = value == "trans" or (within and value != "endtrans"), False
        elif kind == "variable_begin":
            made += VALUE
        elif kind == "data" and not within:
            made += value
    return made


def _in_expressions(source: str) -> Iterator[str]:
    """Strings of expressions that begin like a sentence, and are not what `_()` is called with."""
    before: list[str] = ["", ""]
    for kind, value in _tokens(source):
        if kind == "string" and PHRASE.fullmatch(value[1:-1]) and not (before[1] == "(" and before[0] in TRANSLATE):
            yield value
        before = [before[1], value]


def _has_words(text: str) -> bool:
    return WORD.search(NAMES.sub("", NO_WORDS.sub("", text.replace(VALUE, " ")))) is not None
