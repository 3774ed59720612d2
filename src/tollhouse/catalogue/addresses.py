"""Addresses that a browser is sent to: a shop's website, where a customer returns to."""

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from tollhouse.http.bodies import shown
from tollhouse.kernel.limits import URL_CHARS_MAX

Address = Annotated[str, shown(format="uri", maxLength=URL_CHARS_MAX)]
"""A member of a body that is an address."""

ReturnAddress = Annotated[
    str,
    Meta(description="`{PAYMENT_LINK_ID}` and `{TRANSACTION_ID}` are filled in."),
    shown(format="uri-template", maxLength=URL_CHARS_MAX),
]
"""Where a customer goes after paying."""


def is_web_address(url: str, *, https_only: bool) -> bool:
    """Whether this is a whole http(s) address without user name, in plain characters, not too long."""
    if len(url) > URL_CHARS_MAX or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ({"https"} if https_only else {"https", "http"}) and bool(host) and "@" not in parts.netloc
