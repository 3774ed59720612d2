"""Small files that are there as a whole or as they were before, readable by their owner only."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_private(path: Path, text: str) -> None:
    """Replace the file; it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any:
    """What the file says, or None where there is none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
