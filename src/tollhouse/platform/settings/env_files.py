"""Settings from `.env` files: one in the working directory, one in the data folder.

Each line is `NAME=value`, as in shells and Docker Compose, but nothing in a value is replaced: a `$` is a `$`. What the
environment has counts before the file in the working directory, and that before the one in the data folder.
"""

import os
import re
from collections.abc import MutableMapping
from pathlib import Path

from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.config import NAMES, PREFIX, InvalidSettingsError

NAME = ".env"
DATA_DIR = "TOLLHOUSE_DATA_DIR"
BYTES_MAX = 65_536
WRITABLE_BY_OTHERS = 0o002
LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
COMMENT = re.compile(r"(?:^|\s)#.*")
QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>.*?)(?P=quote)\s*(?:#.*)?")

sources: dict[str, Path] = {}
"""The files that variables of this process came from, for `tollhouse config`."""


def apply(environ: MutableMapping[str, str], working_dir: Path) -> None:
    """Add the settings of both files to the environment. Raises `InvalidSettingsError` for a file with an error."""
    _add(environ, working_dir / NAME)
    data_dir = Path(environ.get(DATA_DIR, "").strip() or setting_values.default_data_dir(environ))
    file = data_dir / NAME
    if DATA_DIR in _add(environ, file):
        raise InvalidSettingsError([f"{file}: {DATA_DIR} cannot be set in the data folder itself"])


def _add(environ: MutableMapping[str, str], file: Path) -> list[str]:
    """Add what the environment does not have. The names in the file."""
    text = _read(file)
    values = {} if text is None else parse(text, str(file))
    for name, value in values.items():
        if name not in environ:
            environ[name] = value
            sources[name] = file.absolute()
    return list(values)


def _read(file: Path) -> str | None:
    """The text of a file, None if there is none, or it is in a folder that this account cannot enter."""
    try:
        found = file.stat()
    except OSError:
        return None
    if found.st_uid not in {0, os.geteuid()}:
        raise InvalidSettingsError([f"{file} belongs to another account, which could change the settings. Run `chown`."])
    if found.st_mode & WRITABLE_BY_OTHERS:
        raise InvalidSettingsError([f"{file} can be changed by every account. Run `chmod 600 {file}`."])
    try:
        return setting_values.small_text(file, BYTES_MAX)
    except ValueError as error:
        raise InvalidSettingsError([f"{file} {error}"]) from None


def parse(text: str, file: str) -> dict[str, str]:
    """The settings of a `.env` file; other names are left out. Raises `InvalidSettingsError` with the wrong lines."""
    values: dict[str, str] = {}
    field_errors: list[str] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        value = _value(found["value"]) if found else None
        if found is None or value is None:
            field_errors.append(f"{file} line {number} must be NAME=value, with a value on one line")
        elif found["name"] in values:
            field_errors.append(f"{file} line {number} sets {found['name']} a second time")
        elif found["name"] in NAMES or found["name"].startswith(PREFIX):
            values[found["name"]] = value
    if field_errors:
        raise InvalidSettingsError(field_errors)
    return values


def _value(text: str) -> str | None:
    """A value without its quotes and the comment after it. None if a quote is not closed."""
    if not text.startswith(('"', "'")):
        return COMMENT.sub("", text).rstrip()
    found = QUOTED.fullmatch(text)
    return None if found is None else found["text"]
