"""The chapters of the documentation: Markdown files of `docs/`, rendered to HTML once, and the quickstart of a person.

A person who has an account here gets a test key in every command, and what is done is left out.
"""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

from msgspec import Struct, structs

from tollhouse.instance.docs import markdown
from tollhouse.instance.docs.markdown import Heading

FOLDER = Path(__file__).parent / "chapters"
"""Links to `docs` and the changelog in a checkout; a wheel contains the files."""
EXAMPLE_URL = "http://localhost:8000"
"""The address in examples: that of `tollhouse serve` without settings."""
START: Mapping[str, str] = {
    "quickstart": "Accept a test payment and receive a verified webhook",
    "authentication": "API keys, access tokens, scopes and the two environments",
    "test-mode": "Simulate payments, failures, deliveries and time",
    "go-live": "The checklist for accepting real payments",
}
GUIDES: Mapping[str, str] = {
    "payments": "States of payments, settings, refunds and chargebacks",
    "withdrawals": "Pay out a balance: fees, limits, review and states",
    "conversions": "Convert a balance to another currency, once or by rule",
    "balance-payments": "Charge connected merchants from their balance",
    "fulfillments": "Order in-game currency, or deliver it from a game server",
    "teams": "Share a merchant account: what each role may do",
    "proposals": "Let the merchant approve what an application or an agent wants to do",
    "oauth": "Get permissions from merchants and call the API for them",
    "mcp": "Connect an AI agent by the Model Context Protocol",
    "oauth-reference": "Every OAuth error and limit",
    "webhooks": "Receive, verify and process events",
    "webhook-reference": "Headers, event types, statuses, retries and limits",
    "idempotency": "Retry requests without repeating their effect",
    "lists": "Pagination, filters, numbers and times",
    "errors": "The error format, common errors and retries",
    "sdk-python": "Call the API, verify webhooks and read events from Python",
    "sdk-typescript": "Call the API, verify webhooks and read events from TypeScript or JavaScript",
    "changelog": "New features, changes and fixes",
}
CHAPTERS: Mapping[str, str] = {**START, **GUIDES}
"""The chapters in order, with a summary of each."""
QUICKSTART = "quickstart"
DONE = ("Start the service", "Create a merchant account")
"""Sections that this server and the account of the person make needless."""
MAKE_KEY, YOUR_KEY = "Create an API key", "Your test key"
PLACEHOLDER = "th_test_YOUR_KEY"
"""Stands for the key until it is shown: a rendered page is kept, and a key is not."""
SECTION = re.compile(r"^## ", re.MULTILINE)
HELPERS = re.compile(r"^BASE=.*\n^field\(\) .*\n", re.MULTILINE)
OPENING = """\
# Quickstart

In this tutorial you accept a test payment on this server and receive a verified webhook. It takes about five minutes.

You need Python 3.11 or newer and `curl`. Run the commands in order, in one shell. No real money moves.

"""
KEY_SECTION = """\
Your key works only in the test environment. Check it:

```sh
{helpers}curl -fsS "$BASE/api/v2/integration/account" -H "X-API-Key: $KEY"
```

"""


class Chapter(Struct, frozen=True):
    """A page that is written in Markdown. `opening` is the text before its first section, without markup."""

    name: str
    title: str
    about: str
    markdown: str
    opening: str
    html: str
    headings: tuple[Heading, ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/docs/{self.name}"


@cache
def chapters() -> Mapping[str, Chapter]:
    """All chapters in order."""
    found = {name: file_of(name) for name in CHAPTERS}
    return {name: read(name, CHAPTERS[name], path.read_text("utf-8")) for name, path in found.items() if path.is_file()}


def at_address(chapter: Chapter, base_url: str) -> Chapter:
    """The chapter with this server's address instead of the one that examples name."""
    return structs.replace(
        chapter,
        markdown=chapter.markdown.replace(EXAMPLE_URL, base_url),
        html=chapter.html.replace(EXAMPLE_URL, escape(base_url)),
    )


def file_of(name: str) -> Path:
    """The file of a chapter."""
    return FOLDER / f"{name}.md"


def read(name: str, about: str, text: str) -> Chapter:
    """Render a chapter."""
    rendered = markdown.render(text, CHAPTERS.__contains__)
    return Chapter(name, rendered.title, about, text, rendered.opening, rendered.html, rendered.headings)


def with_key(chapter: Chapter, api_key: str) -> Chapter:
    """The quickstart with this key. `chapter` has the address of the server already."""
    rendered = _with_placeholder(chapter)
    return structs.replace(rendered, html=rendered.html.replace(PLACEHOLDER, escape(api_key)))


@cache
def _with_placeholder(chapter: Chapter) -> Chapter:
    _, *sections = SECTION.split(chapter.markdown)
    [helpers] = HELPERS.findall(chapter.markdown)
    titled = [section.partition("\n") for section in sections]
    kept = [
        (YOUR_KEY, KEY_SECTION.format(helpers=helpers)) if title == MAKE_KEY else (title, text.lstrip("\n"))
        for title, _, text in titled
        if title not in DONE
    ]
    text = OPENING + "".join(f"## {title}\n\n{text}" for title, text in kept)
    return read(QUICKSTART, chapter.about, text.replace("$KEY", PLACEHOLDER))
