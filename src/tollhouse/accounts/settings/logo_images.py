"""Reading uploaded logos: a PNG or WebP is decoded and redrawn, an SVG is sanitized. Names and types are ignored."""

import asyncio
import struct
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Final

from tollhouse.accounts.environments.logos_model import Logo
from tollhouse.accounts.settings.svg_images import UnreadableSvgError, sanitize
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.limits import LOGO_BYTES_MAX, LOGO_PIXELS_MAX, LOGO_PIXELS_MIN
from tollhouse.kernel.text import Text, Translatable

FIELD = "logo"
STORED_BOX = (480, 120)
"""The largest stored size in pixels: three times that of the checkout page."""
SQUARE = (112, 112)
"""Of logos of applications: twice the largest size that pages show."""
PNG, WEBP = b"\x89PNG\r\n\x1a\n", b"RIFF"
UNREADABLE: Final = "This must be an undamaged PNG, WebP or SVG image."
DECODER = ThreadPoolExecutor(1, "logo")
"""One image at a time in a process: at most about 50 MB, for 2,000 by 2,000 pixels and a copy."""


class AnimatedImageError(ValueError):
    """The image has several frames."""


async def read_logo(raw: bytes) -> Logo:
    """The logo to store. Raises `ValidationFailed` with an error of the field `logo`."""
    if not raw:
        raise _invalid("missing", "Choose a file.")
    if len(raw) > LOGO_BYTES_MAX:
        raise _invalid("too_large", Text("The file is larger than %(size)s KiB.", size=LOGO_BYTES_MAX // 1024))
    return await asyncio.get_running_loop().run_in_executor(DECODER, _read, raw)


async def read_square(raw: bytes) -> bytes:
    """A PNG or WebP as an opaque square PNG, whole and in the middle. Raises `ValidationFailed`, also for an SVG."""
    if len(raw) > LOGO_BYTES_MAX or not raw.startswith((PNG, WEBP)):
        raise _invalid("invalid_image", UNREADABLE)
    return await asyncio.get_running_loop().run_in_executor(DECODER, lambda: _square(_raster(raw)))


def _square(logo: Logo) -> bytes:
    from PIL import Image, ImageOps  # noqa: PLC0415 - seldom used, slow to import

    drawn = Image.open(BytesIO(logo.content), formats=("PNG",))
    whole = ImageOps.contain(drawn, SQUARE)
    square = Image.new("RGB", SQUARE, "white")
    square.paste(whole, ((SQUARE[0] - whole.width) // 2, (SQUARE[1] - whole.height) // 2), whole)
    written = BytesIO()
    square.save(written, "PNG", optimize=True)
    return written.getvalue()


def _read(raw: bytes) -> Logo:
    if raw.startswith(PNG) or (raw.startswith(WEBP) and raw[8:12] == b"WEBP"):
        return _raster(raw)
    try:
        content, width, height = sanitize(raw, STORED_BOX)
    except UnreadableSvgError:
        raise _invalid("invalid_image", UNREADABLE) from None
    return Logo("image/svg+xml", content, width, height)


def _raster(raw: bytes) -> Logo:
    """The image, fitted into the stored box, without metadata and whatever follows its data."""
    size = _declared_size(raw)
    if not all(LOGO_PIXELS_MIN <= side <= LOGO_PIXELS_MAX for side in size):
        message = Text(
            "This must be %(least)s to %(most)s pixels wide and high.", least=LOGO_PIXELS_MIN, most=LOGO_PIXELS_MAX
        )
        raise _invalid("invalid_size", message)
    try:
        return _redraw(raw, size)
    except AnimatedImageError:
        raise _invalid("invalid_image", "This must not be animated.") from None
    except Exception:  # noqa: BLE001 - the library raises errors of many kinds for damaged images
        raise _invalid("invalid_image", UNREADABLE) from None


def _redraw(raw: bytes, size: tuple[int, int]) -> Logo:
    """The image as a new PNG. Raises `ValueError` if it has another size: a PNG can have two headers."""
    from PIL import Image  # noqa: PLC0415 - seldom used, slow to import

    with Image.open(BytesIO(raw), formats=("PNG", "WEBP")) as image:
        if image.size != size:
            raise ValueError(image.size)
        if getattr(image, "is_animated", False):
            raise AnimatedImageError
        drawn = image.convert("RGBA")
    drawn.thumbnail(STORED_BOX)
    written = BytesIO()
    drawn.save(written, "PNG", optimize=True)
    return Logo("image/png", written.getvalue(), drawn.width, drawn.height)


def _declared_size(raw: bytes) -> tuple[int, int]:
    """Width and height as the header declares them, before any memory is used for pixels. Raises `ValidationFailed`."""
    try:
        if raw.startswith(PNG):
            return struct.unpack_from(">II", raw, 16)
        kind = raw[12:16]
        if kind == b"VP8X":
            return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
        if kind == b"VP8L":
            (bits,) = struct.unpack_from("<I", raw, 21)
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        width, height = struct.unpack_from("<HH", raw, 26)
    except struct.error:
        raise _invalid("invalid_image", UNREADABLE) from None
    return width & 0x3FFF, height & 0x3FFF


def _invalid(code: str, message: Translatable) -> ValidationFailed:
    return ValidationFailed(FieldError(FIELD, code, message))
