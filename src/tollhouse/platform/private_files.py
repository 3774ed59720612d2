"""Files that only their owner can read, from their first byte on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def create(file: Path, raw: bytes) -> None:
    """Write a new file. Raises `FileExistsError`."""
    with new(file) as out:
        out.write(raw)


@contextmanager
def new(file: Path) -> Iterator[IO[bytes]]:
    """A new file to write. It is deleted if the block raises. Raises `FileExistsError` with a sentence for people."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FileExistsError(f"{file} already exists. Choose another file.") from None
    with open(descriptor, "w+b") as out:  # noqa: PTH123 - for its mode
        try:
            yield out
            _sync(out)
        except BaseException:
            file.unlink(missing_ok=True)
            raise


def replace(file: Path, raw: bytes) -> None:
    """Write a file completely or not at all."""
    aside = file.with_name(f"{file.name}.new")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:  # noqa: PTH123 - for its mode
        out.write(raw)
        _sync(out)
    aside.replace(file)


def _sync(out: IO[bytes]) -> None:
    out.flush()
    os.fsync(out.fileno())
