"""The authorization server's metadata (RFC 8414), the list of permissions, and code samples for connecting a merchant."""

import shlex
from typing import Annotated
from urllib.parse import quote, urlencode

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import jose
from tollhouse.accounts.identity.guards import anyone
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.responses import json_response
from tollhouse.http.services import Services
from tollhouse.kernel.examples import example
from tollhouse.kernel.scopes import PERMISSIONS, Access
from tollhouse.oauth.authorization_details_model import LIMITS_TYPE
from tollhouse.oauth.model import DEVICE_CODE_GRANT, ClientView

OPERATIONS = Operations(PROTOCOL)
AUTH_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")
"""In order of preference: some clients use the first one they support."""

SCOPES_IN_SAMPLE = 2


class Metadata(Struct, frozen=True, kw_only=True):
    """Authorization server metadata (RFC 8414, RFC 9207)."""

    issuer: Annotated[str, example("https://pay.example")]
    """Issuer identifier, which equals the base URL."""
    authorization_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/authorize")]
    """URL to which you send the merchant's browser."""
    token_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/token")]
    """URL that exchanges codes and refresh tokens."""
    revocation_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/revoke")]
    """URL that revokes tokens."""
    scopes_supported: Annotated[tuple[str, ...], example(["payments:read", "payments:write"])]
    """Every scope, in the documented order."""
    response_types_supported: Annotated[tuple[str, ...], example(["code"])]
    """Values of `response_type`."""
    response_modes_supported: Annotated[tuple[str, ...], example(["query"])]
    """How the authorization response is returned."""
    device_authorization_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/device_authorization")]
    """URL at which a device gets a code (RFC 8628)."""
    grant_types_supported: Annotated[tuple[str, ...], example(["authorization_code", "refresh_token"])]
    """Values of `grant_type`."""
    token_endpoint_auth_methods_supported: Annotated[
        tuple[str, ...], example(["client_secret_basic", "private_key_jwt", "none"])
    ]
    """How clients authenticate at the token endpoint."""
    token_endpoint_auth_signing_alg_values_supported: Annotated[tuple[str, ...], example(["ES256", "PS256"])]
    """Algorithms of `private_key_jwt`."""
    revocation_endpoint_auth_methods_supported: Annotated[
        tuple[str, ...], example(["client_secret_basic", "private_key_jwt", "none"])
    ]
    """How clients authenticate at the revocation endpoint."""
    revocation_endpoint_auth_signing_alg_values_supported: Annotated[tuple[str, ...], example(["ES256", "PS256"])]
    """Algorithms of `private_key_jwt` there."""
    pushed_authorization_request_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/par")]
    """URL to which an application can push its authorization requests (RFC 9126)."""
    require_pushed_authorization_requests: bool
    """Whether every application must push them. The settings of an application can require it."""
    introspection_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/introspect")]
    """URL at which a confidential application reads what its own tokens are worth (RFC 7662)."""
    introspection_endpoint_auth_methods_supported: Annotated[
        tuple[str, ...], example(["client_secret_basic", "client_secret_post"])
    ]
    """How clients authenticate at the introspection endpoint."""
    introspection_endpoint_auth_signing_alg_values_supported: Annotated[tuple[str, ...], example(["ES256", "PS256"])]
    """Algorithms of `private_key_jwt` there."""
    code_challenge_methods_supported: Annotated[tuple[str, ...], example(["S256"])]
    """PKCE methods."""
    dpop_signing_alg_values_supported: Annotated[tuple[str, ...], example(["ES256", "PS256"])]
    """Algorithms of DPoP proofs (RFC 9449)."""
    authorization_response_iss_parameter_supported: bool
    """Whether callbacks carry `iss`."""
    client_id_metadata_document_supported: bool
    """Whether an application can have the URL of a document about it as `client_id`."""
    authorization_details_types_supported: Annotated[tuple[str, ...], example(["tollhouse_limits"])]
    """Types of `authorization_details` (RFC 9396)."""
    service_documentation: Annotated[str, example("https://pay.example/docs")]
    """URL of the documentation."""


class PermissionView(Struct, frozen=True):
    """A scope, and whether the consent page selects it by default."""

    scope: Annotated[str, example("payments:read")]
    """Name of the scope."""
    description: Annotated[str, example("Read payment links and transactions.")]
    """What the scope allows, as the consent page says it."""
    access: Annotated[Access, example("read")]
    """Kind of access."""
    default_selected: bool
    """Whether the consent page selects it by default."""


