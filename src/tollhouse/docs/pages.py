"""The documentation as pages, as Markdown, and as `llms.txt`."""

from starlette.responses import Response

from tollhouse.docs.book import PageSummary, chapters, pages
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.http.services import Services
from tollhouse.identity.guards import anyone
from tollhouse.kernel.errors import NotFound

OPERATIONS = Operations(PAGES)
FRESH = {"Cache-Control": "public, max-age=300"}


@OPERATIONS.add("GET", "/docs", guard=anyone)
async def contents(request: Request) -> Response:
    """List the chapters and the reference."""
    return page(request, "docs/contents.html", chapters=pages())


@OPERATIONS.add("GET", "/docs/{name}", guard=anyone, errors=(NotFound,))
async def chapter(request: Request, name: str) -> Response:
    """Show a chapter; with the suffix `.md` as Markdown."""
    chapter_name = name.removesuffix(".md")
    found = chapters().get(chapter_name)
    if found is None:
        raise NotFound
    if name != chapter_name:
        return Response(found.markdown, 200, FRESH, "text/markdown")
    return page(request, "docs/chapter.html", chapter=found, chapters=pages())


@OPERATIONS.add("GET", "/llms.txt", guard=anyone)
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
        *(_line(base_url, found) for found in chapters().values()),
        "",
        "## Reference",
        "",
        f"- [API reference]({base_url}/docs/api.md): endpoints and events, one page each",
        f"- [OpenAPI]({base_url}/openapi.json): the OpenAPI 3.1 document, also [as YAML]({base_url}/openapi.yaml)",
        "",
    ]
    return Response("\n".join(lines), 200, FRESH, "text/plain")


def _line(base_url: str, found: PageSummary) -> str:
    return f"- [{found.title}]({base_url}/docs/{found.name}.md): {found.about}"
