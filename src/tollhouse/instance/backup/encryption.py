"""Encryption of backups in the age format, for recipients whose secret identity the machine does not need."""

import os
from collections.abc import Sequence
from pathlib import Path

import pyrage
from pyrage.x25519 import Identity, Recipient  # pyright: ignore[reportMissingModuleSource] - a module of the binary

from tollhouse.platform import private_files
from tollhouse.platform.failure import Failure

MAGIC = b"age-encryption.org/"
IDENTITY_PREFIX = "AGE-SECRET-KEY-"
FAILED = (pyrage.DecryptError, pyrage.EncryptError, OSError)


class BackupError(Failure):
    """A backup cannot be written or used; the text says why."""


def recipients(texts: Sequence[str]) -> list[Recipient]:
    """The recipients with these public keys, such as `age1…`. Raises `BackupError`."""
    found: list[Recipient] = []
    for text in texts:
        try:
            found.append(Recipient.from_str(text))
        except pyrage.RecipientError:
            raise BackupError(f"{text} is not an age recipient. It begins with age1.") from None
    return found


def write_identity(file: Path) -> str:
    """Write a new identity, which only its owner can read, in the format of age-keygen. Returns its recipient.

    Raises `FileExistsError`.
    """
    new = Identity.generate()
    recipient = str(new.to_public())
    private_files.create(file, f"# public key: {recipient}\n{new}\n".encode())
    return recipient


def is_encrypted(start: bytes) -> bool:
    """Whether a file that starts like this is in the age format."""
    return start.startswith(MAGIC)


def encrypt(source: Path, target: Path, to: Sequence[Recipient]) -> Path:
    """Encrypt a file of any size into `target`, which only its owner can read. Returns `target`. Raises `BackupError`."""
    target.touch(mode=0o600)
    try:
        with source.open("rb") as plain, target.open("wb") as out:
            pyrage.encrypt_io(plain, out, to)
            out.flush()
            os.fsync(out.fileno())
    except FAILED as error:
        raise BackupError(f"the backup could not be encrypted: {error}") from None
    return target


def decrypted(file: Path, target: Path, identity: Path | None) -> Path:
    """The file itself, or `target` with its decrypted content if it is encrypted. Raises `BackupError`."""
    try:
        with file.open("rb") as opened:
            if not is_encrypted(opened.read(len(MAGIC))):
                return file
            opened.seek(0)
            target.touch(mode=0o600)
            with target.open("wb") as out:
                pyrage.decrypt_io(opened, out, _identities(file, identity))
    except FAILED as error:
        raise BackupError(f"{file} could not be decrypted: {error}") from None
    return target


def encrypt_bytes(raw: bytes, to: Sequence[Recipient]) -> bytes:
    """Encrypt a short text."""
    return pyrage.encrypt(raw, to)


def decrypt_bytes(raw: bytes, file: Path, identity: Path | None) -> bytes:
    """Decrypt a short text that was read from `file`. Raises `BackupError`."""
    try:
        return pyrage.decrypt(raw, _identities(file, identity))
    except pyrage.DecryptError as error:
        raise BackupError(f"{file} could not be decrypted: {error}") from None


def _identities(file: Path, identity: Path | None) -> list[Identity]:
    if identity is None:
        raise BackupError(f"{file} is encrypted. Name the file of your age identity with --identity.")
    lines = [line.strip() for line in identity.read_text().splitlines()]
    try:
        found = [Identity.from_str(line) for line in lines if line.startswith(IDENTITY_PREFIX)]
    except pyrage.IdentityError as error:
        raise BackupError(f"{identity} is not an age identity: {error}") from None
    if not found:
        raise BackupError(f"{identity} has no age identity. It is a line that begins with {IDENTITY_PREFIX}.")
    return found
