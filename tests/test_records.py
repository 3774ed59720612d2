"""The committed records are true: routes, schema; and every SQL statement of the package prepares."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import asyncpg
import pytest

import tollhouse
from tests import records
from tests.running import Service
from tollhouse.platform import digests_store, embedded

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


def statements() -> Iterator[tuple[str, str]]:
    """Every upper-case string constant of the package that is a statement."""
    for module in pkgutil.walk_packages(tollhouse.__path__, "tollhouse."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.isupper() and isinstance(value, str) and value.lstrip().startswith(VERBS):
                yield f"{module.name}.{name}", value
    for made in (digests_store.PAGES, digests_store.CHANGES):
        yield from made.items()


def test_the_route_table_is_committed() -> None:
    assert records.ROUTES.read_text() == records.routes(), "run `just records`"


def test_the_schema_is_committed(server: embedded.Server) -> None:
    assert records.SCHEMA.read_text() == records.schema(server), "run `just records`"


def test_the_schema_does_not_depend_on_the_date() -> None:
    assert re.findall(r"_20[0-9]{4,}", records.SCHEMA.read_text()) == []


def test_the_list_of_schema_objects_is_committed(server: embedded.Server) -> None:
    assert records.OBJECTS.read_text() == records.schema_objects(server), "run `just records`"


async def test_every_statement_prepares(service: Service) -> None:
    connection = await asyncpg.connect(service.dsn)
    try:
        found = list(statements())
        assert len(found) > 30
        for name, sql in found:
            try:
                await connection.prepare(sql)
            except asyncpg.PostgresError as fault:
                pytest.fail(f"{name}: {fault}")
    finally:
        await connection.close()
