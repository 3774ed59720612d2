"""`tollhouse backup` and `tollhouse restore`: the database and the key ring in one file, checked after a restore."""

import asyncio
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.checks.run import Scope, check
from tollhouse.cli.database import database
from tollhouse.cli.options import stderr
from tollhouse.kernel import clock
from tollhouse.platform import backup, backup_store, config, embedded, migrations, setting_values
from tollhouse.platform.backup import BackupError, Manifest, OpenedBackup
from tollhouse.platform.config import Settings
from tollhouse.platform.db import connect
from tollhouse.platform.encryption import KeyRing

WithoutKeys = Annotated[bool, Parameter(name="--without-keys", negative=(), help="Do not include the key ring.")]
Backup = Annotated[Path, Parameter(help="A file that `tollhouse backup` wrote.")]


def write_backup(
    target: Annotated[Path, Parameter(help="The file to write, or its folder.")], *, without_keys: WithoutKeys = False
) -> None:
    """Write the database and the key ring to one file. The service can keep running. See docs/backup.md."""
    moment = clock.now()
    with database() as settings:
        file = backup.output_path(target, f"{moment:%Y%m%dT%H%M%SZ}")
        owner = settings.migration_database_url or settings.database_url or ""
        asyncio.run(root.verify(settings))
        manifest = Manifest(
            created_at=clock.stamp(moment),
            program=version("tollhouse"),
            migration=migrations.ours()[-1].number,
            check_values=_check_values(settings),
        )
        backup.write(owner, file, manifest, None if without_keys else supervisor.keys_text(settings))
    print(file)


def restore_backup(file: Backup) -> int:
    """Restore a backup into an empty data folder, or into the empty database of DATABASE_URL, and check it."""
    settings = config.load()
    with backup.unpack(file) as opened:
        if opened.manifest.migration > migrations.ours()[-1].number:
            raise BackupError(
                f"{file} was written by a newer version of Tollhouse ({opened.manifest.program}). Install that version."
            )
        if settings.database_url is None:
            broken = _into_data_folder(settings, opened)
        else:
            broken = asyncio.run(_into_database(settings, opened))
    for line in broken:
        print(line)
    stderr.print(f"Restored, but {len(broken)} invariants are broken." if broken else "Restored. All invariants hold.")
    return 1 if broken else 0


def _into_data_folder(settings: Settings, opened: OpenedBackup) -> list[str]:
    """Restore into a folder beside the data folder and rename it when it is complete."""
    folder = settings.data_dir.absolute()
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty. Set TOLLHOUSE_DATA_DIR to a new folder.")
    settings = _with_key_ring(settings, opened)
    temporary = folder.with_name(f"{folder.name}.restoring")
    shutil.rmtree(temporary, ignore_errors=True)
    with embedded.sole_supervisor(temporary):
        server = embedded.start(temporary)
        try:
            urls = {"database_url": server.cluster.application_dsn, "migration_database_url": server.cluster.dsn}
            broken = asyncio.run(_into_database(msgspec.structs.replace(settings, **urls), opened))
        finally:
            server.stop()
        if opened.keys is not None:
            supervisor.write_keys(temporary, opened.keys)
    temporary.rename(folder)
    return broken


async def _into_database(settings: Settings, opened: OpenedBackup) -> list[str]:
    _require_keys(settings, opened)
    owner = settings.migration_database_url or settings.database_url or ""
    connection = await connect(owner)
    try:
        if not await connection.fetchval(backup_store.IS_EMPTY):
            raise BackupError("The database is not empty. Create a new one and set DATABASE_URL to it.")
    finally:
        await connection.close()
    stderr.print("Loading the dump …")
    await asyncio.to_thread(backup.load, owner, opened.dump)
    for name in await migrations.migrate(settings.database_url or "", settings.migration_database_url):
        stderr.print(f"Migrated: {name}", markup=False)
    await root.verify(settings)
    stderr.print("Checking the invariants …")
    report = await check(settings.database_url or "", Scope(full=True))
    return [] if report is None else report.broken


def _with_key_ring(settings: Settings, opened: OpenedBackup) -> Settings:
    """The settings with the configured key ring, or with that of the backup if none is configured."""
    if settings.secret_keys:
        return settings
    if opened.keys is None:
        raise BackupError("The backup has no key ring. Set TOLLHOUSE_SECRET_KEYS to its key ring.")
    return msgspec.structs.replace(settings, secret_keys=setting_values.key_ring(opened.keys))


def _require_keys(settings: Settings, opened: OpenedBackup) -> None:
    """Raise `BackupError` if the key ring lacks a key of the backup."""
    ours, theirs = _check_values(settings), opened.manifest.check_values
    if missing := [key_id for key_id, check_value in theirs.items() if ours.get(key_id) != check_value]:
        raise BackupError(
            f"TOLLHOUSE_SECRET_KEYS does not have the backup's key {', '.join(missing)}. The key ring is in the file "
            f"{backup.KEYS} of the backup, unless it was written with --without-keys."
        )


def _check_values(settings: Settings) -> dict[str, str]:
    return {key_id: value.hex() for key_id, value in KeyRing(settings.secret_keys).check_values.items()}
