"""The revoke endpoint: an application gives a connection back, by either of its tokens (RFC 7009)."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.callers.guards import client as client_guard
from tollhouse.kernel import tokens
from tollhouse.kernel.refusals import InvalidRequest
from tollhouse.oauth import client_auth, refresh_tokens, store
from tollhouse.oauth.model import InvalidClient, TooManyFailures
from tollhouse.oauth.token import refuse_repeats
from tollhouse.web.answers import json_answer
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PROTOCOL, Operations

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
    refuses=(InvalidRequest, InvalidClient, TooManyFailures),
    reads=RevocationForm,
    answers=GivenBack,
)
async def give_back(ask: Ask) -> Response:
    """Disconnect the whole authorization of a token. A token that is unknown, or another application's, is 200 as well.

    The hint is not needed: a token's form tells its kind.
    """
    form = ask.form()
    refuse_repeats(form, PARAMETERS)
    client = await client_auth.verify(ask.house.db, ask, form)
    token = form.one("token")
    if token is None:
        raise InvalidRequest("Send token.")
    if tokens.intact("that", token):
        await store.revoke_by_access_token(ask.house.db, client.client_id, tokens.digest(token), ask.now)
    elif (refresh_token := refresh_tokens.read(ask.house.keys, token)) is not None:
        await store.revoke_by_refresh_token(ask.house.db, client.client_id, refresh_token.grant_id, ask.now)
    return json_answer(GivenBack())
