"""The introspection endpoint (RFC 7662): an application on a server asks what one of its own tokens is worth now."""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import client as client_guard
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.kernel import base64url, tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.resources import identifier_of
from tollhouse.oauth import client_auth, introspection_store, refresh_tokens
from tollhouse.oauth.introspection_store import ActiveToken
from tollhouse.oauth.model import InvalidClient, TooManyFailures
from tollhouse.oauth.revoke import PARAMETERS, RevocationForm

OPERATIONS = Operations(PROTOCOL)


class IntrospectionForm(RevocationForm, frozen=True):
    """The parameters: the token and the client's credentials."""


class BoundKey(Struct, frozen=True):
    """The key that a token is bound to (RFC 7800)."""

    jkt: Annotated[str, example("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")]
    """SHA-256 thumbprint of the public key, in base64url without padding."""


class Introspection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a token is worth now (RFC 7662 section 2.2). Of a token that is not active, nothing else is said."""

    active: bool
    """Whether the token is valid, and of this application."""
    scope: str | UnsetType = UNSET
    """Scopes that the token has now, separated by spaces."""
    client_id: ClientId | UnsetType = UNSET
    token_type: Annotated[Literal["Bearer", "DPoP"] | UnsetType, example("Bearer")] = UNSET
    """How an access token is sent. Absent for a refresh token.

    Bearer: In the header `Authorization: Bearer`.
    DPoP: In the header `Authorization: DPoP`, with a proof of the key that it is bound to (RFC 9449).
    """
    cnf: BoundKey | UnsetType = UNSET
    """The key that an access token is bound to. Absent for a bearer token."""
    exp: Annotated[int | UnsetType, example(1_764_406_200)] = UNSET
    """When the token expires, in seconds since 1970."""
    iat: Annotated[int | UnsetType, example(1_764_405_300)] = UNSET
    """When an access token was issued, in seconds since 1970. Absent for a refresh token."""
    sub: Annotated[str | UnsetType, example("019abcf2-6f00-7000-8000-000000000001")] = UNSET
    """ID of the merchant."""
    aud: Annotated[str | UnsetType, example("https://pay.example/api/v2/integration")] = UNSET
    """URL of the resource that the token opens."""
    iss: Annotated[str | UnsetType, example("https://pay.example")] = UNSET
    """Issuer, which equals the base URL."""


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/introspect",
    guard=client_guard,
    errors=(InvalidRequest, InvalidClient, TooManyFailures),
    reads=IntrospectionForm,
    responses=Introspection,
)
async def introspect(request: Request) -> Response:
    """Introspect a token. Only confidential applications can, and only their own tokens are active.

    The hint is ignored: the prefix of a token tells its type. Introspection is no use of the token.
    """
    form = request.form()
    form.require_no_repeats(PARAMETERS)
    client = await client_auth.authenticate(request, form)
    if client.is_public:
        raise InvalidClient("A public application cannot introspect tokens.", detail="public")
    token = form.one("token")
    if token is None:
        raise InvalidRequest("`token` is required.")
    found = await _find(request, client.client_id, token)
    return json_response(Introspection(active=False) if found is None else _described(request, client.client_id, found))


async def _find(request: Request, client_id: ClientId, token: str) -> ActiveToken | None:
    """What the token stands for; None if it is not active."""
    db, now = request.services.db, request.now
    if tokens.is_well_formed(tokens.ACCESS_TOKEN_PREFIX, token):
        return await introspection_store.find_access_token(db, client_id, tokens.digest(token), now)
    refresh_token = refresh_tokens.parse(request.services.keys, token)
    if refresh_token is None:
        return None
    return await introspection_store.find_refresh_token(db, client_id, refresh_token, now)


def _described(request: Request, client_id: ClientId, token: ActiveToken) -> Introspection:
    issuer, jkt = request.services.settings.base_url, token.dpop_jkt
    return Introspection(
        active=True,
        scope=token.scopes.text(),
        client_id=client_id,
        token_type=UNSET if not token.is_access else "Bearer" if jkt is None else "DPoP",
        cnf=UNSET if jkt is None else BoundKey(base64url.encode(jkt)),
        exp=int(token.expires_at.timestamp()),
        iat=UNSET if token.created_at is None else int(token.created_at.timestamp()),
        sub=str(token.merchant_id),
        aud=identifier_of(token.resource, issuer),
        iss=issuer,
    )
