"""The contents of the documentation: the sidebar, and the page before and after each page."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from tollhouse.instance.docs.book import GUIDES, START, Chapter
from tollhouse.instance.docs.entries import ReferenceEntry, grouped

REFERENCE, CODES, TRIAL = "/docs/api", "/docs/api/errors", "/docs/try"


class PageLink(Struct, frozen=True):
    """A page of the documentation. `about` is one line about it."""

    path: str
    title: str
    about: str = ""


class Contents(Struct, frozen=True):
    """All pages by their place in the sidebar. `groups` are the operations and events by name of their group."""

    start: tuple[PageLink, ...]
    guides: tuple[PageLink, ...]
    reference: tuple[PageLink, ...]
    groups: Mapping[str, tuple[PageLink, ...]]

    def around(self, path: str) -> tuple[PageLink | None, PageLink | None]:
        """The pages before and after this one."""
        pages = list(self._in_order())
        place = next((number for number, page in enumerate(pages) if page.path == path), None)
        if place is None:
            return None, None
        return pages[place - 1] if place else None, pages[place + 1] if place + 1 < len(pages) else None

    def _in_order(self) -> Iterator[PageLink]:
        yield from (*self.start, *self.guides, *self.reference)
        for links in self.groups.values():
            yield from links


def contents_of(chapters: Mapping[str, Chapter], entries: Mapping[str, ReferenceEntry]) -> Contents:
    """The contents of these chapters and entries."""
    links = {name: PageLink(chapter.path, chapter.title, chapter.about) for name, chapter in chapters.items()}
    return Contents(
        tuple(links[name] for name in START if name in links),
        tuple(links[name] for name in GUIDES if name in links),
        (
            PageLink(REFERENCE, "API reference", "Endpoints, fields, scopes, errors and events"),
            PageLink(CODES, "Error codes", "Every error code, and the endpoints that return it"),
            PageLink(TRIAL, "Try it", "Send requests to the test environment from your browser"),
        ),
        {
            group: tuple(PageLink(f"{REFERENCE}/{entry.name}", entry.title, entry.path) for entry in members)
            for group, members in grouped(entries).items()
        },
    )
