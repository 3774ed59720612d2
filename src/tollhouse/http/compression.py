"""Compression of responses: Brotli and gzip, as the client accepts them."""

import gzip
import re
from collections.abc import Callable

import brotli

MEDIA_TYPES = ("text/", "image/svg+xml")
"""The beginnings of the media types that become smaller."""
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: bytes(brotli.compress(body)),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    "gzip": lambda body: gzip.compress(body, 9, mtime=0),
}
"""By their names in `Accept-Encoding`, the best first; as small as they get."""
FAST: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: bytes(brotli.compress(body, quality=5)),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
}
"""By their names, the best first; in about a millisecond for a page."""
WEIGHT_ZERO = re.compile(r"q\s*=\s*0(\.0*)?")


def compressed(body: bytes, media_type: str) -> dict[str, bytes]:
    """The body in each coding that makes it smaller."""
    if not media_type.startswith(MEDIA_TYPES):
        return {}
    codings = {name: compress(body) for name, compress in CODINGS.items()}
    return {name: smaller for name, smaller in codings.items() if len(smaller) < len(body)}


def best_coding(accept_encoding: str | None) -> str | None:
    """The best coding that a client accepts, if any."""
    accepted = accepted_codings(accept_encoding)
    return next((name for name in CODINGS if name in accepted), None)


def accepted_codings(accept_encoding: str | None) -> set[str]:
    """The codings that a client accepts by name. `*` counts for none."""
    accepted = set[str]()
    for part in (accept_encoding or "").lower().split(","):
        name, _, weight = part.partition(";")
        if not WEIGHT_ZERO.fullmatch(weight.strip()):
            accepted.add(name.strip())
    return accepted
