"""The languages of the pages, and which of them a browser asks for."""

import re

from msgspec import Struct


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
    for one in accepted.split(",")[:RANGES_READ]:
        match = RANGE.fullmatch(one)
        if match is not None:
            name = ENGLISH if match["language"] == "*" else match["language"].lower()
            ranges.append((_thousandths(match["weight"] or "1"), name))
    known = [(weight, name) for weight, name in ranges if weight and name in LANGUAGES]
    return max(known, key=lambda one: one[0])[1] if known else ENGLISH


def _thousandths(weight: str) -> int:
    return int(weight.replace(".", "").ljust(4, "0"))
