"""Geist and Geist Mono as web fonts: WOFF2 files with the characters that pages need, made from the fonts of their packages.

They are made once, in about a second, and kept beside the compiled modules. Where nothing can be written there, each
process makes its own.
"""

import hashlib
import io
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

import fontpkg_geist
import fontpkg_geist_mono
from msgspec import Struct

from tollhouse.platform.log.events import log

GEIST = fontpkg_geist.ROOT / "files" / "Geist[wght].ttf"
GEIST_MONO = fontpkg_geist_mono.ROOT / "files" / "GeistMono[wght].ttf"
LATIN = "U+0000-00FF, U+0131, U+0152-0153, U+02C6, U+02DA, U+02DC, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212"
LATIN_EXTENDED = "U+0100-0130, U+0132-0151, U+0154-02BA, U+1E00-1E9F, U+1EF2-1EFF, U+20A0-20AB, U+20AD-20C0"
"""Unicode ranges as in the `@font-face` rules of the stylesheet."""
RANGE = re.compile(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?")
FEATURES = ["calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk", "tnum"]
WEIGHTS = (400, 700)
"""The least and the greatest weight. The stylesheets use no other, and the full range takes 40% more bytes."""
COPYRIGHT, LICENSE, LICENSE_URL = 0, 13, 14
"""Entries of a font's name table that its licence asks to keep."""
WOFF2, LENGTH = b"wOF2", slice(8, 12)
CACHE = Path(cache_from_source(__file__)).parent


class WebFont(Struct, frozen=True):
    """A part of a font: its name as a static file, its source, and its Unicode ranges."""

    name: str
    source: Path
    ranges: str


LATIN_FONT = "fonts/geist-latin.woff2"
WEB_FONTS = (
    WebFont(LATIN_FONT, GEIST, LATIN),
    WebFont("fonts/geist-latin-ext.woff2", GEIST, LATIN_EXTENDED),
    WebFont("fonts/geist-mono-latin.woff2", GEIST_MONO, LATIN),
)


def web_fonts(cache: Path = CACHE) -> dict[str, bytes]:
    """The web fonts by name, from the cache if they are there. Those that cannot be made are logged and left out."""
    fonts: dict[str, bytes] = {}
    for font in WEB_FONTS:
        try:
            fonts[font.name] = _cached(font, cache)
        except Exception as error:  # noqa: BLE001 - pages are complete with the fonts of the system
            log.warning("font_unavailable", font=font.name, detail=str(error))
    return fonts


def _cached(font: WebFont, cache: Path) -> bytes:
    key = hashlib.sha256(font.source.read_bytes() + repr((font.ranges, FEATURES, WEIGHTS)).encode()).hexdigest()[:12]
    return keep(cache / f"{Path(font.name).stem}.{key}.woff2", lambda: subset(font), is_complete)


def keep(file: Path, make: Callable[[], bytes], is_complete: Callable[[bytes], bool]) -> bytes:
    """The bytes of this file in the cache; made and written there if they are missing or damaged."""
    with suppress(OSError):
        kept = file.read_bytes()
        if is_complete(kept):
            return kept
    made = make()
    with suppress(OSError):
        aside = file.with_suffix(f".{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(exist_ok=True)
            aside.write_bytes(made)
            aside.replace(file)
        finally:
            aside.unlink(missing_ok=True)
    return made


def is_complete(woff2: bytes) -> bool:
    """Whether these bytes begin like a WOFF2 file and are as long as it says."""
    return woff2.startswith(WOFF2) and int.from_bytes(woff2[LENGTH]) == len(woff2)


def subset(font: WebFont) -> bytes:
    """These characters as WOFF2, with an axis of weights, without hints. The same source makes the same bytes."""
    # Imported here: a process that finds the fonts in the cache needs none of it.
    from fontTools.subset import Options, Subsetter  # noqa: PLC0415
    from fontTools.ttLib import TTFont  # noqa: PLC0415
    from fontTools.varLib import instancer  # noqa: PLC0415

    options = Options(
        flavor="woff2",
        hinting=False,
        layout_features=FEATURES,
        name_IDs=[COPYRIGHT, LICENSE, LICENSE_URL],
        drop_tables=[*Options().drop_tables, "meta"],
        notdef_outline=True,
    )
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters(font.ranges))  # pyright: ignore[reportUnknownMemberType]
    with TTFont(font.source, recalcTimestamp=False, lazy=True) as whole:
        subsetter.subset(whole)  # pyright: ignore[reportUnknownMemberType]
        instancer.instantiateVariableFont(whole, {"wght": WEIGHTS}, inplace=True)  # pyright: ignore[reportUnknownMemberType]
        whole.flavor = "woff2"
        made = io.BytesIO()
        whole.save(made)
    return made.getvalue()


def characters(ranges: str) -> set[int]:
    """The code points of Unicode ranges in the notation of CSS."""
    return {code for first, last in RANGE.findall(ranges) for code in range(int(first, 16), int(last or first, 16) + 1)}
