"""`tollhouse backup` and `tollhouse restore`: everything in one file, and a service that is proved to be whole after it."""

import asyncio
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.checks.run import Scope, check
from tollhouse.kernel import clock
from tollhouse.platform import backup, backup_store, config, embedded, migrations
from tollhouse.platform.backup import BackupError, Manifest, Opened
from tollhouse.platform.config import Settings
from tollhouse.platform.db import connect
from tollhouse.platform.encryption import KeyRing
from tollhouse.short_commands import database

talk = Console(stderr=True, highlight=False)
WithoutKeys = Annotated[bool, Parameter(name="--without-keys", negative=(), help="Leave the key ring out.")]
Backup = Annotated[Path, Parameter(help="A file that `tollhouse backup` wrote.")]


def write_backup(
    target: Annotated[Path, Parameter(help="The file to write, or a folder for it.")], *, without_keys: WithoutKeys = False
) -> None:
    """Write a backup of the database and the key ring into one file, beside a running service. See docs/backup.md."""
    moment = clock.now()
    with database() as settings:
        file = backup.target(target, f"{moment:%Y%m%dT%H%M%SZ}")
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
    """Restore a backup into an empty data folder, or the empty database of DATABASE_URL, then check it."""
    settings = config.load()
    with backup.unpacked(file) as opened:
        if opened.manifest.migration > migrations.ours()[-1].number:
            raise BackupError(f"{file} is of a newer version of Tollhouse ({opened.manifest.program}): install that")
        if settings.database_url is None:
            broken = _into_data_folder(settings, opened)
        else:
            broken = asyncio.run(_into_database(settings, opened))
    for line in broken:
        print(line)
    talk.print("Restored. All invariants hold." if not broken else f"Restored, but {len(broken)} invariants are broken.")
    return 1 if broken else 0


def _into_data_folder(settings: Settings, opened: Opened) -> list[str]:
    """Restored beside the data folder, and renamed when it is complete."""
    folder = settings.data_dir.absolute()
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty: name a new folder in TOLLHOUSE_DATA_DIR")
    settings = _with_ring(settings, opened)
    aside = folder.with_name(f"{folder.name}.restoring")
    shutil.rmtree(aside, ignore_errors=True)
    with embedded.sole_supervisor(aside):
        server = embedded.start(aside)
        try:
            urls = {"database_url": server.cluster.application_dsn, "migration_database_url": server.cluster.dsn}
            broken = asyncio.run(_into_database(msgspec.structs.replace(settings, **urls), opened))
        finally:
            server.stop()
        if opened.keys is not None:
            supervisor.keep_keys(aside, opened.keys)
    aside.rename(folder)
    return broken


async def _into_database(settings: Settings, opened: Opened) -> list[str]:
    _compare_ring(settings, opened)
    owner = settings.migration_database_url or settings.database_url or ""
    connection = await connect(owner)
    try:
        if not await connection.fetchval(backup_store.IS_EMPTY):
            raise BackupError("the database is not empty: create a new one, and name it in DATABASE_URL")
    finally:
        await connection.close()
    talk.print("Loading the dump.")
    await asyncio.to_thread(backup.load, owner, opened.dump)
    for name in await migrations.migrate(settings.database_url or "", settings.migration_database_url):
        talk.print(f"Migrated: {name}", markup=False)
    await root.verify(settings)
    talk.print("Checking it.")
    report = await check(settings.database_url or "", Scope(full=True))
    return [] if report is None else report.broken


def _with_ring(settings: Settings, opened: Opened) -> Settings:
    """The settings with the ring that is set, else with that of the backup."""
    if settings.secret_keys:
        return settings
    if opened.keys is None:
        raise BackupError("the backup has no key ring: set TOLLHOUSE_SECRET_KEYS to the one that belongs to it")
    return msgspec.structs.replace(settings, secret_keys=config.key_ring(opened.keys))


def _compare_ring(settings: Settings, opened: Opened) -> None:
    """Raises `BackupError` where the ring lacks a key of the backup, before anything is restored."""
    ours, theirs = _check_values(settings), opened.manifest.check_values
    if lacking := [key_id for key_id, check_value in theirs.items() if ours.get(key_id) != check_value]:
        raise BackupError(
            f"TOLLHOUSE_SECRET_KEYS does not have the backup's key {', '.join(lacking)}: the ring is the backup's member "
            f"{backup.KEYS}, unless it was left out"
        )


def _check_values(settings: Settings) -> dict[str, str]:
    return {key_id: value.hex() for key_id, value in KeyRing(settings.secret_keys).check_values.items()}
