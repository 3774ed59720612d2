"""Compiled templates, in memory for all time zones of a language, and on disk beside compiled modules.

Compiling the templates of one page takes up to 100 ms, in which a web process serves nobody else.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType

import jinja2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

PACKAGE = Path(__file__).parent.parent
CACHE = Path(__file__).parent / "__pycache__"
PREFIX = "templates-"
BAKED_IN = (".py", ".po")
"""Files of these types count too: a filter of a constant is evaluated when its template is compiled."""


class CompiledTemplates(BytecodeCache):
    """The compiled code of the templates in one language. The folder is `folder()` unless another is given."""

    def __init__(self, language: str, within: Path | None = None) -> None:
        self._folder = (within or folder()) / language
        self._kept: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the code of this source if it was stored."""
        place = (bucket.key, bucket.checksum)
        bucket.code = self._kept.get(place)
        if bucket.code is None:
            with suppress(OSError, EOFError, ValueError, TypeError), self._file(bucket).open("rb") as file:
                bucket.load_bytecode(file)
            if bucket.code is not None:
                self._kept[place] = bucket.code

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the code of this source; in memory only where modules are not stored either."""
        if bucket.code is None:
            return
        self._kept[bucket.key, bucket.checksum] = bucket.code
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            target = self._file(bucket)
            if not self._folder.parent.exists():
                _remove_outdated(self._folder.parent)
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = target.with_suffix(f".{os.getpid()}")
            with partial.open("wb") as file:
                bucket.write_bytecode(file)
            partial.replace(target)

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / bucket.key


@cache
def folder() -> Path:
    """The folder for this version of the program, of Jinja and of Python."""
    digest = hashlib.sha256(f"{jinja2.__version__} {sys.implementation.cache_tag}".encode())
    for line in sorted(states(PACKAGE)):
        digest.update(line.encode())
    return CACHE / f"{PREFIX}{digest.hexdigest()[:16]}"


def states(package: Path) -> Iterator[str]:
    """Path, size and time of change of each file that is baked in."""
    todo = [str(package)]
    while todo:
        for entry in os.scandir(todo.pop()):
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            elif entry.name.endswith(BAKED_IN):
                state = entry.stat()
                yield f"{entry.path} {state.st_size} {state.st_mtime_ns}\n"


def _remove_outdated(new: Path) -> None:
    """Remove the folders of other versions of the program."""
    for other in new.parent.glob(f"{PREFIX}*"):
        if other != new:
            shutil.rmtree(other, ignore_errors=True)
