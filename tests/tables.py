"""Which package writes each table, and which read it: found in the SQL constants of the package."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import tollhouse
from tollhouse.accounts.identity import users_store
from tollhouse.platform.database import digests_store

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+(?:ONLY\s+)?(\w+)")
READS = re.compile(r"\b(?:FROM|JOIN|USING)\s+(?:ONLY\s+)?(\w+)")
BY_FUNCTION = "(function)"
"""Written by a function of the database alone: the ledger's `ledger_post`."""
SHARED: Mapping[str, list[str]] = {
    "oauth_codes": ["accounts.identity", "oauth"],
    "oauth_grants": ["accounts.identity", "oauth"],
}
"""Tables that more than one package writes, each a debt: a new one is not allowed, and one that is paid leaves the list."""


@dataclass
class Access:
    """The packages that write a table, and those that read it."""

    writers: set[str] = field(default_factory=set[str])
    readers: set[str] = field(default_factory=set[str])


def statements() -> Iterator[tuple[str, str]]:
    """Every upper-case string constant of the package that is a statement, with its module and name."""
    for module in pkgutil.walk_packages(tollhouse.__path__, "tollhouse."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.isupper() and isinstance(value, str) and value.lstrip().startswith(VERBS):
                yield f"{module.name}.{name}", value
    for store, by_table in (
        (digests_store, digests_store.PAGES),
        (digests_store, digests_store.CHANGES),
        (users_store, users_store.DELETE_WITH_USER),
    ):
        yield from ((f"{store.__name__}.{table}", statement) for table, statement in by_table.items())


def access(schema: str) -> dict[str, Access]:
    """By table of the schema."""
    found = {name: Access() for name in sorted(re.findall(r"^CREATE TABLE public\.(\w+)", schema, re.MULTILINE))}
    for name, statement in statements():
        package = name.removeprefix("tollhouse.").rpartition(".")[0].rpartition(".")[0]
        for table in WRITES.findall(statement):
            if table in found:
                found[table].writers.add(package)
        for table in READS.findall(statement):
            if table in found:
                found[table].readers.add(package)
    for table in found.values():
        table.readers -= table.writers
    return found


def report(schema: str) -> str:
    """One line for each table: its name, the package that writes it, and those that only read it."""
    lines = [f"{'table':32} {'written by':28} read by"]
    for name, table in access(schema).items():
        lines.append(
            f"{name:32} {' '.join(sorted(table.writers)) or BY_FUNCTION:28} {' '.join(sorted(table.readers))}".rstrip()
        )
    return "\n".join(lines) + "\n"
