"""Files that only their owner can read, from their first byte on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def create(file: Path, raw: bytes) -> None:
    """Write a new file. Raises `FileExistsError`."""
    _write(file, raw, os.O_EXCL)


@contextmanager
def new(file: Path) -> Iterator[IO[bytes]]:
    """A new file to write. It is deleted if the block raises. Raises `FileExistsError`."""
    with open(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:  # noqa: PTH123 - for its mode
        try:
            yield out
            out.flush()
            os.fsync(out.fileno())
        except BaseException:
            file.unlink(missing_ok=True)
            raise


def replace(file: Path, raw: bytes) -> None:
    """Write a file completely or not at all."""
    aside = file.with_name(f"{file.name}.new")
    _write(aside, raw, os.O_TRUNC)
    aside.replace(file)


def _write(file: Path, raw: bytes, flag: int) -> None:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | flag, 0o600), "wb") as out:  # noqa: PTH123 - for its mode
        out.write(raw)
        out.flush()
        os.fsync(out.fileno())
