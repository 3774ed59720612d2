"""`tollhouse restore`: load a backup into an empty database, pause its payouts, and check it."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.checks.run import Scope, check
from tollhouse.cli.options import stderr
from tollhouse.identity import restored_store
from tollhouse.kernel import clock
from tollhouse.kernel.clock import parse_time
from tollhouse.outgoing import pauses
from tollhouse.platform import backup, backup_store, config, embedded, migrations, setting_values
from tollhouse.platform.backup import OpenedBackup
from tollhouse.platform.backup_encryption import BackupError
from tollhouse.platform.config import Settings
from tollhouse.platform.db import DatabaseConnection, Tx, connect
from tollhouse.platform.encryption import KeyRing

Backup = Annotated[Path, Parameter(help="A file that `tollhouse backup` wrote.")]
IdentityFile = Annotated[Path | None, Parameter(help="The file of the age identity, if the backup is encrypted.")]
KeysFile = Annotated[Path | None, Parameter(help="The key ring, if it was written to a file of its own.")]


def restore_backup(file: Backup, /, *, identity: IdentityFile = None, keys: KeysFile = None) -> int:
    """Restore a backup into an empty data folder, or into the empty database of DATABASE_URL, and check it."""
    settings = config.load()
    with open_backup(file, identity, keys) as opened:
        if settings.database_url is None:
            broken = into_data_folder(settings, settings.data_dir.absolute(), opened)
        else:
            broken = asyncio.run(_into_database(settings, opened))
    return report(broken)


def report(broken: list[str]) -> int:
    """Print the result of a restore. Returns the exit status."""
    for line in broken:
        print(line)
    stderr.print(f"Restored, but {len(broken)} invariants are broken." if broken else "Restored. All invariants hold.")
    stderr.print(
        "Payouts are paused. Import the bank statements since the backup, then run "
        "`tollhouse operator payouts resume --reason …` (docs/backup.md)."
    )
    return 1 if broken else 0


@contextmanager
def open_backup(file: Path, identity: Path | None, keys: Path | None) -> Iterator[OpenedBackup]:
    """An unpacked backup of this or an earlier version, with the key ring of its own file if there is one.

    Raises `BackupError`.
    """
    with backup.unpack(file, identity) as opened:
        if opened.manifest.migration > migrations.ours()[-1].number:
            raise BackupError(
                f"{file} was written by a newer version of Tollhouse ({opened.manifest.program}). Install that version."
            )
        if keys is not None:
            opened = msgspec.structs.replace(opened, keys=backup.read_keys(keys, identity))  # noqa: PLW2901
        yield opened


def into_data_folder(settings: Settings, folder: Path, opened: OpenedBackup) -> list[str]:
    """Restore into a folder beside the data folder and rename it when it is complete. Returns the broken invariants."""
    settings = with_key_ring(settings, opened.keys)
    with new_data_folder(folder, opened.keys) as temporary:
        server = embedded.start(temporary)
        try:
            urls = {"database_url": server.cluster.application_dsn, "migration_database_url": server.cluster.dsn}
            return asyncio.run(_into_database(msgspec.structs.replace(settings, **urls), opened))
        finally:
            server.stop()


@contextmanager
def new_data_folder(folder: Path, keys: str | None) -> Iterator[Path]:
    """A folder beside an empty data folder, which gets its name when the block has ended without an error."""
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty. Set TOLLHOUSE_DATA_DIR to a new folder.")
    temporary = folder.with_name(f"{folder.name}.restoring")
    shutil.rmtree(temporary, ignore_errors=True)
    with embedded.sole_supervisor(temporary):
        yield temporary
        if keys is not None:
            supervisor.write_keys(temporary, keys)
    temporary.rename(folder)


async def _into_database(settings: Settings, opened: OpenedBackup) -> list[str]:
    require_keys(settings, opened.manifest.check_values)
    owner = settings.migration_database_url or settings.database_url or ""
    connection = await connect(owner)
    try:
        if not await connection.fetchval(backup_store.IS_EMPTY):
            raise BackupError("The database is not empty. Create a new one and set DATABASE_URL to it.")
    finally:
        await connection.close()
    stderr.print("Loading the dump …")
    await asyncio.to_thread(backup.load, owner, opened.dump)
    return await finish(settings, opened.manifest.created_at)


async def finish(settings: Settings, data_until: str) -> list[str]:
    """Migrate a restored database, pause its payouts, end its sessions and check it. Returns the broken invariants.

    `data_until` is when the backup was taken, or the point in time that the database was recovered to.
    """
    for name in await migrations.migrate(settings.database_url or "", settings.migration_database_url):
        stderr.print(f"Migrated: {name}", markup=False)
    connection = await connect(settings.migration_database_url or settings.database_url or "")
    moment = parse_time(data_until)
    if moment is None:
        raise BackupError(f"{data_until} is not a time.")
    try:
        async with connection.transaction():
            tx, now = Tx(DatabaseConnection(connection)), clock.now()
            await pauses.pause_restored(tx, moment, now)
            await restored_store.end_sessions(tx, now)
    finally:
        await connection.close()
    await root.verify(settings)
    stderr.print("Checking the invariants …")
    result = await check(settings.database_url or "", Scope(full=True))
    return [] if result is None else result.broken


def with_key_ring(settings: Settings, keys: str | None) -> Settings:
    """The settings with the configured key ring, or with that of the backup if none is configured."""
    if settings.secret_keys:
        return settings
    if keys is None:
        raise BackupError("The backup has no key ring. Set TOLLHOUSE_SECRET_KEYS to its key ring, or name its file: --keys.")
    return msgspec.structs.replace(settings, secret_keys=setting_values.key_ring(keys))


def require_keys(settings: Settings, theirs: dict[str, str]) -> None:
    """Raise `BackupError` if the key ring lacks a key of the backup, by the check values of its manifest."""
    ours = check_values(settings)
    if missing := [key_id for key_id, check_value in theirs.items() if ours.get(key_id) != check_value]:
        raise BackupError(
            f"TOLLHOUSE_SECRET_KEYS does not have the backup's key {', '.join(missing)}. The key ring is in the file "
            f"{backup.KEYS} of the backup, or in the file that was written with --keys."
        )


def check_values(settings: Settings) -> dict[str, str]:
    """The check values of the key ring, in hexadecimal by key id."""
    return {key_id: value.hex() for key_id, value in KeyRing(settings.secret_keys).check_values.items()}
