"""Image files for the tests of logos, also hostile ones."""

import struct
import zlib
from io import BytesIO
from secrets import token_bytes
from typing import Any

from PIL import Image

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 20 10">{}</svg>'
RECT = '<rect width="20" height="10" fill="#1a6b4f"/>'


def raster(kind: str = "PNG", size: tuple[int, int] = (64, 32), mode: str = "RGBA", **options: Any) -> bytes:
    """An image of one colour."""
    written = BytesIO()
    Image.new(mode, size, "#1a6b4f" if mode != "1" else 1).save(written, kind, **options)
    return written.getvalue()


def unique() -> bytes:
    """An image that nobody else has uploaded."""
    written = BytesIO()
    Image.frombytes("L", (32, 32), token_bytes(1024)).save(written, "PNG")
    return written.getvalue()


def animated(kind: str) -> bytes:
    """An image with two frames."""
    frames = [Image.new("RGBA", (64, 32), color) for color in ("red", "blue")]
    written = BytesIO()
    frames[0].save(written, kind, save_all=True, append_images=frames[1:], duration=100)
    return written.getvalue()


def png_claiming(*sizes: tuple[int, int]) -> bytes:
    """A small file with a header for each of these sizes, and with pixels that are one long run of zeros."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    headers = b"".join(chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 6, 0, 0, 0)) for size in sizes)
    width, height = sizes[-1]
    pixels = zlib.compress(b"\0" * min(20_000_000, height * (1 + width * 4)), 1)
    return b"\x89PNG\r\n\x1a\n" + headers + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def svg(content: str = RECT) -> bytes:
    """An SVG image with this content."""
    return SVG.format(content).encode()
