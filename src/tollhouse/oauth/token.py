"""The token endpoint: a code or a refresh token in, an access token out.

A refusal that must leave a trace (a replay ends the whole grant) is returned, so that it is answered after the commit.
"""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.audit import actor
from tollhouse.http.forms import Form
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.identity.guards import client as client_guard
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.errors import ApiError, InvalidRequest
from tollhouse.kernel.ids import GrantId, new_id
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import client_auth, connections, pkce, refresh_tokens, store
from tollhouse.oauth.model import (
    EndedGrant,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    Issued,
    TokenResponse,
    TooManyFailures,
    UnsupportedGrantType,
    VerifiedClient,
)
from tollhouse.oauth.store import CodeProof, NewGrant, NewTokens
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PROTOCOL)
PARAMETERS = (
    *client_auth.PARAMETERS,
    "grant_type",
    "code",
    "redirect_uri",
    "code_verifier",
    "refresh_token",
    "scope",
)


class TokenForm(Struct, frozen=True):
    """What the form may hold: a code and what belongs to it, or a refresh token, and the client's credentials."""

    grant_type: Literal["authorization_code", "refresh_token"]
    code: str | UnsetType = UNSET
    redirect_uri: str | UnsetType = UNSET
    code_verifier: str | UnsetType = UNSET
    refresh_token: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/token",
    guard=client_guard,
    errors=(InvalidRequest, UnsupportedGrantType, InvalidClient, TooManyFailures, InvalidGrant, InvalidScope),
    reads=TokenForm,
    responses=TokenResponse,
)
async def issue(request: Request) -> Response | ApiError:
    """Exchange a code, or refresh."""
    form = request.form()
    refuse_repeats(form, PARAMETERS)
    grant_type = form.one("grant_type")
    if grant_type is None:
        raise InvalidRequest("Send grant_type.")
    if grant_type not in {"authorization_code", "refresh_token"}:
        raise UnsupportedGrantType
    exchange_or_refresh = _exchange if grant_type == "authorization_code" else _refresh
    # One connection for both: under load, each lending waits for its turn.
    async with request.services.db.connection() as tx:
        client = await client_auth.verify(tx, request, form)
        response = await exchange_or_refresh(tx, request, client, form)
    return response if isinstance(response, ApiError) else json_response(response, headers={"Pragma": "no-cache"})


def refuse_repeats(form: Form, names: tuple[str, ...]) -> None:
    """Raises `InvalidRequest` when one of these parameters was sent twice, even with equal values."""
    repeated = form.repeated(names)
    if repeated:
        raise InvalidRequest(f"The parameter {repeated} must not be repeated.")


async def _exchange(tx: Tx, request: Request, client: VerifiedClient, form: Form) -> TokenResponse | ApiError:
    proof = _proof(client, form)
    settings, now = request.services.settings, request.now
    grant_id = GrantId(new_id())
    access_token, refresh_token = (
        tokens.mint(tokens.ACCESS_TOKEN_PREFIX),
        refresh_tokens.mint(request.services.keys, grant_id, 0),
    )
    new = NewGrant(
        grant_id,
        now + clock.seconds(settings.grant_ttl),
        tokens.digest(refresh_token),
        tokens.digest(access_token),
        now + clock.seconds(settings.access_token_ttl),
        request.services.keys.in_use,
    )

    async def action(tx: Tx) -> Issued | ApiError:
        issued = await store.exchange(tx, proof, new, now)
        if issued is not None:
            return issued
        replayed = await store.revoke_if_code_was_used(tx, proof, now)
        if replayed is None:
            return InvalidGrant(detail="code not to be had")
        await _note_replay(tx, request, client, replayed, "code replayed")
        return InvalidGrant(detail="code replayed, grant revoked")

    issued = await tx.transact(action)
    if isinstance(issued, ApiError):
        return issued
    return _response(issued, now, access_token, refresh_token if scopes.OFFLINE.within(issued.scopes) else None)


def _proof(client: VerifiedClient, form: Form) -> CodeProof:
    code, redirect_uri, verifier = form.one("code"), form.one("redirect_uri"), form.one("code_verifier")
    if code is None:
        raise InvalidRequest("Send code.")
    if redirect_uri is None:
        raise InvalidRequest("Send redirect_uri.")
    if verifier is not None and not pkce.well_formed(verifier):
        raise InvalidRequest("The code_verifier has 43 to 128 letters, digits or any of - . _ ~")
    if verifier is None:
        raise InvalidGrant("Send the code_verifier that belongs to the code.")
    if not tokens.is_well_formed(tokens.AUTHORIZATION_CODE_PREFIX, code):
        raise InvalidGrant(detail="not a code")
    return CodeProof(client.client_id, tokens.digest(code), redirect_uri, pkce.challenge_of(verifier))


async def _refresh(tx: Tx, request: Request, client: VerifiedClient, form: Form) -> TokenResponse | ApiError:
    sent = form.one("refresh_token")
    if sent is None:
        raise InvalidRequest("Send refresh_token.")
    narrowed = _narrowed(form)
    presented = refresh_tokens.read(request.services.keys, sent)
    if presented is None:
        raise InvalidGrant(detail="not a refresh token")
    now = request.now
    access_token = tokens.mint(tokens.ACCESS_TOKEN_PREFIX)
    goes_on = narrowed is None or scopes.OFFLINE.within(narrowed)
    next_token = (
        refresh_tokens.mint(request.services.keys, presented.grant_id, presented.generation + 1) if goes_on else None
    )
    new = NewTokens(
        narrowed,
        tokens.digest(next_token) if next_token else None,
        tokens.digest(access_token),
        now + clock.seconds(request.services.settings.access_token_ttl),
    )

    async def action(tx: Tx) -> Issued | ApiError:
        issued = await store.refresh(tx, client.client_id, presented, new, now)
        if issued is not None:
            return issued
        replayed = await store.revoke_if_replaced(tx, client.client_id, presented, now)
        if replayed is not None:
            await _note_replay(tx, request, client, replayed, "refresh token replayed")
            return InvalidGrant(
                "This refresh token was replaced by a newer one. The connection is ended; connect again.",
                detail="refresh token replayed, grant revoked",
            )
        if await store.is_refreshable(tx, client.client_id, presented, now):
            return InvalidScope("Omit scope, or send only scopes that were granted.")
        return InvalidGrant(detail="refresh token not current")

    issued = await tx.transact(action)
    return issued if isinstance(issued, ApiError) else _response(issued, now, access_token, next_token)


async def _note_replay(tx: Tx, request: Request, client: VerifiedClient, ended: EndedGrant, reason: str) -> None:
    by = actor.application(request, client.client_id)
    await connections.note_end(tx, ended, reason, by, request.now)


def _narrowed(form: Form) -> Scopes | None:
    """The scopes that a refresh is narrowed to; None for all that were granted."""
    sent = form.one("scope")
    if sent is None:
        return None
    narrowed = scopes.parse(name for name in sent.split(" ") if name)
    if narrowed is None:
        raise InvalidScope("The scope holds a name that is no permission.")
    if not narrowed.has_api:
        raise InvalidScope("The scope needs at least one permission beside offline_access.")
    return narrowed


def _response(issued: Issued, now: datetime, access_token: str, refresh_token: str | None) -> TokenResponse:
    expires_in = int((issued.expires_at - now).total_seconds())
    return TokenResponse(access_token, "Bearer", expires_in, issued.scopes.text(), refresh_token or UNSET)
