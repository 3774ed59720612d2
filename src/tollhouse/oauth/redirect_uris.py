"""Redirect URIs: the rules of registration, and appending a response.

They are validated and compared as raw text. URL parsers strip tabs, hide an empty fragment and read a backslash as a slash;
a redirect URI that two programs parse differently can send a code to an attacker.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from tollhouse.kernel import messages
from tollhouse.kernel.limits import URL_CHARS_MAX
from tollhouse.kernel.text import Text, Translatable

URI_TEXT = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
"""The characters of RFC 3986, percent signs only where they encode something."""

PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?")
AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*")
NUMERIC = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
"""A last label that browsers parse as part of an IPv4 address: decimal, octal or hexadecimal."""

LOOPBACK = IPv4Network("127.0.0.0/8")
PORT_MAX = 65_535
RESPONSE_PARAMETERS = frozenset({"code", "state", "iss", "error", "error_description"})
"""Parameters of the authorization response (RFC 6749 section 4.1.2, RFC 9207). A redirect URI must not contain them."""


class UrlError(NamedTuple):
    """What is wrong with a URL."""

    code: str
    message: Translatable


class WebUrl(NamedTuple):
    """The parts of a URL that the rules need. `host` is in lower case."""

    scheme: str
    host: str
    query: str


def parse(text: str) -> WebUrl | UrlError:
    """Parse an http or https URL without ambiguous parts."""
    if not 1 <= len(text) <= URL_CHARS_MAX:
        return UrlError("invalid_length", messages.characters(1, URL_CHARS_MAX))
    if URI_TEXT.fullmatch(text) is None:
        return UrlError("invalid_characters", "This must use only the characters of RFC 3986. Percent-encode all others.")
    parts = PARTS.fullmatch(text)
    if parts is None:
        return UrlError("invalid_scheme", "This must start with https:// or http:// in lowercase.")
    host = _host(parts["authority"])
    return host if isinstance(host, UrlError) else WebUrl(parts["scheme"], host, parts["query"] or "")


def find_error(text: str) -> UrlError | None:
    """What prevents the registration of this redirect URI; None if it is valid."""
    if "#" in text:
        return UrlError("fragment_forbidden", "This must not have a fragment, not even an empty one.")
    if "*" in text:
        return UrlError("wildcard_forbidden", "This must not contain an asterisk: redirect URIs are matched exactly.")
    url = parse(text)
    if isinstance(url, UrlError):
        return url
    if url.scheme == "http" and not _is_loopback(url.host):
        return UrlError("https_required", "This must use https. Only localhost and loopback addresses may use http.")
    if any(name in RESPONSE_PARAMETERS for name, _ in parse_qsl(url.query, keep_blank_values=True)):
        return UrlError(
            "reserved_parameter",
            "This must not contain the query parameters code, state, iss, error or error_description.",
        )
    return None


def is_loopback(url: str) -> bool:
    """Whether this redirect URI is of the computer of whoever opens it, where any program can listen."""
    parsed = parse(url)
    return isinstance(parsed, WebUrl) and _is_loopback(parsed.host)


def is_one_of(url: str, registered: Sequence[str], *, any_port: bool) -> bool:
    """Whether a redirect URI is registered; with `any_port`, those of loopback stand for all ports (RFC 8252)."""
    if url in registered:
        return True
    if not any_port or find_error(url) is not None or not is_loopback(url):
        return False
    return _without_port(url) in {_without_port(uri) for uri in registered if is_loopback(uri)}


def _without_port(url: str) -> str:
    parts = PARTS.fullmatch(url)
    authority = None if parts is None else AUTHORITY.fullmatch(parts["authority"])
    if parts is None or authority is None:
        raise ValueError("a stored URL is not valid")
    return f"{parts['scheme']}://{authority['host']}{url.removeprefix(origin_of(url))}"


def origin_of(url: str) -> str:
    """Scheme, host and port of a stored redirect URI or website, as the consent page shows them."""
    parts = PARTS.fullmatch(url)
    if parts is None:
        raise ValueError("a stored URL is not valid")
    return f"{parts['scheme']}://{parts['authority']}"


def host_of(website: str) -> str:
    """Host and port of a website, the text of a link to it."""
    return origin_of(website).partition("://")[2]


def redirect_url(redirect_uri: str, **parameters: str | None) -> str:
    """The redirect URI with these parameters added to its query. None values are omitted."""
    added = urlencode({name: value for name, value in parameters.items() if value is not None})
    if "?" not in redirect_uri:
        return f"{redirect_uri}?{added}"
    return f"{redirect_uri}{added}" if redirect_uri.endswith(("?", "&")) else f"{redirect_uri}&{added}"


def _host(authority: str) -> str | UrlError:
    """The host of an authority, in lower case."""
    if "@" in authority:
        return UrlError("credentials_forbidden", "This must not contain a user name or password.")
    parts = AUTHORITY.fullmatch(authority)
    if parts is None or not _is_host(parts["host"]):
        return UrlError("invalid_host", "This must have an ASCII host name or IP address, optionally followed by a port.")
    if parts["port"] is not None and not 1 <= int(parts["port"]) <= PORT_MAX:
        return UrlError("invalid_port", Text("This must have a port from 1 to %(port_max)s.", port_max=PORT_MAX))
    return parts["host"].lower()


def _is_host(host: str) -> bool:
    if host.startswith("["):
        try:
            IPv6Address(host[1:-1])
        except ValueError:
            return False
        return True
    if NUMERIC.fullmatch(host.rpartition(".")[2]):
        return _ipv4(host) is not None
    return NAME.fullmatch(host) is not None


def _is_loopback(host: str) -> bool:
    if host.startswith("["):
        return IPv6Address(host[1:-1]) == IPv6Address("::1")
    address = _ipv4(host)
    return host == "localhost" or (address is not None and address in LOOPBACK)


def _ipv4(host: str) -> IPv4Address | None:
    try:
        return IPv4Address(host)
    except ValueError:
        return None
