"""The committed records: routes, schema, schema objects, access to tables, their places. Run as a module, it writes them."""

import asyncio
import re
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import asyncpg

from tests import layers_picture, money_table, placement, roles_table, tables
from tests.running import make_template, migrated_database
from tests.sdk import generate_python
from tests.sdk_typescript import generate
from tollhouse.instance import main
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.checks import schema_store
from tollhouse.instance.database import embedded
from tollhouse.platform.database.pool import DatabaseConnection, Tx, connect
from tollhouse.platform.settings.config import SETTINGS

HERE = Path(__file__).parent.parent
ROUTES = HERE / "docs" / "routes.txt"
SCHEMA = HERE / "schema.sql"
TABLES = HERE / "docs" / "tables.txt"
PLACEMENT = HERE / "docs" / "placement.txt"
STATES = HERE / "docs" / "states.md"
SETTINGS_PAGE = HERE / "docs" / "settings.md"
OBJECTS = HERE / "src" / "tollhouse" / "instance" / "checks" / schema_store.RECORD
TRANSITIONS = """
    SELECT record, from_status, string_agg(format('`%s`', to_status), ', ' ORDER BY to_status COLLATE "C") AS to_statuses
    FROM state_transitions GROUP BY record, from_status ORDER BY record COLLATE "C", from_status COLLATE "C"
"""
STATES_HEAD = """# State transitions

Made by `just records` from the table `state_transitions`. A trigger refuses every other change of the status of a row,
or of the review of an outgoing transfer. Statuses that are not in the column From are final.
"""
DEFAULTS = {"TOLLHOUSE_DATA_DIR": "~/.local/share/tollhouse"}
SETTINGS_HEAD = """# Settings

Made by `just records` from the program. [Configuration](configuration.md) says where settings can be written, and what is
checked. A secret can be in a file that the variable in the third column names.

| Setting | Meaning | File | Default |
|---|---|---|---|
"""
T = TypeVar("T")
NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*|)$")


def routes() -> str:
    """Every route."""
    return main.route_table(OPERATIONS)


def schema(server: embedded.Server) -> str:
    """The schema after all migrations, without partitions, which depend on the date, and without the dump's own comments."""
    dsn = asyncio.run(migrated_database(server.cluster.dsn))
    partitions = [f"--exclude-table={name}" for name in asyncio.run(_partitions(dsn))]
    dump = subprocess.run(
        [server.cluster.binaries / "bin" / "pg_dump", "--schema-only", "--no-owner", "--no-privileges", *partitions, dsn],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    lines = [line for line in dump.splitlines() if not NOISE.match(line)]
    return "-- The schema after all migrations. Made by `just records`, compared by a test.\n" + "\n".join(lines) + "\n"


def settings() -> str:
    """All settings, as a page."""
    rows = [
        (setting.name, setting.meaning, setting.file_name, setting.default or DEFAULTS.get(setting.name))
        for setting in SETTINGS
    ]
    return SETTINGS_HEAD + "".join(
        f"| `{name}` | {meaning} | {f'`{file}`' if file else ''} | {f'`{default}`' if default else ''} |\n"
        for name, meaning, file, default in rows
    )


def states(server: embedded.Server) -> str:
    """The state transitions that the database allows, as a page."""
    rows = asyncio.run(_migrated(server, lambda connection: connection.fetch(TRANSITIONS)))
    table = "".join(f"| `{row['record']}` | `{row['from_status']}` | {row['to_statuses']} |\n" for row in rows)
    return f"{STATES_HEAD}\n| Table | From | To |\n|---|---|---|\n{table}"


def schema_objects(server: embedded.Server) -> str:
    """What `tollhouse check` compares a database with."""
    return asyncio.run(_migrated(server, lambda connection: schema_store.record(Tx(DatabaseConnection(connection)))))


async def _migrated(server: embedded.Server, read: Callable[["asyncpg.Connection[asyncpg.Record]"], Awaitable[T]]) -> T:
    """What this reads from a database after all migrations."""
    connection = await connect(await migrated_database(server.cluster.dsn))
    try:
        return await read(connection)
    finally:
        await connection.close()


async def _partitions(dsn: str) -> list[str]:
    connection = await connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT oid::regclass::text AS name FROM pg_class WHERE relispartition AND relkind = 'r'"
        )
        return [row["name"] for row in rows]
    finally:
        await connection.close()


def write() -> None:
    """Write all of them."""
    ROUTES.parent.mkdir(exist_ok=True)
    ROUTES.write_text(routes())
    SETTINGS_PAGE.write_text(settings())
    money_table.PAGE.write_text(money_table.page())
    roles_table.PAGE.write_text(roles_table.page(roles_table.PAGE.read_text()))
    layers_picture.PICTURE.write_text(layers_picture.draw())
    layers_picture.ARCHITECTURE.write_text(layers_picture.architecture())
    generate_python.write()
    with tempfile.TemporaryDirectory() as folder:
        server = embedded.start(Path(folder))
        try:
            asyncio.run(make_template(server.cluster.dsn))
            SCHEMA.write_text(schema(server))
            STATES.write_text(states(server))
            OBJECTS.write_text(schema_objects(server))
            TABLES.write_text(tables.report(SCHEMA.read_text()))
            PLACEMENT.write_text(placement.report(SCHEMA.read_text()))
        finally:
            server.stop()
    if missing := generate.write():
        print(f"The types and the build of the TypeScript SDK stay as they are, because {missing}.")  # noqa: T201 - who runs this must know


if __name__ == "__main__":
    write()
