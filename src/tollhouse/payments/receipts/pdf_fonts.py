"""Geist as font files for PDF: Latin with all diacritics and Cyrillic, in two weights. Made once and kept like web fonts."""

import hashlib
import io
import struct
import tempfile
from functools import cache
from pathlib import Path

from tollhouse.http.fonts import CACHE, GEIST, keep

WEIGHTS = {"": 400, "B": 600}
"""The weight by the style of fpdf2."""
MAGIC = b"\0\1\0\0"
HEADER_BYTES, ENTRY_BYTES = 12, 16


@cache
def font_files() -> dict[str, Path]:
    """A file for each style. Slow at the first call."""
    digest = hashlib.sha256(GEIST.read_bytes()).hexdigest()[:12]
    return {style: _file(f"geist-{weight}.{digest}.ttf", weight) for style, weight in WEIGHTS.items()}


def is_complete(font: bytes) -> bool:
    """Whether these bytes begin like a TrueType file and have all of its tables."""
    if not font.startswith(MAGIC) or len(font) < HEADER_BYTES:
        return False
    count = int.from_bytes(font[4:6])
    entries = font[HEADER_BYTES : HEADER_BYTES + count * ENTRY_BYTES]
    if len(entries) < count * ENTRY_BYTES:
        return False
    return all(offset + length <= len(font) for _, _, offset, length in struct.iter_unpack(">4sIII", entries))


def _file(name: str, weight: int) -> Path:
    """The font in the cache; where nothing can be written there, in a folder of this process."""
    file = CACHE / name
    made = keep(file, lambda: _instance(weight), is_complete)
    if not file.is_file():
        file = Path(tempfile.mkdtemp(prefix="tollhouse-fonts-")) / name
        file.write_bytes(made)
    return file


def _instance(weight: int) -> bytes:
    from fontTools.ttLib import TTFont  # noqa: PLC0415 - only where the cache is empty
    from fontTools.varLib import instancer  # noqa: PLC0415 - the same

    with TTFont(GEIST, recalcTimestamp=False) as font:
        instancer.instantiateVariableFont(font, {"wght": weight}, inplace=True)  # pyright: ignore[reportUnknownMemberType]
        made = io.BytesIO()
        font.save(made)
    return made.getvalue()
