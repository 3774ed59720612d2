"""The revocation endpoint (RFC 7009): revoking either token of a grant revokes the grant."""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import client as client_guard
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.http.services import Work
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import client_auth, connections, refresh_tokens, store
from tollhouse.oauth.client_auth import ClientParameters
from tollhouse.oauth.model import InvalidClient, TooManyFailures

OPERATIONS = Operations(PROTOCOL)
PARAMETERS = (*client_auth.PARAMETERS, "token", "token_type_hint")


class RevocationForm(ClientParameters, frozen=True, kw_only=True):
    """The parameters: the token and the client's credentials."""

    token: Annotated[str, example("thrt_…")]
    token_type_hint: Literal["access_token", "refresh_token"] | UnsetType = UNSET
    """Type of the token. The result does not depend on it.

    access_token: The token is an access token.
    refresh_token: The token is a refresh token.
    """


class RevocationResponse(Struct, frozen=True):
    """An empty object."""


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/revoke",
    guard=client_guard,
    errors=(InvalidRequest, InvalidClient, TooManyFailures),
    reads=RevocationForm,
    responses=RevocationResponse,
)
async def give_back(request: Request) -> Response:
    """Revoke a token. This ends its whole grant. Unknown tokens and tokens of other applications also return 200.

    The hint is ignored: the prefix of a token tells its type. Suspended applications can revoke, too.
    """
    form = request.form()
    form.require_no_repeats(PARAMETERS)
    client = await client_auth.authenticate(request, form, while_suspended=True)
    token = form.one("token")
    if token is None:
        raise InvalidRequest("`token` is required.")
    request.actor = request.actor_of("application", client.client_id)
    await request.transact(lambda work: _revoke(work, client.client_id, token))
    return json_response(RevocationResponse())


async def _revoke(work: Work, client_id: ClientId, token: str) -> None:
    if tokens.is_well_formed(tokens.ACCESS_TOKEN_PREFIX, token):
        revoked = await store.revoke_by_access_token(work.tx, client_id, tokens.digest(token), work.now)
    elif (refresh_token := refresh_tokens.parse(work.services.keys, token)) is not None:
        revoked = await store.revoke_by_refresh_token(work.tx, client_id, refresh_token.grant_id, work.now)
    else:
        return
    if revoked is not None:
        await connections.record_revocation(work, revoked, "revoked by application", "revoke_endpoint")
