"""The languages of the pages, which of them a browser asks for, and the names of countries in them."""

import re
from functools import cache
from unicodedata import normalize

from babel import Locale
from msgspec import Struct

NO_COUNTRIES = frozenset({"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"})
"""Codes of Babel for unions, regions and tests."""
CODE_CHARS = 2


class Language(Struct, frozen=True):
    """A language: its own name, and its patterns of dates and percentages for Babel."""

    name: str
    day: str
    long_day: str
    short_day: str
    medium_day: str
    percent: str


LANGUAGES = {
    "en": Language("English", "d MMM yyyy", "d MMMM yyyy", "d MMM", "d MMM yyyy", "0.00%"),
    "de": Language("Deutsch", "dd.MM.yyyy", "d. MMMM yyyy", "d. MMM", "d. MMM yyyy", "0.00\N{NO-BREAK SPACE}%"),
}
"""Texts are written in English; the others have a catalogue in `locale`. English days stand before their month, by name, so
that no reader takes one for the other."""
ENGLISH = "en"
RANGES_READ = 20
RANGE = re.compile(
    r"\s*(?P<language>[A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]{1,40})?\s*(?:;\s*q=(?P<weight>[01](?:\.[0-9]{0,3})?)\s*)?"
)


def preferred(accepted: str) -> str:
    """The preferred supported language of an `Accept-Language` header. `de-AT` is German, `*` is English."""
    ranges: list[tuple[int, str]] = []
    for accepted_range in accepted.split(",")[:RANGES_READ]:
        match = RANGE.fullmatch(accepted_range)
        if match is not None:
            name = ENGLISH if match["language"] == "*" else match["language"].lower()
            ranges.append((_thousandths(match["weight"] or "1"), name))
    known = [(weight, name) for weight, name in ranges if weight and name in LANGUAGES]
    return max(known, key=lambda weighted: weighted[0])[1] if known else ENGLISH


def _thousandths(weight: str) -> int:
    return int(weight.replace(".", "").ljust(4, "0"))


@cache
def country_names(language: str = ENGLISH) -> dict[str, str]:
    """The names by code, in the order of the names."""
    territories: dict[str, str] = dict(Locale.parse(language).territories)
    named = ((code, name) for code, name in territories.items() if len(code) == CODE_CHARS and code not in NO_COUNTRIES)
    return dict(sorted(named, key=lambda country: normalize("NFKD", country[1])))
