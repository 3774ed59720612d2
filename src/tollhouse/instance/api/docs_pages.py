"""The documentation as pages and as Markdown: chapters, the API reference, the search, and the page for trying requests."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import MeteredGuard, anyone, current_reader, signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.merchants.actions import create_api_key
from tollhouse.accounts.merchants.model import NewApiKey
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import ENCODER, page
from tollhouse.http.services import Services
from tollhouse.instance.api.health import require_ready
from tollhouse.instance.api.reference import read
from tollhouse.instance.docs import book, reference
from tollhouse.instance.docs.book import Chapter, chapters
from tollhouse.instance.docs.code import tabs
from tollhouse.instance.docs.collection import collection
from tollhouse.instance.docs.endpoint import EndpointView, endpoint_of
from tollhouse.instance.docs.entries import REFERENCE, TRIAL, Contents, ReferenceEntry, contents_of, entries, grouped
from tollhouse.instance.docs.error_pages import error_pages
from tollhouse.instance.docs.samples import can_be_tried, has_key, offers, trial_of, with_key
from tollhouse.instance.docs.search import QUERY_CHARS_MAX, SearchIndex, places
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.limits import DOCS_PAGES_PER_MIN, DOCS_SEARCHES_PER_MIN, KEY_NAME_CHARS_MAX
from tollhouse.pages.dashboard.account.key_presets import BY_NAME as PRESETS
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.settings.config import Settings

OPERATIONS = Operations(PAGES)
FRESH = {"Cache-Control": "public, max-age=300"}
READERS, SEARCHERS = MeteredGuard(DOCS_PAGES_PER_MIN), MeteredGuard(DOCS_SEARCHES_PER_MIN)
QUICKSTART_KEY = "Quickstart"
FIRST_TRIED = "open_link"
TRIAL_TEXT = """\
# Try it

Use this page to send requests to the test environment from your browser. Without a browser, run the curl examples of the
[API reference](/docs/api.md) with a test key (`th_test_…`).
"""


class DocsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?q=` of the search."""

    q: str = ""


class TrialQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?operation=` of the page for trying requests."""

    operation: str = FIRST_TRIED


@OPERATIONS.add("GET", "/docs", guard=READERS)
async def contents(request: Request) -> Response:
    """List the chapters and the reference."""
    return _page(request, "docs/contents.html", "/docs")


@OPERATIONS.add("GET", "/docs/search", guard=SEARCHERS, errors=(RateLimited,))
async def search_docs(request: Request, query: DocsQuery) -> Response:
    """Search chapters, operations, events and error codes."""
    asked = query.q.strip()[:QUERY_CHARS_MAX]
    hits = _index(request.services.settings).search(asked)
    return _page(request, "docs/search.html", "/docs/search", searched=asked, hits=hits)


@OPERATIONS.add("GET", "/docs/status", guard=anyone)
async def status(request: Request, db: Pool) -> Response:
    """Show people that the service is available, as `/readyz` shows programs. Else they get the error page (503)."""
    await require_ready(db)
    return _page(request, "docs/status.html", "/docs/status")


@OPERATIONS.add("GET", "/docs/quickstart", guard=READERS)
async def show_quickstart(request: Request) -> Response:
    """Show the quickstart. Signed-in people can have a test key filled into its commands."""
    return _quickstart_page(request, await current_reader(request))


@OPERATIONS.add("POST", "/docs/quickstart", guard=signed_in_page("developers"))
async def make_quickstart_key(request: Request, caller: Person) -> Response:
    """Create a key of the test environment and show the quickstart with it once."""
    new = NewApiKey(QUICKSTART_KEY, "test", list(PRESETS["payments"].scopes))
    created = await request.transact(lambda work: create_api_key(work, caller, new))
    return _quickstart_page(request, caller, created.api_key)


@OPERATIONS.add("GET", "/docs/{name}", guard=READERS, errors=(NotFound,))
async def chapter(request: Request, name: str) -> Response:
    """Show a chapter; with the suffix `.md` as Markdown."""
    return _page_or_markdown(request, _chapters(request.services.settings), name)


@OPERATIONS.add("GET", "/docs/collection.json", guard=READERS)
async def postman_collection(services: Services) -> Response:
    """Get the operations as a collection of Postman."""
    return Response(_collection(services.settings), 200, FRESH, "application/json")


@OPERATIONS.add("GET", "/docs/errors", guard=READERS)
async def errors_chapter(request: Request) -> Response:
    """Show the chapter on errors, above the pages of their codes."""
    return await chapter(request, "errors")


@OPERATIONS.add("GET", "/docs/errors/{name}", guard=READERS, errors=(NotFound,))
async def error_page(request: Request, name: str) -> Response:
    """Show an error code; with the suffix `.md` as Markdown."""
    return _page_or_markdown(request, _error_pages(request.services.settings), name)


@OPERATIONS.add("GET", REFERENCE, guard=READERS)
async def reference_contents(request: Request) -> Response:
    """List the operations and events by group."""
    return _chapter_page(request, _contents_chapter(request.services.settings))


@OPERATIONS.add("GET", f"{REFERENCE}.md", guard=READERS)
async def contents_as_markdown(services: Services) -> Response:
    """The list as Markdown."""
    return _markdown(_contents_chapter(services.settings).markdown)


@OPERATIONS.add("GET", f"{REFERENCE}/{{name}}", guard=READERS, errors=(NotFound,))
async def entry(request: Request, name: str) -> Response:
    """Show an operation, an event, or the error codes; with the suffix `.md` as Markdown."""
    entry_name = name.removesuffix(".md")
    settings = request.services.settings
    if entry_name == "errors":
        codes = _codes_chapter(settings)
        return _markdown(codes.markdown) if name != entry_name else _chapter_page(request, codes)
    found = _entries(settings).get(entry_name)
    if found is None:
        raise NotFound
    if name != entry_name:
        return _markdown(reference.text_of(found, read(settings)))
    person = await current_reader(request) if has_key(found) else None
    return _entry_page(request, found, person)


@OPERATIONS.add("POST", f"{REFERENCE}/{{name}}", guard=signed_in_page("developers"), errors=(NotFound,))
async def make_reference_key(request: Request, caller: Person, name: str) -> Response:
    """Create a key of the test environment for an operation and show its page with the key once."""
    found = _entries(request.services.settings).get(name)
    if found is None or not has_key(found):
        raise NotFound
    new = NewApiKey(f"Reference: {name}"[:KEY_NAME_CHARS_MAX], "test", found.shown.get("x-scopes", ["account:read"]))
    created = await request.transact(lambda work: create_api_key(work, caller, new))
    return _entry_page(request, found, caller, created.api_key)


@OPERATIONS.add("GET", TRIAL, guard=READERS, errors=(NotFound,))
async def try_it(request: Request, query: TrialQuery) -> Response:
    """Show a form that sends a request to the test environment."""
    found = _entries(request.services.settings)
    selected = found.get(query.operation)
    if selected is None or not can_be_tried(selected):
        raise NotFound
    groups = offers(grouped(found))
    return _page(request, "docs/try.html", TRIAL, offered=groups, trial=trial_of(selected))


@OPERATIONS.add("GET", f"{TRIAL}.md", guard=READERS)
async def try_it_without_a_browser() -> Response:
    """The page as Markdown."""
    return _markdown(TRIAL_TEXT)


@OPERATIONS.add("GET", "/llms.txt", guard=READERS)
async def list_for_programs(services: Services) -> Response:
    """List the documentation as Markdown with links."""
    base_url = services.settings.base_url
    lines = [
        "# Tollhouse",
        "",
        "> A self-hosted payment platform: payment links, a double-entry ledger, OAuth 2.0 and signed webhooks.",
        "",
        "## Documentation",
        "",
        *(f"- [{found.title}]({base_url}{found.path}.md): {found.about}" for found in chapters().values()),
        "",
        "## Reference",
        "",
        f"- [API reference]({base_url}{REFERENCE}.md): endpoints and events, one page each",
        f"- [OpenAPI]({base_url}/openapi.json): the OpenAPI 3.1 document, also [as YAML]({base_url}/openapi.yaml)",
        "",
    ]
    return Response("\n".join(lines), 200, FRESH, "text/plain")


def _page_or_markdown(request: Request, chapters: Mapping[str, Chapter], name: str) -> Response:
    """A chapter by its name; with the suffix `.md` as Markdown. Raises `NotFound`."""
    chapter_name = name.removesuffix(".md")
    found = chapters.get(chapter_name)
    if found is None:
        raise NotFound
    return _markdown(found.markdown) if name != chapter_name else _chapter_page(request, found)


def _chapter_page(request: Request, found: Chapter) -> Response:
    return _page(request, "docs/chapter.html", found.path, chapter=found)


def _page(request: Request, template: str, path: str, **context: Any) -> Response:
    """A page in the frame of the documentation."""
    navigation = _contents(request.services.settings)
    before, after = navigation.around(path)
    frame: dict[str, Any] = {"navigation": navigation, "here": path, "before": before, "after": after, "searched": ""}
    return page(request, template, **(frame | context))


def _entry_page(request: Request, found: ReferenceEntry, person: Person | None, api_key: str = "") -> Response:
    """Not stored where it depends on the session or has a key."""
    view = _view(request.services.settings, found.name)
    samples = with_key(view.samples, api_key) if api_key else view.samples
    context = {"can_be_tried": can_be_tried(found), "tabs": tabs, "samples": samples, "person": person, "api_key": api_key}
    response = _page(request, "docs/endpoint.html", f"{REFERENCE}/{found.name}", view=view, **context)
    if person is not None:
        response.headers["Cache-Control"] = "no-store"
    return response


def _quickstart_page(request: Request, person: Person | None, api_key: str = "") -> Response:
    """Never stored: it depends on the session, and may have a key."""
    found = _chapters(request.services.settings)[book.QUICKSTART]
    shown = book.with_key(found, api_key) if api_key else found
    response = _page(request, "docs/quickstart.html", found.path, chapter=shown, person=person, api_key=api_key)
    response.headers["Cache-Control"] = "no-store"
    return response


def _markdown(text: str) -> Response:
    return Response(text, 200, FRESH, "text/markdown")


@cache
def _chapters(settings: Settings) -> Mapping[str, Chapter]:
    """The chapters with the address of this server in their examples."""
    return {name: book.at_address(found, settings.base_url) for name, found in chapters().items()}


@cache
def _entries(settings: Settings) -> dict[str, ReferenceEntry]:
    return entries(read(settings))


@cache
def _contents(settings: Settings) -> Contents:
    return contents_of(chapters(), _entries(settings))


@cache
def _contents_chapter(settings: Settings) -> Chapter:
    return book.read("api", "", reference.contents(_entries(settings)))


@cache
def _codes_chapter(settings: Settings) -> Chapter:
    return book.read("api/errors", "", reference.codes(_entries(settings)))


@cache
def _collection(settings: Settings) -> bytes:
    return ENCODER.encode(collection(_entries(settings), read(settings)))


@cache
def _error_pages(settings: Settings) -> dict[str, Chapter]:
    return error_pages(_entries(settings))


@cache
def _view(settings: Settings, name: str) -> EndpointView:
    return endpoint_of(_entries(settings)[name], read(settings))


@cache
def _index(settings: Settings) -> SearchIndex:
    found = _entries(settings).values()
    return SearchIndex(places(chapters().values(), found, _error_pages(settings).values()))
