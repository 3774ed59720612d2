"""The path of the base URL: taken from what comes in, put before what goes out.

Within the service every path is as if the base URL had none. A reverse proxy may leave the path in front of what it passes
on, or take it away; both are understood. RFC 8414 puts a part of its own between the host and the path of an issuer.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from tollhouse.platform.config import Settings

METADATA = "/.well-known/oauth-authorization-server"
PATHS = re.compile(r'(?<=\s)((?:href|action|formaction|src|data-poll|data-path)=")/(?!/)')
"""Where pages name a path of ours. In texts, quotes are escaped; only markup of our templates can look like this."""
ROOT = re.compile(rb"(?i)(;\s*path=)/(?=;|$)")
LINK = re.compile(rb"^</(?!/)")


def path_of(settings: Settings) -> str:
    """The path of the base URL, such as `/pay`; empty for most."""
    return urlsplit(settings.base_url).path


class BasePath:
    """The path that a base URL has, such as `/pay`; empty for most."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._bytes = path.encode()

    def within(self, path: str, is_known: Callable[[str], bool]) -> str:
        """The path of a request as the service knows it. What leads nowhere without the base path is left as it came."""
        if not self._path:
            return path
        if path == METADATA + self._path:
            return METADATA
        if path == self._path:
            return "/"
        rest = path.removeprefix(self._path)
        return rest if path.startswith(self._path + "/") and is_known(rest) else path

    def html(self, page: str) -> str:
        """A page whose links, forms and files lead below the base path."""
        return PATHS.sub(rf"\g<1>{self._path}/", page) if self._path else page

    def headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Redirects, links and cookies below the base path."""
        return [(name, self._value(name, value)) for name, value in headers] if self._path else headers

    def _value(self, name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return self._bytes + value
        if name == b"set-cookie":
            return ROOT.sub(rb"\g<1>" + self._bytes, value)
        return LINK.sub(b"<" + self._bytes + b"/", value) if name == b"link" else value
