"""The texts of pages, in the reader's language. The English text is the key of its translation.

Templates mark theirs: `_("Payment links")`. Texts from Python, such as errors, are English, as the API returns them. The
filter `translate` shows them: a `str` as a whole, a `Text` by its template.
"""

from decimal import Decimal
from functools import cache
from importlib import resources
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from markupsafe import Markup

from tollhouse.http.languages import ENGLISH
from tollhouse.http.local_formats import Formats
from tollhouse.http.statuses import words_of
from tollhouse.kernel.text import Text, Translatable, Value


class Texts:
    """The texts of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.formats = Formats(language)
        self.translations = translations(language)

    def translate(self, text: Translatable) -> str:
        """A text in this language; one that the catalogue does not have, as it is. HTML is not translated again."""
        if isinstance(text, Text):
            return text.fill(self.translations.gettext(text.template), self._write)
        return text if isinstance(text, Markup) or not text else self.translations.gettext(text)

    def label(self, value: Translatable) -> str:
        """A stored value such as a status, in words of this language that begin with a capital."""
        words = self.translate(words_of(value) if isinstance(value, str) and not isinstance(value, Markup) else value)
        return words[:1].upper() + words[1:]

    def _write(self, value: Value) -> str:
        if isinstance(value, int):
            return self.formats.number(value)
        if isinstance(value, Decimal):
            return self.formats.amount(f"{value:f}")
        return self.translate(value) if isinstance(value, Text) else str(value)


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
def catalogue(language: str) -> Catalog:
    """The catalogue of a language in the package."""
    path = resources.files("tollhouse.http") / "locale" / language / "LC_MESSAGES" / "tollhouse.po"
    with path.open("rb") as lines:
        return read_po(lines, locale=language)
