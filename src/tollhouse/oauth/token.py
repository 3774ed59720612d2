"""The token endpoint: code exchange and refresh (RFC 6749 sections 4.1.3 and 6).

The usual request is one statement, which checks the application's secret by its digest too. If it does nothing, the
application is authenticated as at the other endpoint, and the reason is looked for: errors of the application come first.
A replay revokes the whole grant. Its error is returned, not raised, so that the revocation is committed.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field
from starlette.responses import Response

from tollhouse.accounts.identity.guards import client as client_guard
from tollhouse.http.forms import Form
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.http.services import Work
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.errors import ApiError, InvalidRequest
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import GrantId, new_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, REFRESH_KEY_CHARS_MIN, REFRESH_RETRY_S
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import (
    client_auth,
    clients_store,
    connections,
    proofs,
    refresh_retries,
    refresh_tokens,
    requests_store,
    resources,
    store,
)
from tollhouse.oauth.authorization_details_model import granted
from tollhouse.oauth.client_auth import ClientParameters, SentCredentials
from tollhouse.oauth.connections_model import EndedReason
from tollhouse.oauth.device_errors import AccessDenied, AuthorizationPending, ExpiredToken, SlowDown, UnauthorizedClient
from tollhouse.oauth.model import (
    DEVICE_CODE_GRANT,
    GrantType,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    TooManyFailures,
    UnsupportedGrantType,
    VerifiedClient,
)
from tollhouse.oauth.proofs import InvalidDpopProof, ProofRequired
from tollhouse.oauth.refresh_retries import Retries, TokenPair
from tollhouse.oauth.refresh_tokens import RefreshToken
from tollhouse.oauth.resources import InvalidTarget, OtherTarget
from tollhouse.oauth.store import CodeBinding, NewGrant, NewRetry, NewTokens, RetryRequest
from tollhouse.oauth.token_model import IssuedToken, TokenResponse
from tollhouse.platform.database.pool import Tx

OPERATIONS = Operations(PROTOCOL)
PARAMETERS = (
    *client_auth.PARAMETERS,
    "grant_type",
    "code",
    "redirect_uri",
    "code_verifier",
    "refresh_token",
    "scope",
    "device_code",
)


class TokenForm(ClientParameters, frozen=True, kw_only=True):
    """The parameters: those of a code exchange or of a refresh, and the client's credentials."""

    grant_type: GrantType
    """What is exchanged for an access token."""
    code: Annotated[str | UnsetType, example("thac_…")] = UNSET
    """The authorization code, for the grant type `authorization_code`."""
    redirect_uri: Annotated[str | UnsetType, example("https://app.example/callback")] = UNSET
    code_verifier: Annotated[str | UnsetType, example("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")] = UNSET
    refresh_token: str | UnsetType = UNSET
    device_code: Annotated[str | UnsetType, example("thdc_…")] = UNSET
    """The code of the device, for the grant type `urn:ietf:params:oauth:grant-type:device_code`."""
    scope: str | UnsetType = UNSET
    """Fewer scopes than were granted, separated by spaces. Only for a refresh token."""
    resource: str | UnsetType = UNSET
    """The resource that the connection was granted for (RFC 8707). It can be left out."""


