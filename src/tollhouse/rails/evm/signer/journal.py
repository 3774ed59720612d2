"""The signer's journal: what it signed, in a file that is only appended to, and on disk before anybody gets the bytes.

Each line has a digest over itself and the digest before it. A file beside the journal has the number of lines and the last
digest, so that a journal which lost whole lines is found, too.
"""

import fcntl
import hashlib
import os
from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.platform import private_files
from tollhouse.platform.failure import Failure
from tollhouse.rails.evm.signer.messages import GasTerms, SignedTransfer, TransferOrder

START = "0" * 64


class JournalError(Failure):
    """The journal cannot be used: nothing may be signed."""


class JournalStart(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line: the wallet that it belongs to."""

    wallet: str


class SignedEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A signed transaction. `sender` is the address that pays."""

    at: datetime
    order: TransferOrder
    sender: str
    nonce: int
    terms: GasTerms
    tx_hash: str
    raw: str

    @property
    def signed(self) -> SignedTransfer:
        """The signer's answer."""
        return SignedTransfer(self.order.order_id, self.sender, self.nonce, self.terms, self.tx_hash, self.raw)


class JournalHead(Struct, frozen=True):
    """How many lines the journal has at least, and the digest of that line."""

    lines: int
    digest: str


class SigningJournal:
    """The entries, from an exclusively locked file. One process at a time can open it."""

    def __init__(self, file: Path) -> None:
        """Read and verify the journal. Raises `JournalError`."""
        self.file, self.entries = file, list[SignedEntry]()
        self.by_order, self.by_nonce = dict[UUID, list[SignedEntry]](), dict[tuple[int, str, int], UUID]()
        self.next_nonces = dict[tuple[int, str], int]()
        try:
            self._descriptor = os.open(file, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise JournalError(
                f"{file} cannot be opened: {error.strerror}. It is created by `tollhouse signer new`. "
                "Never start again without the journal of a wallet that has signed."
            ) from None
        try:
            _lock(file, self._descriptor)
            self.wallet = self._read()
        except BaseException:
            os.close(self._descriptor)
            raise
        self.is_usable = True

    def close(self) -> None:
        """Close the file, which unlocks it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self.is_usable = -1, False

    def append(self, entry: SignedEntry) -> None:
        """Write an entry and wait for the disk. After an error nothing can be signed until the journal is opened again."""
        self.is_usable, (line, digest) = False, _line(self._digest, entry)
        if os.write(self._descriptor, line) != len(line):
            raise JournalError(f"{self.file} could not be written completely. Is the disk full?")
        os.fsync(self._descriptor)
        self._digest = digest
        self._remember(entry)
        _write_head(self.file, JournalHead(len(self.entries) + 1, digest))
        self.is_usable = True

    def _read(self) -> str:
        lines = _complete_lines(self.file)
        head, self._digest, wallet = _read_head(self.file), START, ""
        for number, line in enumerate(lines, 1):
            digest, _, payload = line.partition(b" ")
            if hashlib.sha256(self._digest.encode() + payload).hexdigest().encode() != digest:
                raise JournalError(
                    f"Line {number} of {self.file} was changed. Restore the file from a copy that is as new, "
                    "or move the money to a new wallet with the mnemonic. See docs/signer.md."
                )
            self._digest = digest.decode()
            if number == head.lines and self._digest != head.digest:
                raise JournalError(f"{self.file} and {head_file(self.file)} do not belong together. See docs/signer.md.")
            if number == 1:
                wallet = msgspec.json.decode(payload, type=JournalStart).wallet
            else:
                self._remember(msgspec.json.decode(payload, type=SignedEntry))
        if len(lines) < head.lines:
            raise JournalError(
                f"{self.file} has {len(lines)} lines and must have at least {head.lines}: the end is lost. "
                "Do not sign with an older journal. See docs/signer.md."
            )
        return wallet

    def _remember(self, entry: SignedEntry) -> None:
        self.entries.append(entry)
        self.by_order.setdefault(entry.order.order_id, []).append(entry)
        wallet = (entry.order.chain_id, entry.sender)
        self.by_nonce[*wallet, entry.nonce] = entry.order.order_id
        self.next_nonces[wallet] = max(self.next_nonces.get(wallet, 0), entry.nonce + 1)


def head_file(journal: Path) -> Path:
    """The file beside the journal that has its number of lines."""
    return journal.with_name(f"{journal.name}.head")


def create_journal(file: Path, wallet: str) -> None:
    """Create the journal of a wallet that has never signed. Raises `FileExistsError`."""
    line, digest = _line(START, JournalStart(wallet))
    private_files.create(head_file(file), msgspec.json.encode(JournalHead(1, digest)))
    private_files.create(file, line)


def drop_incomplete_line(file: Path) -> int:
    """Cut off what follows the last complete line, and return its bytes. It was never answered: answers follow the disk.

    Raises `JournalError` while a signer runs: what looks incomplete may be what it is writing.
    """
    try:
        journal = file.open("r+b")
    except OSError as error:
        raise JournalError(f"{file} cannot be opened: {error.strerror}.") from None
    with journal:
        _lock(file, journal.fileno())
        raw = journal.read()
        kept = raw.rfind(b"\n") + 1
        if kept < len(raw):
            journal.truncate(kept)
            os.fsync(journal.fileno())
    return len(raw) - kept


def _lock(file: Path, descriptor: int) -> None:
    """Lock the journal until the file is closed. Raises `JournalError`."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise JournalError(f"{file} is in use by another signer.") from None


def _line(before: str, entry: JournalStart | SignedEntry) -> tuple[bytes, str]:
    payload = msgspec.json.encode(entry)
    digest = hashlib.sha256(before.encode() + payload).hexdigest()
    return digest.encode() + b" " + payload + b"\n", digest


def _complete_lines(file: Path) -> list[bytes]:
    *lines, rest = file.read_bytes().split(b"\n")
    if rest:
        raise JournalError(
            f"The last line of {file} is incomplete: writing it was interrupted, and nobody got what was signed. "
            "Run `tollhouse signer repair`, which removes it."
        )
    return lines


def _read_head(file: Path) -> JournalHead:
    try:
        return msgspec.json.decode(head_file(file).read_bytes(), type=JournalHead)
    except (OSError, msgspec.DecodeError):
        raise JournalError(
            f"{head_file(file)} cannot be read. Restore it together with {file}. See docs/signer.md."
        ) from None


def _write_head(file: Path, head: JournalHead) -> None:
    private_files.replace(head_file(file), msgspec.json.encode(head))
