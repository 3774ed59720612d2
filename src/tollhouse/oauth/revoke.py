"""The revoke endpoint: an application gives a connection back, by either of its tokens (RFC 7009)."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.audit import actor
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.identity.guards import client as client_guard
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import client_auth, connections, refresh_tokens, store
from tollhouse.oauth.model import InvalidClient, TooManyFailures
from tollhouse.oauth.token import refuse_repeats
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PROTOCOL)
PARAMETERS = (*client_auth.PARAMETERS, "token", "token_type_hint")


class RevocationForm(Struct, frozen=True):
    """What the form may hold: the token, and the client's credentials."""

    token: str
    token_type_hint: Literal["access_token", "refresh_token"] | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class GivenBack(Struct, frozen=True):
    """An empty object."""


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/revoke",
    guard=client_guard,
    errors=(InvalidRequest, InvalidClient, TooManyFailures),
    reads=RevocationForm,
    responses=GivenBack,
)
async def give_back(request: Request) -> Response:
    """Disconnect the whole authorization of a token. A token that is unknown, or another application's, is 200 as well.

    The hint is not needed: a token's form tells its kind. A suspended application can still do this.
    """
    form = request.form()
    refuse_repeats(form, PARAMETERS)
    client = await client_auth.verify(request.services.db, request, form, while_suspended=True)
    token = form.one("token")
    if token is None:
        raise InvalidRequest("Send token.")
    await request.services.db.transact(lambda tx: _give_back(tx, request, client.client_id, token))
    return json_response(GivenBack())


async def _give_back(tx: Tx, request: Request, client_id: ClientId, token: str) -> None:
    if tokens.is_well_formed(tokens.ACCESS_TOKEN_PREFIX, token):
        ended = await store.revoke_by_access_token(tx, client_id, tokens.digest(token), request.now)
    elif (refresh_token := refresh_tokens.read(request.services.keys, token)) is not None:
        ended = await store.revoke_by_refresh_token(tx, client_id, refresh_token.grant_id, request.now)
    else:
        return
    if ended is not None:
        by = actor.application(request, client_id)
        await connections.note_end(tx, ended, "revoked by application", by, request.now)