class TokenHeaders(Struct, frozen=True):
    """The headers that count besides `Authorization`."""

    idempotency_key: (
        Annotated[str, Meta(min_length=REFRESH_KEY_CHARS_MIN, max_length=IDEMPOTENCY_KEY_CHARS_MAX, pattern="^[!-~]+$")]
        | UnsetType
    ) = field(name="Idempotency-Key", default=UNSET)
    """With a refresh: the identical request gets the same tokens again, until one of them is used, at most for 60 s."""
    dpop: str | UnsetType = field(name="DPoP", default=UNSET)
    """Proof of a key, to which the tokens will be bound (RFC 9449)."""


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/token",
    guard=client_guard,
    errors=(
        InvalidRequest,
        UnsupportedGrantType,
        InvalidClient,
        TooManyFailures,
        InvalidGrant,
        InvalidScope,
        InvalidTarget,
        InvalidDpopProof,
        UnauthorizedClient,
        AuthorizationPending,
        SlowDown,
        AccessDenied,
        ExpiredToken,
    ),
    reads=TokenForm,
    headers=TokenHeaders,
    responses=TokenResponse,
)
async def issue(request: Request) -> Response | ApiError:
    """Get an access token. It is exchanged for an authorization code or a refresh token."""
    form = request.form()
    form.require_no_repeats(PARAMETERS)
    grant_type = form.one("grant_type")
    if grant_type is None:
        raise InvalidRequest("`grant_type` is required.")
    begin = ATTEMPTS.get(grant_type)
    if begin is None:
        raise UnsupportedGrantType
    sent = await client_auth.credentials(request, form)
    try:
        sent = sent.with_key(await proofs.proven_key(request))
        attempt = begin(request, sent, form)
    except ApiError:
        await client_auth.verify(request, sent)
        raise
    response = await attempt.issue()
    if response is None:
        client = await client_auth.verify(request, sent)
        if client.dpop_bound and sent.proof.key is None:
            raise ProofRequired
        # Once more, now that the secret is known to be right: it may have been replaced in between.
        response = await attempt.issue() or await request.services.db.transact(lambda tx: attempt.refuse(tx, client))
    return response if isinstance(response, ApiError) else json_response(response, headers={"Pragma": "no-cache"})


class TokenAttempt(Struct, frozen=True):
    """An exchange or a refresh: `issue` writes, or returns None if it must not; `refuse` then finds the error."""

    issue: Callable[[], Awaitable[TokenResponse | None]]
    refuse: Callable[[Tx, VerifiedClient], Awaitable[ApiError]]


def _exchange(request: Request, sent: SentCredentials, form: Form) -> TokenAttempt:
    resource = _resource(request, form)
    binding = _code_binding(sent, form)
    redeem = _redeem(request, sent, binding, resource)
    return TokenAttempt(redeem, lambda tx, client: _refuse_code(tx, request, client, binding, sent.proof.key, resource))


def _redeem_device_code(request: Request, sent: SentCredentials, form: Form) -> TokenAttempt:
    device_code = form.one("device_code")
    if device_code is None:
        raise InvalidRequest("`device_code` is required.")
    resource = _resource(request, form)
    if not tokens.is_well_formed(tokens.DEVICE_CODE_PREFIX, device_code):
        raise InvalidGrant(detail="not a device code")
    code_hash = tokens.digest(device_code)
    redeem = _redeem(request, sent, CodeBinding(sent.client_id, code_hash, "", code_hash), resource)
    return TokenAttempt(redeem, lambda tx, client: _refuse_device_code(tx, request, client, code_hash, resource))


async def _refuse_device_code(
    tx: Tx, request: Request, client: VerifiedClient, code_hash: bytes, resource: Resource | None
) -> ApiError:
    """The error of a device that gets no tokens (RFC 8628 section 3.5). A device code that was used ends nothing."""
    registered = await clients_store.find_registered(request.services.db, client.client_id)
    if registered is None or DEVICE_CODE_GRANT not in registered.grant_types:
        return UnauthorizedClient()
    poll = await requests_store.poll(tx, client.client_id, code_hash, request.now)
    if poll is None or poll.is_used:
        return InvalidGrant(detail="device code unknown or used")
    if resource not in {None, poll.resource}:
        return OtherTarget()
    if poll.decision == "denied":
        return AccessDenied()
    if poll.is_ended or not (poll.is_redeemable if poll.decision else not poll.is_expired):
        return ExpiredToken()
    return SlowDown() if poll.is_early else AuthorizationPending()


