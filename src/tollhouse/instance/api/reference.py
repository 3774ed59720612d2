"""The OpenAPI document of all JSON surfaces, generated from the operations. Public."""

import asyncio
from functools import cache
from typing import Any

import msgspec
import yaml
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import IdempotencyInProgress, IdempotencyKeyReused
from tollhouse.accounts.identity import guards
from tollhouse.accounts.identity.guards import CredentialGuard, SessionGuard, SpendingGuard, anyone
from tollhouse.accounts.identity.model import (
    AccountSuspended,
    ApplicationSuspended,
    InvalidApiKey,
    InvalidDpopToken,
    InvalidProof,
    InvalidToken,
    MissingScope,
    NetworkNotAllowed,
    NoCredential,
    ProposalRequired,
    RecentAuthenticationRequired,
    RoleForbidden,
    SecondFactorMissing,
)
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.cookies import SAFE, cookie_name
from tollhouse.http.openapi import ReferenceSource, document
from tollhouse.http.openapi_responses import Admission
from tollhouse.http.openapi_schemas import Json
from tollhouse.http.operations import AUTHORIZE, DASHBOARD, INTEGRATION, PROTOCOL, Operation, Operations, Surface
from tollhouse.http.responses import ENCODER
from tollhouse.http.services import Services
from tollhouse.instance.api import health
from tollhouse.instance.api.descriptions import DESCRIPTIONS, EXAMPLES
from tollhouse.instance.slices import EVENT_SPECS, operations
from tollhouse.kernel.errors import AuthenticationRequired, CrossOriginForbidden, InvalidRequest
from tollhouse.kernel.scopes import ALL, PERMISSIONS
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.platform.settings.config import Settings

OPERATIONS = Operations(Surface("reference", "", cors=True, html=False))
SURFACES = {
    "integration": "The Integration API, for API keys and access tokens.",
    "oauth": "The OAuth endpoints called by applications.",
    "authorize": "The authorization endpoint, opened in the merchant's browser.",
    "dashboard": "The dashboard's API for signed-in users. API keys and access tokens are not accepted.",
    "health": "Health probes.",
    "reference": "This document.",
}


@OPERATIONS.add("GET", "/openapi.json", guard=anyone, responses=dict[str, Any])
async def openapi(services: Services) -> Response:
    """Get the OpenAPI 3.1 document."""
    content = await asyncio.to_thread(encoded, services.settings)  # the first one takes most of a second
    return Response(content, 200, {"Cache-Control": "public, max-age=300"}, "application/json")


@OPERATIONS.add("GET", "/openapi.yaml", guard=anyone, responses=dict[str, Any], formats=("application/yaml",))
async def openapi_yaml(services: Services) -> Response:
    """Get the OpenAPI 3.1 document as YAML."""
    return Response(as_text(services.settings), 200, {"Cache-Control": "public, max-age=300"}, "application/yaml")


def described() -> list[Operation]:
    """The documented operations: all except pages."""
    return [*health.OPERATIONS, *OPERATIONS, *operations(PROTOCOL, AUTHORIZE, INTEGRATION, DASHBOARD)]


@cache
def encoded(settings: Settings) -> bytes:
    """The document for these settings as JSON."""
    source = ReferenceSource(
        operations=described(),
        surfaces=SURFACES,
        event_specs=EVENT_SPECS,
        usual=EXAMPLES,
        descriptions=DESCRIPTIONS,
        security_schemes=_security_schemes(settings),
        admission=_admission,
        idempotency_errors=(IdempotencyKeyReused, IdempotencyInProgress),
    )
    return ENCODER.encode(document(source, settings.base_url))


@cache
def as_text(settings: Settings) -> str:
    """The document as YAML."""
    return as_yaml(read(settings))


def as_yaml(value: Any) -> str:
    """A JSON value as YAML in block style, in ASCII."""
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False)


@cache
def read(settings: Settings) -> Json:
    """The decoded document; do not modify it."""
    return msgspec.json.decode(encoded(settings))


def event_examples(settings: Settings) -> dict[str, dict[str, Any]]:
    """The `data` of the example of each event type; do not modify it."""
    requests = {name: item["post"]["requestBody"] for name, item in read(settings)["webhooks"].items()}
    return {name: request["content"]["application/json"]["example"]["data"] for name, request in requests.items()}


def _admission(operation: Operation) -> Admission:
    """The credentials and errors of each guard of `accounts.identity.guards`."""
    guard = operation.guard
    cross_origin = () if operation.method in SAFE else (CrossOriginForbidden,)
    if isinstance(guard, CredentialGuard):
        scopes = [name for name in guard.label.split(" or ") if name in ALL]
        suspended = (AccountSuspended, ApplicationSuspended)
        errors = (
            InvalidRequest,
            NoCredential,
            InvalidToken,
            InvalidDpopToken,
            InvalidProof,
            InvalidApiKey,
            NetworkNotAllowed,
            *suspended,
            RateLimited,
        )
        by_token = [{"access_token": (name,)} for name in scopes] or [{"access_token": ()}]
        further = [*([MissingScope] if scopes else []), *([ProposalRequired] if isinstance(guard, SpendingGuard) else [])]
        return Admission(({"api_key": ()}, *by_token), (*errors, *further))
    if isinstance(guard, SessionGuard):
        recent = () if operation.recent_authentication == "no" else (RecentAuthenticationRequired,)
        suspended = () if operation.method in SAFE or guard.while_suspended else (AccountSuspended,)
        factor = () if guard.permission == "own" else (SecondFactorMissing,)
        role = () if guard.permission in {"own", "read"} else (RoleForbidden,)
        return Admission(({"session": ()},), (AuthenticationRequired, *cross_origin, *suspended, *role, *factor, *recent))
    if guard is guards.client:
        return Admission(({"client": ()}, {}))
    if guard is guards.anyone_with_cookie:
        return Admission(errors=cross_origin)
    return Admission()


def _security_schemes(settings: Settings) -> Json:
    issuer = settings.base_url
    return {
        "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key of the merchant."},
        "access_token": {
            "type": "oauth2",
            "description": "A token of an application, sent as `Bearer`, or as `DPoP` if it is bound to a key (RFC 9449). "
            "PKCE with S256 is required.",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": authorization_endpoint(issuer),
                    "tokenUrl": token_endpoint(issuer),
                    "refreshUrl": token_endpoint(issuer),
                    "scopes": {permission.scope: permission.description for permission in PERMISSIONS},
                }
            },
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie_name(settings),
            "description": "The session of a signed-in user.",
        },
        "client": {
            "type": "http",
            "scheme": "basic",
            "description": "The client credentials of an application, by HTTP Basic or in the form.",
        },
    }
