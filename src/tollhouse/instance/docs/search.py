"""The search of the documentation: sections of chapters, operations, events and error codes that have all words."""

import re
from collections.abc import Iterable, Iterator, Mapping

from markupsafe import Markup, escape
from msgspec import Struct

from tollhouse.instance.docs.book import Chapter
from tollhouse.instance.docs.entries import ReferenceEntry

HITS_MAX, QUERY_CHARS_MAX, WORDS_MAX = 30, 100, 8
EXCERPT_CHARS, CHARS_BEFORE = 180, 60
WORD = re.compile(r"[\w./-]+")


class Place(Struct, frozen=True):
    """What can be found: a page or a section. `where` names what it belongs to, `keys` are further names, such as a path."""

    path: str
    title: str
    where: str
    text: str
    keys: str = ""


class Hit(Struct, frozen=True):
    """A place that was found, with a part of its text in which the words are marked."""

    path: str
    title: str
    where: str
    excerpt: Markup


def places(chapters: Iterable[Chapter], entries: Iterable[ReferenceEntry], errors: Iterable[Chapter]) -> Iterator[Place]:
    """Everything that can be found. `errors` are the pages of the error codes."""
    for chapter in chapters:
        yield Place(chapter.path, chapter.title, "Guides", f"{chapter.about}. {chapter.opening}")
        for heading in chapter.headings:
            yield Place(f"{chapter.path}#{heading.anchor}", heading.title, chapter.title, heading.text)
    for entry in entries:
        about = (entry.shown.get("description", "") or entry.shown.get("summary", "")).replace("`", "")
        yield Place(f"/docs/api/{entry.name}", entry.title, entry.group, about, f"{entry.method} {entry.path} {entry.name}")
    for page in errors:
        yield Place(page.path, page.title, "Error codes", " ".join(heading.text for heading in page.headings))


class SearchIndex:
    """All places, with their texts in lower case. It is built once: a search only reads them."""

    def __init__(self, found: Iterable[Place]) -> None:
        self._places = [_lowered(place) for place in found]

    def search(self, query: str) -> list[Hit]:
        """The places that have every word of the query, best first."""
        words = [word.lower() for word in WORD.findall(query[:QUERY_CHARS_MAX])][:WORDS_MAX]
        if not words:
            return []
        beginnings = {word: re.compile(rf"(?<![a-z0-9]){re.escape(word)}") for word in words}
        scored = [
            (_score(place, words, beginnings), number, place.place)
            for number, place in enumerate(self._places)
            if all(word in place.everything for word in words)
        ]
        best = sorted((match for match in scored if match[0]), key=lambda match: (-match[0], match[1]))
        return [Hit(place.path, place.title, place.where, _excerpt(place.text, words)) for _, _, place in best[:HITS_MAX]]


class _Lowered(Struct, frozen=True):
    """A place and its texts in lower case; `everything` is all of them."""

    place: Place
    title: str
    keys: str
    text: str
    everything: str


def _lowered(place: Place) -> _Lowered:
    title, keys, text = place.title.lower(), place.keys.lower(), f"{place.where} {place.text}".lower()
    return _Lowered(place, title, keys, text, f"{title}\n{keys}\n{text}")


def _score(place: _Lowered, words: list[str], beginnings: Mapping[str, re.Pattern[str]]) -> int:
    """Titles count more than texts, whole titles most; 0 if a word is missing."""
    title, keys, text = place.title, place.keys, place.text
    total = 0
    for word in words:
        begins = beginnings[word].search
        score = 20 if begins(title) else 12 if word in keys else 8 if word in title else 2 if begins(text) else 0
        if not score:
            return 0
        total += score
    phrase = " ".join(words)
    return total + (60 if phrase in (title, keys) else 20 if title.startswith(phrase) else 0)


def _excerpt(text: str, words: list[str]) -> Markup:
    """The text around the first word."""
    first = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    start = max(0, (first.start() if first else 0) - CHARS_BEFORE)
    start = text.find(" ", start) + 1 if start else 0
    cut = text[start : start + EXCERPT_CHARS]
    if start + EXCERPT_CHARS < len(text):
        cut = cut.rpartition(" ")[0] + " …"
    marked = re.split(f"({'|'.join(map(re.escape, words))})", ("… " if start else "") + cut, flags=re.IGNORECASE)
    return Markup().join(
        Markup("<mark>%s</mark>") % part if place % 2 else escape(part) for place, part in enumerate(marked)
    )