def _redeem(
    request: Request, sent: SentCredentials, binding: CodeBinding, resource: Resource | None
) -> Callable[[], Awaitable[TokenResponse | None]]:
    """Use the code, whose grant and tokens are made now."""
    settings, now = request.services.settings, request.now
    grant_id = GrantId(new_id())
    access_token = tokens.mint(tokens.ACCESS_TOKEN_PREFIX)
    refresh_token = refresh_tokens.mint(request.services.keys, grant_id, 0)
    new = NewGrant(
        grant_id,
        now + clock.seconds(settings.grant_ttl),
        tokens.digest(refresh_token),
        tokens.digest(access_token),
        now + clock.seconds(settings.access_token_ttl),
        request.services.keys.in_use,
    )

    async def exchange() -> TokenResponse | None:
        issued = await store.exchange(request.services.db, binding, new, now, sent.proof, resource)
        if issued is None:
            return None
        pair = TokenPair(access_token, refresh_token if scopes.OFFLINE.within(issued.scopes) else None)
        return _response(request, sent, issued, pair)

    return exchange


async def _refuse_code(
    tx: Tx,
    request: Request,
    client: VerifiedClient,
    binding: CodeBinding,
    key: bytes | None,
    resource: Resource | None,
) -> ApiError:
    """The error of a code that cannot be exchanged. If it was, its grant is revoked."""
    replayed = await store.revoke_by_replayed_code(tx, binding, key, request.now)
    if replayed is None:
        if resource is not None:
            granted = await store.find_resource_of_code(tx, binding, key, request.now)
            if granted not in {None, resource}:
                return OtherTarget()
        return InvalidGrant(detail="code unknown, used, expired or not matching")
    await _record_replay(tx, request, client, replayed, "code_replayed")
    return InvalidGrant(detail="code replayed, grant revoked")


def _code_binding(sent: SentCredentials, form: Form) -> CodeBinding:
    code, redirect_uri, verifier = form.one("code"), form.one("redirect_uri"), form.one("code_verifier")
    if code is None:
        raise InvalidRequest("`code` is required.")
    if redirect_uri is None:
        raise InvalidRequest("`redirect_uri` is required.")
    if verifier is not None and not client_auth.is_valid_verifier(verifier):
        raise InvalidRequest(
            "`code_verifier` must be 43 to 128 characters long and use only letters, digits, `-`, `.`, `_` and `~`."
        )
    if verifier is None:
        raise InvalidGrant("`code_verifier` is required.")
    if not tokens.is_well_formed(tokens.AUTHORIZATION_CODE_PREFIX, code):
        raise InvalidGrant(detail="not a code")
    return CodeBinding(sent.client_id, tokens.digest(code), redirect_uri, client_auth.challenge_of(verifier))


def _refresh(request: Request, sent: SentCredentials, form: Form) -> TokenAttempt:
    encoded = form.one("refresh_token")
    if encoded is None:
        raise InvalidRequest("`refresh_token` is required.")
    requested, resource = _requested_scopes(form), _resource(request, form)
    keys, now = request.services.keys, request.now
    token = refresh_tokens.parse(keys, encoded)
    if token is None:
        raise InvalidGrant(detail="not a refresh token")
    key = refresh_retries.sent_key(request)
    retries = None if key is None else Retries(sent, encoded, requested, key)
    stays_offline = requested is None or scopes.OFFLINE.within(requested)
    pair = TokenPair(
        tokens.mint(tokens.ACCESS_TOKEN_PREFIX),
        refresh_tokens.mint(keys, token.grant_id, token.generation + 1) if stays_offline else None,
    )
    new = NewTokens(
        requested,
        resource,
        tokens.digest(pair.refresh_token) if pair.refresh_token else None,
        tokens.digest(pair.access_token),
        now + clock.seconds(request.services.settings.access_token_ttl),
    )

    async def refresh() -> TokenResponse | None:
        issued = await store.refresh(request.services.db, sent.client_id, token, new, now, sent.proof)
        return None if issued is None else _response(request, sent, issued, pair)

    if retries is None:
        return TokenAttempt(refresh, lambda tx, client: _refuse_refresh(tx, request, client, token, sent, resource))
    asked = RetryRequest(retries.request_hash, requested, resource)
    retry = NewRetry(now + clock.seconds(REFRESH_RETRY_S), retries.request_hash, retries.encrypt(pair))

    async def refresh_or_repeat() -> TokenResponse | None:
        db, proof = request.services.db, sent.proof
        issued = await store.refresh_retryably(db, sent.client_id, token, new, retry, now, proof)
        if issued is not None:
            return _response(request, sent, issued, pair)
        stored = await store.find_retry(db, sent.client_id, token, asked, now, proof)
        return None if stored is None else _response(request, sent, stored.issued, retries.open(stored.encrypted_tokens))

    return TokenAttempt(refresh_or_repeat, lambda tx, client: _refuse_retry(tx, request, client, token, sent, asked))


