"""The chapters of the documentation: Markdown files of `docs/`, rendered to HTML once."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct

FOLDER = Path(__file__).parent / "chapters"
"""Links to `docs` and the changelog in a checkout; a wheel contains the files."""
CHAPTERS: Mapping[str, str] = {
    "quickstart": "Accept a test payment and receive a verified webhook",
    "payments": "States of payments, settings, refunds and chargebacks",
    "withdrawals": "Pay out a balance: fees, limits, review and states",
    "conversions": "Convert a balance to another currency, once or by rule",
    "balance-payments": "Charge connected merchants from their balance",
    "fulfillments": "Order in-game currency, or deliver it from a game server",
    "oauth": "Get permissions from merchants and call the API for them",
    "oauth-reference": "Every OAuth error and limit",
    "webhooks": "Receive, verify and process events",
    "webhook-reference": "Headers, event types, statuses, retries and limits",
    "idempotency": "Retry requests without repeating their effect",
    "lists": "Pagination, filters, numbers and times",
    "errors": "The error format, common errors and retries",
    "test-mode": "Simulate payments, failures, deliveries and time",
    "go-live": "The checklist for accepting real payments",
    "changelog": "New features, changes and fixes",
}
"""The chapters in order, with a summary of each."""
WIDE = '<div class="wide" tabindex="0" role="group" aria-label="Table">'
"""Wraps a table, which scrolls sideways on narrow screens."""
LINK_BETWEEN_FILES = re.compile(r"([a-z-]+)\.md(#[\w-]+)?")
LINK_TO_MARKDOWN = re.compile(r"(/docs/[\w./-]+)\.md(#[\w-]+)?")


class Heading(Struct, frozen=True):
    """A section of a chapter, for its table of contents."""

    anchor: str
    text: str


class PageSummary(Struct, frozen=True):
    """A page in a list of pages."""

    name: str
    title: str
    about: str


class Chapter(PageSummary, frozen=True):
    """A chapter as Markdown and HTML."""

    markdown: str
    html: str
    headings: tuple[Heading, ...]


REFERENCE: tuple[PageSummary, ...] = (
    PageSummary("api", "API reference", "Endpoints, fields, scopes, errors and events"),
    PageSummary("try", "Try it", "Send requests to the test environment from your browser"),
)
"""The pages generated from the OpenAPI document."""


@cache
def chapters() -> Mapping[str, Chapter]:
    """All chapters in order."""
    found = {name: file_of(name) for name in CHAPTERS}
    return {name: read(name, CHAPTERS[name], path.read_text("utf-8")) for name, path in found.items() if path.is_file()}


def file_of(name: str) -> Path:
    """The file of a chapter."""
    return FOLDER / f"{name}.md"


def pages() -> list[PageSummary]:
    """The chapters and the reference pages."""
    return [*chapters().values(), *REFERENCE]


def read(name: str, about: str, markdown: str) -> Chapter:
    """Render a chapter."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    title, headings = name, list[Heading]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag == "h1":
            title = _text_of(inline)
        elif opening.type == "heading_open" and opening.tag == "h2":
            heading = Heading(_anchor(_text_of(inline)), _text_of(inline))
            opening.attrSet("id", heading.anchor)
            headings.append(heading)
        elif opening.type in {"fence", "code_block"}:
            opening.attrSet("tabindex", "0")  # so that it can be scrolled by keyboard
        for child in inline.children or []:
            if child.type == "link_open":
                child.attrSet("href", _address(str(child.attrGet("href") or "")))
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", f"{WIDE}<table>").replace("</table>", "</table></div>")
    return Chapter(name, title, about, markdown, html, tuple(headings))


def _text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _address(target: str) -> str:
    """The target of a link: files of chapters become their pages, others stay."""
    if within := LINK_TO_MARKDOWN.fullmatch(target):
        return f"{within[1]}{within[2] or ''}"
    match = LINK_BETWEEN_FILES.fullmatch(target)
    if match is None or match[1] not in CHAPTERS:
        return target
    return f"/docs/{match[1]}{match[2] or ''}"
