"""The texts of pages, in the reader's language. The English text is the key of its translation.

Templates mark theirs: `_("Payment links")`. Texts from Python, such as errors, are English, as the API returns them. The
filter `translate` shows them; it finds texts with values by their pattern: `From %(least)s to %(most)s.`
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from io import BytesIO

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from markupsafe import Markup

from tollhouse.http.languages import ENGLISH
from tollhouse.http.local_formats import Formats

PLACE = re.compile(r"%\((\w+)\)s")
EXACT = re.compile(r"[0-9]+\.[0-9]+")
GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
SENTENCES_MAX = 8
"""Texts of more sentences are written by users and not searched for in the catalogue."""
FROM_PYTHON = ".py"
OF_OTHERS = frozenset({"email", "expression", "msg", "name", "own_text", "reference", "text"})
"""Placeholders for words of users, which are never translated."""
Pattern = tuple[re.Pattern[str], str]


class Texts:
    """The texts of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.formats = Formats(language)
        self.translations = translations(language)
        self._patterns = [] if language == ENGLISH else patterns(language)

    def translate(self, text: str) -> str:
        """A text from Python in this language; unchanged if no catalogue contains it. HTML is translated already."""
        if self.language == ENGLISH or isinstance(text, Markup) or not text:
            return text
        known = self._known(text)
        if known is not None:
            return known
        sentences = SENTENCES.split(text, maxsplit=SENTENCES_MAX)
        for size in range(len(sentences) - 1, 0, -1):
            known = self._known(" ".join(sentences[:size]))
            if known is not None:
                return f"{known} {self.translate(' '.join(sentences[size:]))}"
        return text

    def _known(self, text: str) -> str | None:
        found = self.translations.gettext(text)
        if found != text:
            return found
        for pattern, said in self._patterns:
            match = pattern.fullmatch(text)
            if match is not None:
                return said % {name: self._value(name, value) for name, value in match.groupdict().items()}
        return None

    def _value(self, name: str, value: str) -> str:
        """A value in a text: a number, an amount, a label, another text, or words of a user."""
        if name in OF_OTHERS:
            return value
        if EXACT.fullmatch(value):
            return self.formats.amount(value)
        return self.formats.number(int(value.replace(",", ""))) if GROUPED.fullmatch(value) else self.translate(value)


@cache
def translations(language: str) -> NullTranslations:
    """The translations for templates. The catalogue is compiled on loading, without a build step."""
    if language == ENGLISH:
        return NullTranslations()
    compiled = BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    return Translations(compiled)


@cache
def patterns(language: str) -> list[Pattern]:
    """The texts with values, those with the longest literal part first."""
    found = [(_literal(key), _pattern(key), said) for key, said in _with_places(catalogue(language))]
    return [(pattern, said) for _, pattern, said in sorted(found, key=lambda one: -one[0])]


@cache
def catalogue(language: str) -> Catalog:
    """The catalogue of a language in the package."""
    path = resources.files("tollhouse") / "locale" / language / "LC_MESSAGES" / "tollhouse.po"
    with path.open("rb") as lines:
        return read_po(lines, locale=language)


def _with_places(known: Catalog) -> Iterator[tuple[str, str]]:
    for message in known:
        key, said = message.id, message.string
        if isinstance(key, str) and isinstance(said, str) and said and PLACE.search(key) and _is_from_python(message):
            yield key, said


def _is_from_python(message: Message) -> bool:
    return any(path.endswith(FROM_PYTHON) for path, _ in message.locations)


def _literal(key: str) -> int:
    """The number of literal characters of a pattern."""
    return len(PLACE.sub("", key))


def _pattern(key: str) -> re.Pattern[str]:
    """The regular expression of a pattern. A value that occurs twice must be the same."""
    made, seen, end = "", set[str](), 0
    for place in PLACE.finditer(key):
        name = place[1]
        made += re.escape(key[end : place.start()].replace("%%", "%"))
        made += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
        seen.add(name)
        end = place.end()
    return re.compile(made + re.escape(key[end:].replace("%%", "%")), re.DOTALL)
