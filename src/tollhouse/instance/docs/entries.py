"""The entries of the API reference, by name and group, and the contents of the documentation."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from tollhouse.instance.docs.book import GUIDES, START, Chapter

Json = dict[str, Any]
INTEGRATION, MERCHANT = "/api/v2/integration/", "/api/v2/merchant/"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "OAuth": ("/.well-known/", "/api/v2/oauth/"),
    "Account, currencies and projects": tuple(
        INTEGRATION + name for name in ("account", "currencies", "payment-methods", "projects", "request-log")
    ),
    "Payment links": (INTEGRATION + "payment-links",),
    "Transactions and refunds": (INTEGRATION + "transactions", INTEGRATION + "refunds"),
    "Disputes": (INTEGRATION + "disputes",),
    "Balances and ledger": (INTEGRATION + "balances", INTEGRATION + "ledger"),
    "Balance payments": (INTEGRATION + "balance-payments",),
    "Withdrawals": (INTEGRATION + "withdrawal",),
    "Conversions": (INTEGRATION + "conversion",),
    "Fulfillments": (INTEGRATION + "fulfillment",),
    "Proposals": (INTEGRATION + "proposals",),
    "Webhooks": (INTEGRATION + "webhook", INTEGRATION + "events"),
    "Settings and reports": (INTEGRATION + "settings", INTEGRATION + "reports"),
    "Test environment": (INTEGRATION + "test/",),
    "Dashboard: users and API keys": tuple(
        MERCHANT + name for name in ("signup", "login", "logout", "session", "api-keys", "passkeys", "stop-everything")
    ),
    "Dashboard: team": tuple(MERCHANT + name for name in ("members", "invitations", "team", "withdrawals", "refunds")),
    "Dashboard: applications and connections": (MERCHANT + "oauth/",),
    "Dashboard: projects and webhook secret": (MERCHANT + "projects", MERCHANT + "webhook-secret"),
    "Dashboard: customers": (MERCHANT + "customers",),
    "Dashboard: proposals": (MERCHANT + "proposals",),
    "Dashboard: notifications": (MERCHANT + "notification",),
    "Service": ("/healthz", "/readyz", "/openapi.json", "/openapi.yaml"),
}
"""The path prefixes of each group."""
EVENTS = "Events"
REFERENCE, CODES, TRIAL = "/docs/api", "/docs/api/errors", "/docs/try"


class ReferenceEntry(Struct, frozen=True):
    """An operation, or an event if `path` is empty. `shown` is its part of the document."""

    name: str
    title: str
    group: str
    method: str
    path: str
    shown: Json

    @property
    def about(self) -> str:
        """The summary beside the title."""
        return f"`{self.method} {self.path}`" if self.path else self.shown["description"]


def entries(document: Json) -> dict[str, ReferenceEntry]:
    """All entries by name, ordered by group."""
    found = sorted(_operations(document), key=lambda entry: list(GROUPS).index(entry.group))
    return {entry.name: entry for entry in [*found, *_events(document)]}


def grouped(found: Mapping[str, ReferenceEntry]) -> dict[str, list[ReferenceEntry]]:
    """The entries by group."""
    groups: dict[str, list[ReferenceEntry]] = {}
    for entry in found.values():
        groups.setdefault(entry.group, []).append(entry)
    return groups


def group_of(path: str) -> str:
    """The group of a path."""
    return next(group for group, beginnings in GROUPS.items() if path.startswith(beginnings))


def _operations(document: Json) -> Iterator[ReferenceEntry]:
    for path, methods in document["paths"].items():
        for method, shown in methods.items():
            title = shown["summary"].partition(". ")[0].rstrip(".")
            yield ReferenceEntry(shown["operationId"], title, group_of(path), method.upper(), path, shown)


def _events(document: Json) -> Iterator[ReferenceEntry]:
    for name, methods in document["webhooks"].items():
        yield ReferenceEntry(name, name, EVENTS, "POST", "", methods["post"])


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
