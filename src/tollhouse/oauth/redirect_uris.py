"""Callback addresses: what may be registered, and how an answer is appended to one.

They are judged and compared as the raw text that was sent. URL parsers strip tabs, hide an empty fragment and read a
backslash as a slash; a callback that two programs read differently sends a code to a stranger.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from tollhouse.kernel import messages
from tollhouse.kernel.limits import URL_CHARS_MAX

URI_TEXT = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
"""The characters of RFC 3986, percent signs only where they encode something."""

PARTS = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?")
AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*")
NUMERIC = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
"""A last label that browsers take for part of an IPv4 address, in whatever base."""

LOOPBACK = IPv4Network("127.0.0.0/8")
PORT_MAX = 65_535
OURS = frozenset({"code", "state", "iss", "error", "error_description"})
"""Parameters that our answer adds; registered already, the application would find them twice."""


class UrlError(NamedTuple):
    """Why an address is refused: a code and a sentence."""

    code: str
    message: str


class Address(NamedTuple):
    """The parts of a web address that rules speak of."""

    scheme: str
    host: str
    query: str


def read(text: str) -> Address | UrlError:
    """An http or https address with a host and nothing ambiguous in it, or what is wrong with it."""
    if not 1 <= len(text) <= URL_CHARS_MAX:
        return UrlError("invalid_length", messages.characters(1, URL_CHARS_MAX))
    if URI_TEXT.fullmatch(text) is None:
        return UrlError("invalid_characters", "This must use only the characters of RFC 3986. Percent-encode all others.")
    parts = PARTS.fullmatch(text)
    if parts is None:
        return UrlError("invalid_scheme", "This must begin with https:// or http://, in lower case.")
    host = _host(parts["authority"])
    return host if isinstance(host, UrlError) else Address(parts["scheme"], host, parts["query"] or "")


def error_of(text: str) -> UrlError | None:
    """Why this cannot be registered as a callback; None when it can."""
    if "#" in text:
        return UrlError("fragment_forbidden", "This must not have a fragment, not even an empty one.")
    if "*" in text:
        return UrlError("wildcard_forbidden", "This must not contain an asterisk: redirect URIs are matched exactly.")
    address = read(text)
    if isinstance(address, UrlError):
        return address
    if address.scheme == "http" and not _is_loopback(address.host):
        return UrlError("https_required", "This must use https. Only localhost and loopback addresses may use http.")
    if any(name in OURS for name, _ in parse_qsl(address.query, keep_blank_values=True)):
        return UrlError(
            "reserved_parameter",
            "This must not have a query parameter of the response: code, state, iss, error.",
        )
    return None


def origin_of(callback: str) -> str:
    """Scheme, host and port, as the merchant is told where it will return to."""
    parts = PARTS.fullmatch(callback)
    if parts is None:
        raise ValueError("a stored callback was checked when it was registered")
    return f"{parts['scheme']}://{parts['authority']}"


def host_of(website: str) -> str:
    """The host and port of a website, for the text of a link to it."""
    return origin_of(website).partition("://")[2]


def redirect_url(callback: str, **parameters: str | None) -> str:
    """The callback with these parameters behind its own query, form-encoded once. Those that are None are left out."""
    added = urlencode({name: value for name, value in parameters.items() if value is not None})
    if "?" not in callback:
        return f"{callback}?{added}"
    return f"{callback}{added}" if callback.endswith(("?", "&")) else f"{callback}&{added}"


def _host(authority: str) -> str | UrlError:
    """The host of an authority, in lower case, or what is wrong with it."""
    if "@" in authority:
        return UrlError("credentials_forbidden", "This must not contain a user name or password.")
    parts = AUTHORITY.fullmatch(authority)
    if parts is None or not _is_host(parts["host"]):
        return UrlError(
            "invalid_host", "This must have a host name or IP address in ASCII, with nothing but a port after it."
        )
    if parts["port"] is not None and not 1 <= int(parts["port"]) <= PORT_MAX:
        return UrlError("invalid_port", f"This must have a port from 1 to {PORT_MAX:,}.")
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
