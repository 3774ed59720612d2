"""`tollhouse database upgrade`: the embedded database in the major version of PostgreSQL that this program carries."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.backup import archive as backup
from tollhouse.instance.backup.encryption import BackupError
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.cli.options import stderr
from tollhouse.instance.database import embedded
from tollhouse.instance.database import upgrade as database_upgrade
from tollhouse.platform.database import migrations
from tollhouse.platform.database.pool import connected
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.gate import pauses_store

app = App(name="database", help="Maintain the embedded database.")

Binaries = Annotated[Path, Parameter(help="Folder of the old PostgreSQL's programs, such as /usr/lib/postgresql/17/bin.")]


@app.command
def upgrade(*, binaries: Binaries) -> int:
    """Move the embedded database to a newer major version of PostgreSQL, and check it. The old files stay."""
    settings = config.load()
    if settings.database_url is not None:
        raise BackupError("This is for the embedded database. Upgrade your PostgreSQL with its own tools.")
    data_dir = settings.data_dir.absolute()
    with embedded.sole_supervisor(data_dir):
        old = database_upgrade.find_old(data_dir, binaries)
        settings = supervisor.with_keys(settings)
        dump = old.folder / database_upgrade.DUMP
        try:
            stderr.print(f"Dumping the database of PostgreSQL {old.major} …")
            server = database_upgrade.start(old)
            try:
                is_own = asyncio.run(_is_own(old.dsn))
                backup.dump(old.dsn, dump, old.binaries / "bin")
            finally:
                server.stop()
            new = database_upgrade.begin_new(data_dir)
            stderr.print(f"Loading it into PostgreSQL {new.major} …")
            server = database_upgrade.start(new)
            try:
                backup.load(new.dsn, dump)
                broken = asyncio.run(_complete(new.settings(settings), is_own=is_own))
            finally:
                server.stop()
        finally:
            dump.unlink(missing_ok=True)
        database_upgrade.replace(data_dir, old, new)
    for line in broken:
        print(line)
    result = f"but {len(broken)} invariants are broken." if broken else "and all invariants hold."
    stderr.print(f"The database is of PostgreSQL {new.major} now, {result} Delete {old.data} when you no longer need it.")
    return 1 if broken else 0


async def _is_own(dsn: str) -> bool:
    """Whether the old database is not a copy, whose payouts are paused."""
    async with connected(dsn) as tx, tx.raw.transaction():
        return await pauses_store.has_own_identity(tx)


async def _complete(settings: Settings, *, is_own: bool) -> list[str]:
    """Migrate the new database and check it. Returns the broken invariants.

    It replaces the old one, so payouts go on; those of a copy stay paused.
    """
    if is_own:
        async with connected(settings.migration_database_url or "") as tx, tx.raw.transaction():
            await pauses_store.take_identity(tx)
    for name in await migrations.migrate(settings.database_url or "", settings.migration_database_url):
        stderr.print(f"Migrated: {name}", markup=False)
    await root.verify(settings)
    stderr.print("Checking the invariants …")
    result = await check(settings.database_url or "", Scope(full=True))
    return [] if result is None else result.broken
