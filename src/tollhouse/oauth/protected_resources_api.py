"""The metadata of the protected resources (RFC 9728): where clients get tokens for them."""

from typing import Annotated

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import jose
from tollhouse.accounts.identity.guards import anyone
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.responses import json_response
from tollhouse.http.services import Services
from tollhouse.kernel.examples import example
from tollhouse.kernel.resources import PATHS, WELL_KNOWN, Resource, identifier_of
from tollhouse.kernel.scopes import PERMISSIONS

OPERATIONS = Operations(PROTOCOL)
NAMES: dict[Resource, str] = {"api": "Tollhouse Integration API", "mcp": "Tollhouse MCP server"}


class ResourceMetadata(Struct, frozen=True, kw_only=True):
    """Metadata of a protected resource (RFC 9728)."""

    resource: Annotated[str, example("https://pay.example/api/v2/integration")]
    """Identifier of the resource: the value of `resource` in authorization and token requests."""
    authorization_servers: Annotated[tuple[str, ...], example(["https://pay.example"])]
    """Issuers of the tokens that the resource accepts."""
    scopes_supported: Annotated[tuple[str, ...], example(["payments:read", "payments:write"])]
    """Scopes of the resource, in the documented order. `offline_access` is none of them."""
    bearer_methods_supported: Annotated[tuple[str, ...], example(["header"])]
    """How requests carry the token."""
    dpop_signing_alg_values_supported: Annotated[tuple[str, ...], example(["ES256", "PS256"])]
    """Algorithms of DPoP proofs, for tokens that are bound to a key (RFC 9449)."""
    resource_name: Annotated[str, example("Tollhouse Integration API")]
    """Name of the resource, for people."""
    resource_documentation: Annotated[str, example("https://pay.example/docs")]
    """URL of the documentation."""


@OPERATIONS.add("GET", WELL_KNOWN, guard=anyone, responses=ResourceMetadata)
async def any_resource(services: Services) -> Response:
    """Retrieve the metadata of the service. It is that of the Integration API."""
    return _described("api", services)


@OPERATIONS.add("GET", WELL_KNOWN + PATHS["api"], guard=anyone, responses=ResourceMetadata)
async def integration_api(services: Services) -> Response:
    """Retrieve the metadata of the Integration API. It says where clients get tokens for it."""
    return _described("api", services)


@OPERATIONS.add("GET", WELL_KNOWN + PATHS["mcp"], guard=anyone, responses=ResourceMetadata)
async def mcp_server(services: Services) -> Response:
    """Retrieve the metadata of the MCP server. It says where clients get tokens for it."""
    return _described("mcp", services)


def _described(resource: Resource, services: Services) -> Response:
    issuer = services.settings.base_url
    found = ResourceMetadata(
        resource=identifier_of(resource, issuer),
        authorization_servers=(issuer,),
        scopes_supported=tuple(permission.scope for permission in PERMISSIONS if permission.access != "offline"),
        bearer_methods_supported=("header",),
        dpop_signing_alg_values_supported=jose.ALGORITHMS,
        resource_name=NAMES[resource],
        resource_documentation=f"{issuer}/docs",
    )
    return json_response(found, headers={"Cache-Control": "public, max-age=3600"})
