"""The path of the base URL: removed from requests, added to responses.

Inside the service, paths do not have it. A reverse proxy may pass the path on or strip it; both work. RFC 8414 and
RFC 9728 insert the well-known part between the host and the path of an issuer or a resource.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from tollhouse.kernel import resources
from tollhouse.platform.settings.config import Settings

WELL_KNOWN = ("/.well-known/oauth-authorization-server", resources.WELL_KNOWN)
PATHS = re.compile(r'(?<=\s)((?:href|action|formaction|src|data-poll|data-path)=")/(?!/)')
"""Where pages contain a path of the service. Quotes in texts are escaped, so only markup of templates matches."""
ROOT = re.compile(rb"(?i)(;\s*path=)/(?=;|$)")
LINK = re.compile(rb"^</(?!/)")


def path_of(settings: Settings) -> str:
    """The path of the base URL, such as `/pay`; empty if it has none."""
    return urlsplit(settings.base_url).path


class BasePath:
    """The path of a base URL, such as `/pay`; empty if it has none."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._bytes = path.encode()

    def within(self, path: str, is_known: Callable[[str], bool]) -> str:
        """The path of a request without the base path. Paths that are not below it stay unchanged."""
        if not self._path:
            return path
        for known in WELL_KNOWN:
            if (path + "/").startswith(f"{known}{self._path}/"):
                return known + path.removeprefix(known + self._path)
        if path == self._path:
            return "/"
        rest = path.removeprefix(self._path)
        return rest if path.startswith(self._path + "/") and is_known(rest) else path

    def html(self, page: str) -> str:
        """A page with its links, forms and files below the base path."""
        return PATHS.sub(rf"\g<1>{self._path}/", page) if self._path else page

    def headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Headers with redirects, links and cookies below the base path."""
        return [(name, self._value(name, value)) for name, value in headers] if self._path else headers

    def _value(self, name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return self._bytes + value
        if name == b"set-cookie":
            return ROOT.sub(rb"\g<1>" + self._bytes, value)
        return LINK.sub(b"<" + self._bytes + b"/", value) if name == b"link" else value
