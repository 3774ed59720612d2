"""The API reference as pages and Markdown, and the page for trying requests."""

from functools import cache

from msgspec import Struct
from starlette.responses import Response

from tollhouse.api.reference import read
from tollhouse.docs import book, reference
from tollhouse.docs.book import Chapter
from tollhouse.docs.entries import ReferenceEntry, entries, grouped
from tollhouse.docs.pages import FRESH
from tollhouse.docs.trial import can_be_tried, offers, trial_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.http.services import Services
from tollhouse.identity.guards import anyone
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.config import Settings

OPERATIONS = Operations(PAGES)
CONTENTS, CODES = "api", "api/errors"
FIRST_TRIED = "open_link"
TRIAL = next(one for one in book.REFERENCE if one.name == "try")
TRIAL_TEXT = """\
# Try it

Use this page to send requests to the test environment from your browser. Without a browser, run the curl examples of the
[API reference](/docs/api.md) with a test key (`th_test_…`).
"""


class TrialQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?operation=` of the page for trying requests."""

    operation: str = FIRST_TRIED


@OPERATIONS.add("GET", "/docs/api", guard=anyone)
async def contents(request: Request) -> Response:
    """List the operations and events by group."""
    return _page(request, _contents(request.services.settings))


@OPERATIONS.add("GET", "/docs/api.md", guard=anyone)
async def contents_as_markdown(services: Services) -> Response:
    """The list as Markdown."""
    return _markdown(_contents(services.settings).markdown)


@OPERATIONS.add("GET", "/docs/api/{name}", guard=anyone, errors=(NotFound,))
async def entry(request: Request, name: str) -> Response:
    """Show an operation, an event, or the error codes; with the suffix `.md` as Markdown."""
    entry_name = name.removesuffix(".md")
    settings = request.services.settings
    if entry_name != "errors" and entry_name not in _entries(settings):
        raise NotFound
    found = _codes(settings) if entry_name == "errors" else _entry(settings, entry_name)
    return _page(request, found) if name == entry_name else _markdown(found.markdown)


@OPERATIONS.add("GET", "/docs/try", guard=anyone, errors=(NotFound,))
async def try_it(request: Request, query: TrialQuery) -> Response:
    """Show a form that sends a request to the test environment."""
    found = _entries(request.services.settings)
    selected = found.get(query.operation)
    if selected is None or not can_be_tried(selected):
        raise NotFound
    groups = offers(grouped(found))
    return page(request, "docs/try.html", chapter=TRIAL, chapters=book.pages(), offered=groups, trial=trial_of(selected))


@OPERATIONS.add("GET", "/docs/try.md", guard=anyone)
async def try_it_without_a_browser() -> Response:
    """The page as Markdown."""
    return _markdown(TRIAL_TEXT)


def _page(request: Request, chapter: Chapter) -> Response:
    return page(request, "docs/chapter.html", chapter=chapter, chapters=book.pages())


def _markdown(text: str) -> Response:
    return Response(text, 200, FRESH, "text/markdown")


@cache
def _entries(settings: Settings) -> dict[str, ReferenceEntry]:
    return entries(read(settings))


@cache
def _contents(settings: Settings) -> Chapter:
    return book.read(CONTENTS, "", reference.contents(_entries(settings)))


@cache
def _codes(settings: Settings) -> Chapter:
    return book.read(CODES, "", reference.codes(_entries(settings)))


@cache
def _entry(settings: Settings, name: str) -> Chapter:
    found = _entries(settings)[name]
    return book.read(f"{CONTENTS}/{name}", "", reference.text_of(found, read(settings)))
