"""`tollhouse restore`: load a backup into an empty database, pause its payouts, and check it."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tollhouse.accounts.identity import users_store
from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.backup import archive as backup
from tollhouse.instance.backup import store, wal_archive
from tollhouse.instance.backup.archive import Manifest, OpenedBackup
from tollhouse.instance.backup.encryption import BackupError
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.cli.options import stderr
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.clock import parse_time
from tollhouse.platform.database import migrations
from tollhouse.platform.database.pool import connected
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.settings import config
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.gate import gate

Backup = Annotated[Path, Parameter(help="A file that `tollhouse backup` wrote, or the folder of a WAL archive.")]
IdentityFile = Annotated[Path | None, Parameter(help="The file of the age identity, if the backup is encrypted.")]
KeysFile = Annotated[Path | None, Parameter(help="The key ring, if it was written to a file of its own.")]

ToTime = Annotated[str | None, Parameter(help="Recover until this time, such as 2026-11-23T10:15:00Z.")]


def restore_backup(file: Backup, /, *, identity: IdentityFile = None, keys: KeysFile = None, to_time: ToTime = None) -> int:
    """Restore a backup into an empty data folder, or into the empty database of DATABASE_URL, and check it.

    From a WAL archive, the database is recovered to a point in time, into an empty data folder.
    """
    settings = config.load()
    if file.is_dir():
        if settings.database_url is not None:
            raise BackupError("A WAL archive is restored into a data folder. Unset DATABASE_URL.")
        ring = None if keys is None else backup.read_keys(keys, identity)
        until = point_in_time(to_time)
        return report(from_archive(settings, settings.data_dir.absolute(), file.absolute(), ring, until))
    if to_time is not None:
        raise BackupError("--to-time needs the folder of a WAL archive, not a file.")
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
    stderr.print(
        "People who were erased since the backup are in it again: `tollhouse person repeat FILE` (docs/personal-data.md)."
    )
    return 1 if broken else 0


@contextmanager
def open_backup(file: Path, identity: Path | None, keys: Path | None) -> Iterator[OpenedBackup]:
    """An unpacked backup of this or an earlier version, with the key ring of its own file if there is one.

    Raises `BackupError`.
    """
    with backup.unpack(file, identity) as opened:
        require_this_version(file, opened.manifest)
        if keys is not None:
            opened = msgspec.structs.replace(opened, keys=backup.read_keys(keys, identity))  # noqa: PLW2901
        yield opened


def into_data_folder(settings: Settings, folder: Path, opened: OpenedBackup) -> list[str]:
    """Restore into a folder beside the data folder and rename it when it is complete. Returns the broken invariants."""
    settings = with_key_ring(settings, opened.keys)
    with new_data_folder(folder, opened.keys) as temporary:
        server = embedded.start(temporary)
        try:
            return asyncio.run(_into_database(server.cluster.settings(settings), opened))
        finally:
            server.stop()


def from_archive(settings: Settings, folder: Path, archive: Path, ring: str | None, until: datetime | None) -> list[str]:
    """Recover into a folder beside the data folder and rename it when it is complete. Returns the broken invariants.

    `until` is the point in time; None for the end of the archive. `ring` is the text of the key ring, if none is configured.
    """
    base = wal_archive.base_before(archive, until)
    require_this_version(base.folder, base.manifest)
    settings = with_key_ring(settings, ring)
    require_keys(settings, base.manifest.check_values)
    with new_data_folder(folder, ring) as temporary:
        stderr.print(f"Unpacking the base backup of {base.manifest.created_at} …")
        wal_archive.unpack(base, archive, embedded.locate(temporary))
        stderr.print("Replaying the WAL …")
        server = wal_archive.recover(temporary, until)
        try:
            settings = server.cluster.settings(settings)
            data_until = until or asyncio.run(_last_recovered_at(server.cluster.dsn))
            return asyncio.run(finish(settings, clock.stamp(data_until) if data_until else base.manifest.created_at))
        finally:
            server.stop()


def point_in_time(text: str | None) -> datetime | None:
    """The time to recover to; None for the end of the archive. Raises `BackupError`."""
    if text is None:
        return None
    moment = parse_time(text)
    if moment is None:
        raise BackupError(f"{text} is not a time. Write it like 2026-11-23T10:15:00Z.")
    return moment


async def _last_recovered_at(dsn: str) -> datetime | None:
    async with connected(dsn) as tx:
        return await tx.fetchval(store.LAST_RECOVERED_AT)


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
    async with connected(owner) as tx:
        if not await tx.fetchval(store.IS_EMPTY):
            raise BackupError("The database is not empty. Create a new one and set DATABASE_URL to it.")
    stderr.print("Loading the dump …")
    await asyncio.to_thread(backup.load, owner, opened.dump)
    return await finish(settings, opened.manifest.created_at)


async def finish(settings: Settings, data_until: str) -> list[str]:
    """Migrate a restored database, pause its payouts, end its sessions and check it. Returns the broken invariants.

    `data_until` is when the backup was taken, or the point in time that the database was recovered to.
    """
    for name in await migrations.migrate(settings.database_url or "", settings.migration_database_url):
        stderr.print(f"Migrated: {name}", markup=False)
    moment, now = parse_time(data_until), clock.now()
    if moment is None:
        raise BackupError(f"{data_until} is not a time.")
    async with connected(settings.migration_database_url or settings.database_url or "") as tx, tx.raw.transaction():
        await gate.pause_restored(tx, moment, now)
        await users_store.end_sessions(tx, now)
    await root.verify(settings)
    stderr.print("Checking the invariants …")
    result = await check(settings.database_url or "", Scope(full=True))
    return [] if result is None else result.broken


def require_this_version(file: Path, manifest: Manifest) -> None:
    """Raise `BackupError` if a newer program than this wrote the backup, or one whose databases this one cannot upgrade."""
    ours = migrations.ours()
    if manifest.migration > ours[-1].number:
        raise BackupError(f"{file} was written by a newer version of Tollhouse ({manifest.program}). Install that version.")
    try:
        migrations.refuse_older(manifest.migration, ours[0])
    except migrations.DatabaseTooOldError as error:
        raise BackupError(f"{file} cannot be restored by this version: {error}.") from None


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
