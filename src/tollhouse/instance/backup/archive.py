"""Backups: one tar file with a dump of one snapshot of the database, the key ring and a manifest, perhaps encrypted.

manifest.json   version, time, schema version, check values of the keys, SHA-256 of the other members
database.dump   `pg_dump` in its custom format
secret-keys     the key ring in the format of its setting; missing with `--without-keys` and `--keys`

An encrypted backup is this file in the age format (https://age-encryption.org/v1), which `age --decrypt` reads too.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from tollhouse.instance.backup import encryption as backup_encryption
from tollhouse.instance.backup.encryption import BackupError, Recipient
from tollhouse.instance.database import embedded
from tollhouse.kernel.clock import Timestamp
from tollhouse.platform import private_files

FORMAT = 1
MANIFEST, DUMP, KEYS = "manifest.json", "database.dump", "secret-keys"
LOCK_WAIT = "60s"
ENDING, ENCRYPTED_ENDING = ".tar", ".tar.age"


class Manifest(Struct, frozen=True, kw_only=True):
    """The manifest of a backup. `check_values` are hexadecimal, by key id."""

    format: int = FORMAT
    created_at: Timestamp
    program: str
    migration: int
    check_values: dict[str, str]
    sha256: dict[str, str] = {}


class OpenedBackup(Struct, frozen=True):
    """An unpacked backup with valid checksums. `keys` is the text of the key ring."""

    manifest: Manifest
    dump: Path
    keys: str | None


def output_path(path: Path, moment: str, *, is_encrypted: bool = False) -> Path:
    """The file to write: the path itself, or a file named after the time in that folder. Raises `BackupError`."""
    ending = ENCRYPTED_ENDING if is_encrypted else ENDING
    file = path / f"tollhouse-{moment}{ending}" if path.is_dir() else path
    if file.exists():
        raise BackupError(f"{file} already exists. Choose another file.")
    if not file.parent.is_dir():
        raise BackupError(f"{file.parent} is not a folder")
    return file


def write(dsn: str, file: Path, manifest: Manifest, keys: str | None, recipients: Sequence[Recipient] = ()) -> None:
    """Dump the database into `file`, which is renamed into place when it is complete. Raises `BackupError`.

    With recipients, the file is encrypted for each of them.
    """
    with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as name:
        folder = Path(name)
        dump(dsn, folder / DUMP)
        members = [DUMP]
        if keys is not None:
            (folder / KEYS).touch(mode=0o600)
            (folder / KEYS).write_text(keys)
            members.append(KEYS)
        sums = {member: sha256(folder / member) for member in members}
        (folder / MANIFEST).write_bytes(msgspec.json.encode(msgspec.structs.replace(manifest, sha256=sums)))
        whole = folder / "whole"
        whole.touch(mode=0o600)
        with whole.open("wb") as out:
            with tarfile.open(fileobj=out, mode="w") as tar:
                for member in (MANIFEST, *members):
                    tar.add(folder / member, arcname=member)
            out.flush()
            os.fsync(out.fileno())
        if recipients:
            whole = backup_encryption.encrypt(whole, folder / "encrypted", recipients)
        whole.rename(file)


def write_keys(file: Path, keys: str, recipients: Sequence[Recipient] = ()) -> None:
    """Write the key ring to a file of its own, which only its owner can read. Raises `FileExistsError`."""
    raw = f"{keys}\n".encode()
    if recipients:
        raw = backup_encryption.encrypt_bytes(raw, recipients)
    private_files.create(file, raw)


def read_keys(file: Path, identity: Path | None) -> str:
    """The key ring of a file of its own, decrypted if it is encrypted. Raises `BackupError`."""
    raw = file.read_bytes()
    if backup_encryption.is_encrypted(raw):
        raw = backup_encryption.decrypt_bytes(raw, file, identity)
    return raw.decode().strip()


@contextmanager
def unpack(file: Path, identity: Path | None = None) -> Iterator[OpenedBackup]:
    """An unpacked backup for the length of a block. Raises `BackupError` if it is not one, is damaged or stays encrypted."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-restore-") as name:
        folder = Path(name)
        tar_file = backup_encryption.decrypted(file, folder / "whole", identity)
        try:
            with tarfile.open(tar_file) as tar:
                _extract(tar, MANIFEST, folder)
                manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
                names = [member for member in (DUMP, KEYS) if member in manifest.sha256]
                for member in names:
                    _extract(tar, member, folder)
        except (OSError, KeyError, tarfile.TarError, msgspec.MsgspecError) as error:
            raise BackupError(f"{file} is not a complete backup: {error}") from None
        if manifest.format != FORMAT:
            raise BackupError(f"{file} was written by a newer version of Tollhouse. Install that version.")
        for member in names:
            if sha256(folder / member) != manifest.sha256[member]:
                raise BackupError(f"{file} is damaged: the check sum of {member} differs")
        keys = (folder / KEYS).read_text().strip() if KEYS in names else None
        yield OpenedBackup(manifest, folder / DUMP, keys)


def dump(dsn: str, file: Path, programs: Path | None = None) -> None:
    """Dump one snapshot of the database into a file that only its owner can read. Raises `BackupError`.

    `programs` is the folder of the server's own ones: others would copy what they do not know as an option of a column,
    and no other server knows it.
    """
    file.touch(mode=0o600)
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--lock-wait-timeout={LOCK_WAIT}"]
    own = None if programs is None else programs / "pg_dump"
    _run(own if own is not None and own.exists() else _program("pg_dump"), dsn, *options, f"--file={file}")


def load(dsn: str, dump: Path) -> None:
    """Fill an empty database from a dump, completely or not at all. Raises `BackupError`."""
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    _run(_program("pg_restore"), dsn, *options, str(dump))


def _extract(tar: tarfile.TarFile, member: str, folder: Path) -> None:
    """Copy the content of a member. Nothing else is taken from the archive: no path, link, mode or owner."""
    content = tar.extractfile(member)
    if content is None:
        raise KeyError(f"{member} is not a file")
    with content, (folder / member).open("xb") as out:
        shutil.copyfileobj(content, out)


def _run(program: Path, dsn: str, *arguments: str) -> None:
    parts, environment = urlsplit(dsn), dict[str, str]()
    if parts.password is not None:  # every user of the machine can read arguments
        environment["PGPASSWORD"] = unquote(parts.password)
        parts = parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", "@", 1))
    run(program, f"--dbname={urlunsplit(parts)}", *arguments, **environment)


def _program(name: str) -> Path:
    try:
        return embedded.carried_binaries() / "bin" / name
    except embedded.EmbeddedError:
        found = shutil.which(name)
        if found is None:
            raise BackupError(f"{name} is required. Install PostgreSQL's client programs.") from None
        return Path(found)


def run(program: Path, *arguments: str, **more: str) -> None:
    """Run a program of PostgreSQL, with no environment of PostgreSQL but this. Raises `BackupError` if it fails."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PG")} | more
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, check=False)  # noqa: S603 - PostgreSQL's
    if done.returncode:
        raise BackupError(f"{program.name} failed: {done.stderr.decode(errors='replace').strip()}")


def sha256(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
