"""The entries of the reference: each operation and each event of the OpenAPI document, by name and in groups."""

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
"""What belongs together, by how the path begins."""
EVENTS = "Events"


class Entry(Struct, frozen=True):
    """An operation, or an event: `path` is empty for that one. `shown` is what the document says of it."""

    name: str
    title: str
    group: str
    method: str
    path: str
    shown: Json

    @property
    def about(self) -> str:
        """What stands beside the title in a list."""
        return f"`{self.method} {self.path}`" if self.path else self.shown["description"]


def entries(document: Json) -> dict[str, Entry]:
    """All of them, by name, in the order of the groups."""
    found = sorted(_operations(document), key=lambda entry: list(GROUPS).index(entry.group))
    return {entry.name: entry for entry in [*found, *_events(document)]}


def grouped(found: Mapping[str, Entry]) -> dict[str, list[Entry]]:
    """The same by group."""
    groups: dict[str, list[Entry]] = {}
    for entry in found.values():
        groups.setdefault(entry.group, []).append(entry)
    return groups


def group_of(path: str) -> str:
    """The group that a path belongs to; every path has exactly one."""
    return next(group for group, beginnings in GROUPS.items() if path.startswith(beginnings))


def _operations(document: Json) -> Iterator[Entry]:
    for path, methods in document["paths"].items():
        for method, shown in methods.items():
            title = shown["summary"].partition(". ")[0].rstrip(".")
            yield Entry(shown["operationId"], title, group_of(path), method.upper(), path, shown)


def _events(document: Json) -> Iterator[Entry]:
    for name, methods in document["webhooks"].items():
        yield Entry(name, name, EVENTS, "POST", "", methods["post"])
