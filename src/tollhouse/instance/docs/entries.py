"""The entries of the API reference: operations and events of the OpenAPI document, by name and group."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
INTEGRATION, MERCHANT = "/api/v2/integration/", "/api/v2/merchant/"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "OAuth": ("/.well-known/", "/api/v2/oauth/"),
    "Account, currencies and projects": tuple(
        INTEGRATION + name for name in ("account", "currencies", "payment-methods", "projects")
    ),
    "Payment links": (INTEGRATION + "payment-links",),
    "Transactions and refunds": (INTEGRATION + "transactions", INTEGRATION + "refunds"),
    "Disputes": (INTEGRATION + "disputes",),
    "Balances and ledger": (INTEGRATION + "balances", INTEGRATION + "ledger"),
    "Balance payments": (INTEGRATION + "balance-payments",),
    "Withdrawals": (INTEGRATION + "withdrawal",),
    "Conversions": (INTEGRATION + "conversion",),
    "Fulfillments": (INTEGRATION + "fulfillment",),
    "Webhooks": (INTEGRATION + "webhook",),
    "Settings and reports": (INTEGRATION + "settings", INTEGRATION + "reports"),
    "Test environment": (INTEGRATION + "test/",),
    "Dashboard: users and API keys": tuple(MERCHANT + name for name in ("signup", "login", "logout", "session", "api-keys")),
    "Dashboard: applications and connections": (MERCHANT + "oauth/",),
    "Dashboard: projects and webhook secret": (MERCHANT + "projects", MERCHANT + "webhook-secret"),
    "Service": ("/healthz", "/readyz", "/openapi.json", "/openapi.yaml"),
}
"""The path prefixes of each group."""
EVENTS = "Events"


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
