"""The committed records are true: routes, schema; and every SQL statement of the package prepares."""

import re
from pathlib import Path

import asyncpg
import pytest

from tests import layers_picture, personal_data, placement, records, tables
from tests.running import Service
from tests.tables import statements
from tollhouse.instance.database import embedded

MIGRATIONS = Path(__file__).parent.parent / "src" / "tollhouse" / "platform" / "migrations"
GROWN = ("chain_payouts_enforce", "chargebacks_enforce")
"""Functions that migrations replace as a whole to add to them."""
NAMED = re.compile(r"(?:FROM|JOIN) (\w+)|'(\w+)'")


def test_the_route_table_is_committed() -> None:
    assert records.ROUTES.read_text() == records.routes(), "run `just records`"


def test_the_list_of_settings_is_committed() -> None:
    assert records.SETTINGS_PAGE.read_text() == records.settings(), "run `just records`"


def test_the_picture_of_the_layers_is_committed() -> None:
    assert layers_picture.PICTURE.read_text() == layers_picture.draw(), "run `just records`"
    assert layers_picture.ARCHITECTURE.read_text() == layers_picture.architecture(), "run `just records`"


def test_the_owners_of_tables_are_committed() -> None:
    assert records.TABLES.read_text() == tables.report(records.SCHEMA.read_text()), "run `just records`"


def test_the_places_of_tables_are_committed() -> None:
    assert records.PLACEMENT.read_text() == placement.report(records.SCHEMA.read_text()), "run `just records`"


def test_every_placed_table_exists() -> None:
    found = {one.table for one in placement.placements(records.SCHEMA.read_text())}
    assert {*placement.OWNED, *placement.OWNED.values(), *placement.REFERENCE, *placement.LOCAL} - found == set()


def test_every_listed_key_exists() -> None:
    """So that the lists only become shorter."""
    found = list(placement.placements(records.SCHEMA.read_text()))
    keys = {f"{table.table} ({key.columns})" for table in found for key in table.keys if key.change != "column"}
    assert keys == placement.APPEND | placement.LOOKUP
    assert {f"{table.table} {key}" for table in found for key in table.foreign_keys} == placement.FOREIGN_KEYS


OF_NOBODY = "CREATE TABLE public.new_things (\n    id uuid NOT NULL\n);\n"
OF_MERCHANTS = "CREATE TABLE public.new_things (\n    id uuid NOT NULL,\n    merchant_id uuid NOT NULL\n);\n"
ADD = "ALTER TABLE ONLY public.new_things\n    ADD CONSTRAINT new"
MERCHANTS = "CREATE TABLE public.merchants (\n    id uuid NOT NULL\n);\n"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (OF_NOBODY, "place the table"),
        (f"{OF_MERCHANTS}{ADD} PRIMARY KEY (id);", r"the key new_things \(id\) has no merchant_id"),
        (f"{OF_MERCHANTS}CREATE UNIQUE INDEX a ON public.new_things USING btree (id);", "the key new_things"),
        (f"{OF_MERCHANTS}{ADD} FOREIGN KEY (id) REFERENCES public.new_things(id);", "the foreign key new_things"),
    ],
)
def test_what_a_node_could_not_keep_is_refused(schema: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        list(placement.placements(schema))


def test_an_id_stays_unique_where_the_key_has_the_merchant() -> None:
    """By the digest of the row, whose key is `(kind, id)`, as long as there is one database."""
    schema = records.SCHEMA.read_text()
    tables = re.findall(
        r"ALTER TABLE ONLY public\.(\w+)\s+ADD CONSTRAINT \w+ PRIMARY KEY \(id, merchant_id, mode\);", schema
    )
    assert {"payment_links", "refunds", "withdrawals", "fulfillments", "balance_payments"} <= set(tables)
    for table in tables:
        assert f"CREATE TRIGGER digested AFTER INSERT ON public.{table} FOR EACH ROW EXECUTE FUNCTION" in schema


def test_keys_with_the_merchant_and_foreign_keys_to_references_are_kept() -> None:
    keys = f"{ADD} PRIMARY KEY (id, merchant_id);\n{ADD} FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);"
    found = {one.table: one for one in placement.placements(f"{MERCHANTS}{OF_MERCHANTS}{keys}")}
    assert found["new_things"] == placement.Placement("new_things", "distributed", "", (), ())


def test_every_text_column_is_personal_or_not() -> None:
    """Another column that can name a person belongs into `docs/personal-data.md`, with what erasure does about it."""
    columns = set(personal_data.columns(records.SCHEMA.read_text()))
    personal = personal_data.listed()
    technical = {column for column in columns if personal_data.is_technical(*column)}
    assert sorted(columns - personal - technical) == [], "list the column in docs/personal-data.md or tests/personal_data.py"
    assert sorted(personal - columns) == [], "the document lists a column that does not exist"
    assert sorted(personal & technical) == [], "the column is listed as both"


def test_every_table_has_one_writer() -> None:
    writers = {name: sorted(access.writers) for name, access in tables.access(records.SCHEMA.read_text()).items()}
    assert {name: packages for name, packages in writers.items() if len(packages) > 1} == tables.SHARED


def test_the_schema_is_committed(server: embedded.Server) -> None:
    assert records.SCHEMA.read_text() == records.schema(server), "run `just records`"


def test_the_schema_does_not_depend_on_the_date() -> None:
    assert re.findall(r"_20[0-9]{4,}", records.SCHEMA.read_text()) == []


def test_the_state_transitions_are_committed(server: embedded.Server) -> None:
    assert records.STATES.read_text() == records.states(server), "run `just records`"


def test_the_list_of_schema_objects_is_committed(server: embedded.Server) -> None:
    assert records.OBJECTS.read_text() == records.schema_objects(server), "run `just records`"


def test_no_statement_selects_every_column() -> None:
    """A prepared `SELECT *` fails in running processes as soon as a migration adds a column.

    Those of a CTE or of a sub-select are named in it.
    """
    for name, sql in statements():
        outer, inner = sql, ""
        while outer != inner:
            inner, outer = outer, re.sub(r"\([^()]*\)", "", outer)
        assert not re.search(r"\b(SELECT|RETURNING)\s+\*(?! FROM unnest)", outer), name
        for alias in re.findall(r"\b(\w+)\.\*", outer):
            assert re.search(rf"\b{alias} AS\b|\bLATERAL\s+AS {alias}\b", outer), name


async def test_every_statement_prepares(service: Service) -> None:
    connection = await asyncpg.connect(service.dsn)
    try:
        found = list(statements())
        assert len(found) > 30
        for name, sql in found:
            try:
                await connection.prepare(sql)
            except asyncpg.PostgresError as problem:
                pytest.fail(f"{name}: {problem}")
    finally:
        await connection.close()


@pytest.mark.parametrize("function", GROWN)
def test_a_migration_that_replaces_a_function_keeps_what_it_has(function: str) -> None:
    """Two migrations that are written side by side begin with the same function: the second one must have both."""
    end = r"\(.*?\n(?:END )?\$\$(?: LANGUAGE \w+)?;"
    definition = re.compile(rf"CREATE (?:OR REPLACE )?FUNCTION {function}{end}", re.DOTALL)
    before = set[str]()
    for path in sorted(MIGRATIONS.glob("*.sql")):
        for text in definition.findall(path.read_text()):
            names = {name for pair in NAMED.findall(text) for name in pair if name}
            assert before <= names, f"{path.name} drops {', '.join(sorted(before - names))} from {function}"
            before = names
    assert before
