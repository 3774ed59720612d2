"""`tollhouse backup`: the database and the key ring in one file, a drill of its restore, and identities for encryption."""

import asyncio
import tempfile
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, validators

from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.backup import archive as backup
from tollhouse.instance.backup import encryption as backup_encryption
from tollhouse.instance.backup import wal_archive, wal_receiver
from tollhouse.instance.backup.archive import Manifest
from tollhouse.instance.backup.encryption import BackupError
from tollhouse.instance.cli.actions import database
from tollhouse.instance.cli.options import stderr
from tollhouse.instance.cli.restore import (
    Backup,
    IdentityFile,
    KeysFile,
    check_values,
    from_archive,
    into_data_folder,
    open_backup,
)
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.platform.database import migrations
from tollhouse.platform.database.pool import connected
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import Settings

app = App(name="backup", help="Back up the database and the key ring, and verify backups. See docs/backup.md.")

WithoutKeys = Annotated[bool, Parameter(name="--without-keys", negative=(), help="Do not include the key ring.")]
Recipients = Annotated[
    list[str] | None, Parameter(name="--encrypt-to", negative=(), help="Encrypt for this age recipient (age1…). Repeatable.")
]
Unencrypted = Annotated[bool, Parameter(negative=(), help="Keep the key ring in the backup unencrypted.")]
UNENCRYPTED = (
    "The key ring is in this backup unencrypted: readers of the file can read every secret. Encrypt it with "
    "--encrypt-to, or keep the key ring elsewhere with --keys or --without-keys. From the next version on, a backup "
    "without encryption needs --unencrypted."
)
KeysOut = Annotated[Path | None, Parameter(name="--keys", help="Write the key ring to this file instead.")]


@app.default
def write_backup(
    target: Annotated[Path, Parameter(help="The file to write, or its folder.")],
    *,
    keys: KeysOut = None,
    without_keys: WithoutKeys = False,
    encrypt_to: Recipients = None,
    unencrypted: Unencrypted = False,
) -> None:
    """Write the database and the key ring to one file. The service can keep running."""
    recipients = backup_encryption.recipients(encrypt_to or [])
    moment = clock.now()
    with database() as settings:
        file = backup.output_path(target, f"{moment:%Y%m%dT%H%M%SZ}", is_encrypted=bool(recipients))
        owner = settings.migration_database_url or settings.database_url or ""
        asyncio.run(root.verify(settings))
        manifest = _manifest(settings, moment)
        ring = supervisor.keys_text(settings)
        if keys is not None:
            backup.write_keys(keys, ring, recipients)
        backup.write(owner, file, manifest, None if without_keys or keys is not None else ring, recipients)
    if not (recipients or without_keys or keys is not None or unencrypted):
        stderr.print(UNENCRYPTED, style="yellow", markup=False)
    print(file)


@app.command
def base(*, keep: Annotated[int, Parameter(help="Base backups to keep.", validator=validators.Number(gte=1))] = 2) -> None:
    """Write a base backup to the WAL archive, and delete older ones with the WAL that only they need."""
    settings = config.load()
    archive = settings.wal_archive
    if archive is None or settings.database_url is not None:
        raise BackupError("Set TOLLHOUSE_WAL_ARCHIVE. The archive is for the embedded database.")
    wal_archive.claim(archive.absolute(), settings.data_dir)
    with database() as settings:
        asyncio.run(_prepare_archive(settings))
        cluster = embedded.locate(settings.data_dir)
        print(wal_archive.write_base(cluster, archive.absolute(), _manifest(settings, clock.now()), keep))


async def _prepare_archive(settings: Settings) -> None:
    """From the base backup on, the server keeps WAL until the archive has it, also while the service is stopped."""
    await root.verify(settings)
    async with connected(settings.migration_database_url or "") as tx:
        await wal_receiver.ensure_slot(tx)


def _manifest(settings: Settings, moment: datetime) -> Manifest:
    return Manifest(
        created_at=clock.stamp(moment),
        program=version("tollhouse"),
        migration=migrations.ours()[-1].number,
        check_values=check_values(settings),
    )


@app.command
def verify(file: Backup, /, *, identity: IdentityFile = None, keys: KeysFile = None) -> int:
    """Restore a backup into a temporary database, check it completely, and delete the database again."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tollhouse-drill-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, the account of the database passes through
        if file.is_dir():
            ring = None if keys is None else backup.read_keys(keys, identity)
            broken = from_archive(config.load(), folder / "data", file.absolute(), ring, None)
        else:
            with open_backup(file, identity, keys) as opened:
                broken = into_data_folder(config.load(), folder / "data", opened)
    for line in broken:
        print(line)
    took_s = time.monotonic() - began
    if broken:
        stderr.print(f"{file} can be restored, but {len(broken)} invariants are broken.")
        return 1
    stderr.print(f"{file} can be restored: {took_s:.0f} s. All invariants hold.")
    return 0


@app.command
def identity(file: Annotated[Path, Parameter(help="The file to write.")], /) -> None:
    """Create an age identity for encrypted backups, and print its recipient. Keep the file away from this machine."""
    print(backup_encryption.write_identity(file))
