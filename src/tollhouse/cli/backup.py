"""`tollhouse backup`: the database and the key ring in one file, a drill of its restore, and identities for encryption."""

import asyncio
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.cli.database import database
from tollhouse.cli.options import stderr
from tollhouse.cli.restore import Backup, IdentityFile, KeysFile, check_values, into_data_folder, open_backup
from tollhouse.kernel import clock
from tollhouse.platform import backup, backup_encryption, config, migrations
from tollhouse.platform.backup import Manifest

app = App(name="backup", help="Back up the database and the key ring, and verify backups. See docs/backup.md.")

WithoutKeys = Annotated[bool, Parameter(name="--without-keys", negative=(), help="Do not include the key ring.")]
Recipients = Annotated[
    list[str] | None, Parameter(name="--encrypt-to", negative=(), help="Encrypt for this age recipient (age1…). Repeatable.")
]
KeysOut = Annotated[Path | None, Parameter(name="--keys", help="Write the key ring to this file instead.")]


@app.default
def write_backup(
    target: Annotated[Path, Parameter(help="The file to write, or its folder.")],
    *,
    keys: KeysOut = None,
    without_keys: WithoutKeys = False,
    encrypt_to: Recipients = None,
) -> None:
    """Write the database and the key ring to one file. The service can keep running."""
    recipients = backup_encryption.recipients(encrypt_to or [])
    moment = clock.now()
    with database() as settings:
        file = backup.output_path(target, f"{moment:%Y%m%dT%H%M%SZ}", is_encrypted=bool(recipients))
        owner = settings.migration_database_url or settings.database_url or ""
        asyncio.run(root.verify(settings))
        manifest = Manifest(
            created_at=clock.stamp(moment),
            program=version("tollhouse"),
            migration=migrations.ours()[-1].number,
            check_values=check_values(settings),
        )
        ring = supervisor.keys_text(settings)
        if keys is not None:
            backup.write_keys(keys, ring, recipients)
        backup.write(owner, file, manifest, None if without_keys or keys is not None else ring, recipients)
    print(file)


@app.command
def verify(file: Backup, /, *, identity: IdentityFile = None, keys: KeysFile = None) -> int:
    """Restore a backup into a temporary database, check it completely, and delete the database again."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tollhouse-drill-") as folder, open_backup(file, identity, keys) as opened:
        Path(folder).chmod(0o711)  # as root, the account of the database passes through
        broken = into_data_folder(config.load(), Path(folder) / "data", opened)
    for line in broken:
        print(line)
    took_s = time.monotonic() - began
    if broken:
        stderr.print(f"{file} can be restored, but {len(broken)} invariants are broken.")
        return 1
    stderr.print(f"{file} of {opened.manifest.created_at} can be restored: {took_s:.0f} s. All invariants hold.")
    return 0


@app.command
def identity(file: Annotated[Path, Parameter(help="The file to write.")], /) -> None:
    """Create an age identity for encrypted backups, and print its recipient. Keep the file away from this machine."""
    print(backup_encryption.write_identity(file))
