"""Texts of templates that no catalogue could translate: between tags, in attributes that people read, in expressions."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment

READ_ALOUD = {"alt", "aria-label", "aria-description", "placeholder", "title"}
NAMES = re.compile(r"Tollhouse|UTC|IBAN|HTTPS?|ID|URL|ms|PostgreSQL|OAuth|OpenAPI|JSON|CSV|API|QR")
NO_WORDS = re.compile(r"""[\w-]+="[^"]*"|\S*/\S*""")
"""Attributes that a macro makes, and addresses."""
WORD = re.compile(r"[^\W\d_]{2,}")
PHRASE = re.compile(r"[A-Z][a-z]+(?:[ ,.:;].*)?|[A-Z] [a-z].*|[A-Z]+ [a-z].*")
TAG = re.compile(r"""<(?P<closes>/?)(?P<name>[a-z][a-z0-9]*)(?P<attributes>(?:[^<>"]|"[^"]*")*)>|<![^>]*>""")
ATTRIBUTE = re.compile(r"""([\w-]+)="([^"]*)""")
VALUE = "\0"
TRANSLATE = {"_", "gettext", "ngettext"}


def bare_texts(template: Path) -> list[str]:
    """What the template says past the catalogue."""
    source = template.read_text()
    return [*_in_html(_outside_of_translations(source)), *_in_expressions(source)]


def _in_html(page: str) -> Iterator[str]:
    """Words between tags, but for code and styles, and in attributes that are read."""
    code, end = 0, 0
    for tag in TAG.finditer(page):
        if not code:
            yield from _said(page[end : tag.start()])
        for name, value in ATTRIBUTE.findall(tag["attributes"] or ""):
            yield from [f"{name}={value}"] * (name in READ_ALOUD and _has_words(value))
        code += (tag["name"] in {"code", "pre", "style"}) * (-1 if tag["closes"] else 1)
        end = tag.end()
    yield from _said(page[end:])


def _said(text: str) -> list[str]:
    return [" ".join(text.replace(VALUE, " ").split())] if _has_words(text) else []


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
