"""The countries by their ISO 3166 codes, with their names in the language of the reader."""

from functools import cache
from unicodedata import normalize

from babel import Locale

from tollhouse.http.languages import ENGLISH

NO_COUNTRIES = frozenset({"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"})
"""Codes of Babel for unions, regions and tests."""
CODE_CHARS = 2


@cache
def country_names(language: str = ENGLISH) -> dict[str, str]:
    """The names by code, in the order of the names."""
    territories: dict[str, str] = dict(Locale.parse(language).territories)
    named = ((code, name) for code, name in territories.items() if len(code) == CODE_CHARS and code not in NO_COUNTRIES)
    return dict(sorted(named, key=lambda one: normalize("NFKD", one[1])))
