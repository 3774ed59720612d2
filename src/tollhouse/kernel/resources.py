"""The protected resources of the service, each with tokens of its own (RFC 8707), and where their metadata is (RFC 9728)."""

from typing import Literal
from urllib.parse import urlsplit

Resource = Literal["api", "mcp"]
PATHS: dict[Resource, str] = {"api": "/api/v2/integration", "mcp": "/mcp"}
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def identifier_of(resource: Resource, base_url: str) -> str:
    """The URL that names the resource, for example in `resource`, and in `aud` of a token."""
    return base_url + PATHS[resource]


def metadata_url(resource: Resource, base_url: str) -> str:
    """The URL of its metadata: the well-known part stands between host and path."""
    path = urlsplit(base_url).path
    return f"{base_url.removesuffix(path)}{WELL_KNOWN}{path}{PATHS[resource]}"
