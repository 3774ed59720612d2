"""The static files: in memory, compressed, each at an address that has the hash of its content.

`/static/app.1f0c9a5be2d4.css` never changes, so browsers keep it for a year. `/static/app.css`, and an address of another
version of the program, return the current file, which browsers revalidate. Files refer to each other by hash.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from msgspec import Struct
from starlette.responses import Response

from tollhouse.http.compression import best_coding, compressed
from tollhouse.http.fonts import LATIN_FONT, web_fonts

ROOT = "/static/"
HASH_DIGITS = 12
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
REFERENCE = re.compile(r'(?<=url\(")[^":#?]+(?="\))|(?<=from ")\.[^"]+(?=")|(?<=import ")\.[^"]+(?=")')
"""Relative addresses of other files, in stylesheets and scripts."""
HASHED = re.compile(rf"(.+)\.[0-9a-f]{{{HASH_DIGITS}}}(\.[a-z0-9]+)")
FOREVER, REVALIDATED = "public, max-age=31536000, immutable", "no-cache"


class StaticFile(Struct, frozen=True):
    """A file with the name that contains its hash, and its content in each coding that makes it smaller."""

    name: str
    etag: str
    media_type: str
    body: bytes
    codings: dict[str, bytes]


class StaticFiles:
    """All files of a folder, by their paths in it. Raises ValueError for a type of file that is not served."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._files: dict[str, StaticFile] = {}
        for name in contents:
            self._add(name)
        self._by_hashed_name = {file.name: file for file in self._files.values()}

    def address(self, name: str) -> str:
        """The path of this file, with its hash. Raises KeyError if there is none."""
        return ROOT + self._files[name].name

    def addresses(self, names: Iterable[str]) -> list[str]:
        """The paths of those files that exist."""
        return [self.address(name) for name in names if name in self._files]

    def response(self, name: str, accept_encoding: str | None, if_none_match: str | None) -> Response | None:
        """The response to a request of this name, with or without a hash; None if there is no such file."""
        file = self._by_hashed_name.get(name)
        cache_control = FOREVER if file else REVALIDATED
        file = file or self._files.get(HASHED.sub(r"\1\2", name)) or self._files.get(name)
        return None if file is None else _response(file, cache_control, best_coding(accept_encoding), if_none_match)

    def _add(self, name: str, *, inside: tuple[str, ...] = ()) -> StaticFile:
        if name in inside:
            raise ValueError(f"static files refer to each other in a circle: {' > '.join((*inside, name))}")
        if name not in self._files:
            stem, suffix = posixpath.splitext(name)
            if suffix not in MEDIA_TYPES:
                raise ValueError(f"no media type for the static file {name}")
            body = self._contents[name]
            if suffix in {".css", ".js"}:
                body = self._refer(name, body.decode(), (*inside, name)).encode()
            digest = hashlib.sha256(body).hexdigest()[:HASH_DIGITS]
            codings = compressed(body, MEDIA_TYPES[suffix])
            self._files[name] = StaticFile(f"{stem}.{digest}{suffix}", digest, MEDIA_TYPES[suffix], body, codings)
        return self._files[name]

    def _refer(self, name: str, text: str, inside: tuple[str, ...]) -> str:
        """The text of a file with the hashed names of those it refers to; unknown ones stay."""

        def hashed(found: re.Match[str]) -> str:
            address = found[0]
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address))
            if target not in self._contents:
                return address
            last = posixpath.basename(self._add(target, inside=inside).name)
            return address[: address.rfind("/") + 1] + last

        return REFERENCE.sub(hashed, text)


def _response(file: StaticFile, cache_control: str, coding: str | None, if_none_match: str | None) -> Response:
    coding = coding if coding in file.codings else None
    etag = f'"{file.etag}"' if coding is None else f'"{file.etag}-{coding}"'
    known = {part.strip().removeprefix("W/") for part in (if_none_match or "").split(",")}
    sent = {"ETag": etag, "Cache-Control": cache_control}
    if file.codings:
        sent["Vary"] = "Accept-Encoding"
    if etag in known or "*" in known:
        return Response(status_code=304, headers=sent)
    if coding is not None:
        sent["Content-Encoding"] = coding
    return Response(file.body if coding is None else file.codings[coding], headers=sent | {"Content-Type": file.media_type})


def read_folder(folder: Traversable, before: str = "") -> dict[str, bytes]:
    """The contents of all files below a folder, by their paths in it."""
    contents: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            contents |= read_folder(entry, f"{before}{entry.name}/")
        elif not entry.name.startswith("."):
            contents[before + entry.name] = entry.read_bytes()
    return contents


@cache
def static_files() -> StaticFiles:
    """The static files of the program and its web fonts, read once."""
    return StaticFiles(read_folder(resources.files("tollhouse.http") / "static") | web_fonts())


def preloads() -> list[str]:
    """The addresses of the fonts that every page needs: one, or none if it could not be made."""
    return static_files().addresses([LATIN_FONT])


def static(name: str) -> str:
    """The address of a static file, for templates. Raises KeyError if there is none."""
    return static_files().address(name)
