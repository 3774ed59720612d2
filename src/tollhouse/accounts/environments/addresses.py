"""Web addresses that browsers are sent to."""

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from tollhouse.http.bodies import documented
from tollhouse.kernel.limits import URL_CHARS_MAX

Address = Annotated[str, documented(format="uri", maxLength=URL_CHARS_MAX)]
"""A URL in a request body."""

ReturnAddress = Annotated[
    str,
    Meta(description="`{PAYMENT_LINK_ID}` and `{TRANSACTION_ID}` are replaced."),
    documented(format="uri-template", maxLength=URL_CHARS_MAX),
]
"""The URL a customer returns to after paying."""


def is_web_address(url: str, *, https_only: bool) -> bool:
    """Whether this is an absolute http(s) URL in printable ASCII, without user name, within the length limit."""
    if len(url) > URL_CHARS_MAX or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ({"https"} if https_only else {"https", "http"}) and bool(host) and "@" not in parts.netloc
