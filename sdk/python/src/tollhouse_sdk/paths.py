"""How values become parts of an address."""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

INTEGRATION = "/api/v2/integration"
OAUTH = "/api/v2/oauth"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def segment(value: str) -> str:
    """The value as one segment of a path. A value that would leave its place is refused."""
    if value in {"", ".", ".."}:
        raise ValueError(f"An ID cannot be {value!r}.")
    return quote(value, safe="")


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """The path with these parameters; those that are None are left out, and a sequence is repeated."""
    encoded = urlencode(list(_pairs(query)))
    return f"{path}?{encoded}" if encoded else path


def _pairs(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in query.items():
        values = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else cast("list[Any]", value)
        for part in values:
            if part is not None:
                yield name, str(part).lower() if isinstance(part, bool) else str(part)


def base_url(url: str, *, allow_http: bool) -> str:
    """The address of the service without a slash at its end. Credentials go over https, or to this machine."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("The base URL begins with https:// and names a host.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not allow_http:
        raise ValueError("The base URL begins with https://. For http in a network of your own, pass allow_http=True.")
    return url.rstrip("/")