async def _refuse_retry(
    tx: Tx, request: Request, client: VerifiedClient, token: RefreshToken, sent: SentCredentials, asked: RetryRequest
) -> ApiError:
    """The error of a refresh with a key. One that may be repeated ends nothing, whatever else has changed."""
    await store.lock_grant(tx, client.client_id, token.grant_id)
    error = await store.find_error_of_retry(tx, client.client_id, token, asked, request.now)
    if error is None:
        return await _refuse_refresh(tx, request, client, token, sent, asked.resource)
    if error == "grant":
        return InvalidGrant(detail="the grant of a repeated refresh has changed")
    return OtherTarget() if error == "target" else _ungranted_scope()


async def _refuse_refresh(
    tx: Tx,
    request: Request,
    client: VerifiedClient,
    token: RefreshToken,
    sent: SentCredentials,
    resource: Resource | None,
) -> ApiError:
    """The error of a refresh token that cannot be used. If it was replaced, its grant is revoked."""
    replayed = await store.revoke_by_replayed_refresh_token(tx, client.client_id, token, request.now)
    if replayed is not None:
        await _record_replay(tx, request, client, replayed, "refresh_replayed")
        return InvalidGrant(
            "The refresh token was replaced and used again, so the grant was revoked. The merchant must connect again.",
            detail="refresh token replayed, grant revoked",
        )
    granted = await store.find_resource_of_refresh_token(tx, client.client_id, token, sent.proof.key, request.now)
    if granted is None:
        return InvalidGrant(detail="refresh token not current, or bound to another key")
    return _ungranted_scope() if resource in {None, granted} else OtherTarget()


def _ungranted_scope() -> InvalidScope:
    return InvalidScope("`scope` must contain only granted scopes. Omit it to keep them all.")


REPLAYS: dict[EndedReason, str] = {"code_replayed": "code replayed", "refresh_replayed": "refresh token replayed"}


async def _record_replay(
    tx: Tx, request: Request, client: VerifiedClient, revoked: ChangedConnection, ended_reason: EndedReason
) -> None:
    work = Work(tx, request.services, request.now, request.actor_of("application", client.client_id))
    await connections.record_revocation(work, revoked, REPLAYS[ended_reason], ended_reason)


def _resource(request: Request, form: Form) -> Resource | None:
    return resources.requested(form, request.services.settings.base_url)


def _requested_scopes(form: Form) -> Scopes | None:
    """The scopes of a refresh; None for every granted scope."""
    sent = form.one("scope")
    if sent is None:
        return None
    requested = scopes.parse(name for name in sent.split(" ") if name)
    if requested is None:
        raise InvalidScope("`scope` contains an unknown scope.")
    if not requested.has_api:
        raise InvalidScope("`scope` must contain at least one scope besides offline_access.")
    return requested


def _response(request: Request, sent: SentCredentials, issued: IssuedToken, pair: TokenPair) -> TokenResponse:
    expires_in = int((issued.expires_at - request.now).total_seconds())
    details = granted(issued.limits, request.services.catalogue)
    scope, refresh = issued.scopes.text(), pair.refresh_token or UNSET
    token_type = "Bearer" if sent.proof.key is None else "DPoP"
    return TokenResponse(pair.access_token, token_type, expires_in, scope, refresh, details or UNSET)


ATTEMPTS: dict[str, Callable[[Request, SentCredentials, Form], TokenAttempt]] = {
    "authorization_code": _exchange,
    "refresh_token": _refresh,
    DEVICE_CODE_GRANT: _redeem_device_code,
}