class PermissionList(Struct, frozen=True):
    """All scopes, in the documented order."""

    permissions: list[PermissionView]


@OPERATIONS.add("GET", "/.well-known/oauth-authorization-server", guard=anyone, responses=Metadata)
async def metadata(services: Services) -> Response:
    """Retrieve the OAuth metadata. It lists the endpoints and what they support."""
    issuer = services.settings.base_url
    found = Metadata(
        issuer=issuer,
        authorization_endpoint=authorization_endpoint(issuer),
        token_endpoint=token_endpoint(issuer),
        revocation_endpoint=f"{issuer}/api/v2/oauth/revoke",
        scopes_supported=tuple(permission.scope for permission in PERMISSIONS),
        response_types_supported=("code",),
        response_modes_supported=("query",),
        device_authorization_endpoint=f"{issuer}/api/v2/oauth/device_authorization",
        grant_types_supported=("authorization_code", "refresh_token", DEVICE_CODE_GRANT),
        token_endpoint_auth_methods_supported=AUTH_METHODS,
        token_endpoint_auth_signing_alg_values_supported=jose.ALGORITHMS,
        revocation_endpoint_auth_methods_supported=AUTH_METHODS,
        revocation_endpoint_auth_signing_alg_values_supported=jose.ALGORITHMS,
        pushed_authorization_request_endpoint=f"{issuer}/api/v2/oauth/par",
        require_pushed_authorization_requests=False,
        introspection_endpoint=f"{issuer}/api/v2/oauth/introspect",
        introspection_endpoint_auth_methods_supported=tuple(method for method in AUTH_METHODS if method != "none"),
        introspection_endpoint_auth_signing_alg_values_supported=jose.ALGORITHMS,
        code_challenge_methods_supported=("S256",),
        dpop_signing_alg_values_supported=jose.ALGORITHMS,
        authorization_response_iss_parameter_supported=True,
        client_id_metadata_document_supported=True,
        authorization_details_types_supported=(LIMITS_TYPE,),
        service_documentation=f"{issuer}/docs",
    )
    return json_response(found, headers={"Cache-Control": "public, max-age=3600"})


@OPERATIONS.add("GET", "/api/v2/oauth/permissions", guard=anyone)
async def permissions() -> PermissionList:
    """List permissions. They are the scopes that applications can request."""
    return PermissionList(
        [
            PermissionView(permission.scope, permission.description, permission.access, permission.default_selected)
            for permission in PERMISSIONS
        ]
    )


def authorization_endpoint(issuer: str) -> str:
    """The URL to which an application redirects merchants."""
    return f"{issuer}/api/v2/oauth/authorize"


def token_endpoint(issuer: str) -> str:
    """The URL at which an application gets tokens."""
    return f"{issuer}/api/v2/oauth/token"


def authorization_url(issuer: str, client: ClientView) -> str:
    """The URL of an authorization request, with placeholders in capitals."""
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uris[0],
        "scope": " ".join(client.scopes[:SCOPES_IN_SAMPLE]),
        "state": "STATE",
        "code_challenge": "CHALLENGE",
        "code_challenge_method": "S256",
        "mode": "test",
    }
    return f"{authorization_endpoint(issuer)}?\n  " + urlencode(query, quote_via=quote, safe=":/").replace("&", "\n  &")


def environment_file(issuer: str, client: ClientView, secret: str) -> str:
    """An environment file with issuer and client credentials."""
    return f"TOLLHOUSE_ISSUER={issuer}\nTOLLHOUSE_CLIENT_ID={client.client_id}\nTOLLHOUSE_CLIENT_SECRET={secret}"


def exchange_command(issuer: str, client: ClientView) -> str:
    """A curl command that exchanges a code."""
    credentials = (
        f"-u {client.client_id}:CLIENT_SECRET"
        if client.client_type == "confidential"
        else f"-d client_id={client.client_id}"
    )
    return " \\\n  ".join(
        [
            f"curl {token_endpoint(issuer)}",
            credentials,
            "-d grant_type=authorization_code",
            "-d code=CODE",
            f"--data-urlencode {shlex.quote('redirect_uri=' + client.redirect_uris[0])}",
            "-d code_verifier=VERIFIER",
        ]
    )
