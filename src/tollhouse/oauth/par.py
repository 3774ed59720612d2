"""Pushed authorization requests (RFC 9126): the application sends the parameters itself, and the browser only a reference.

The parameters and their rules are those of the authorization endpoint. Errors are JSON: there is no browser to redirect.
"""

from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, field, structs
from starlette.responses import Response

from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.guards import client as client_guard
from tollhouse.accounts.identity.throttle import RateLimited, RequestMeter
from tollhouse.http.operations import PROTOCOL, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import PUSHED_REQUEST_S
from tollhouse.oauth import client_auth, client_documents, clients_store, proofs, requests_store
from tollhouse.oauth.authorization_details_model import InvalidAuthorizationDetails
from tollhouse.oauth.authorize import REQUEST_URI_PREFIX, AuthorizeQuery, address_limits
from tollhouse.oauth.model import InvalidClient, InvalidScope, TooManyFailures, UnsupportedResponseType, VerifiedClient
from tollhouse.oauth.proofs import InvalidDpopProof
from tollhouse.oauth.request_rules import BEFORE_REDIRECT, BY_REDIRECT, SentParameters, authorization_request
from tollhouse.oauth.resources import InvalidTarget

OPERATIONS = Operations(PROTOCOL)
REQUESTS = RequestMeter(places=4_096)


class PushedForm(AuthorizeQuery, frozen=True, kw_only=True):
    """The parameters of an authorization request, and the client's credentials."""

    client_secret: str | UnsetType = UNSET
    client_assertion: str | UnsetType = UNSET
    """A token that the application has signed, instead of a secret (`private_key_jwt`)."""
    client_assertion_type: Literal["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"] | UnsetType = UNSET
    """Kind of `client_assertion`. Required with it.

    urn:ietf:params:oauth:client-assertion-type:jwt-bearer: A signed token.
    """


class PushHeaders(Struct, frozen=True):
    """The header that counts besides `Authorization`."""

    dpop: str | UnsetType = field(name="DPoP", default=UNSET)
    """Proof of the key that will exchange the code (RFC 9449), instead of `dpop_jkt`."""


class PushedRequest(Struct, frozen=True):
    """The reference to a pushed request (RFC 9126 section 2.2)."""

    request_uri: Annotated[str, example("urn:ietf:params:oauth:request_uri:4qPXcMbF…")]
    """Reference for the authorization endpoint, beside `client_id`. It is for one connection."""
    expires_in: Annotated[int, example(90)]
    """Seconds until the browser must have come with it."""


class TooManyPushes(RateLimited):
    """429: too many authorization requests were pushed by this application, or from this address."""

    code, message = "temporarily_unavailable", "Too many authorization requests were pushed. Try again later."


@OPERATIONS.add(
    "POST",
    "/api/v2/oauth/par",
    guard=client_guard,
    status=201,
    errors=(
        InvalidRequest,
        InvalidClient,
        TooManyFailures,
        TooManyPushes,
        UnsupportedResponseType,
        InvalidScope,
        InvalidTarget,
        InvalidAuthorizationDetails,
        InvalidDpopProof,
    ),
    reads=PushedForm,
    headers=PushHeaders,
    responses=PushedRequest,
)
async def push(request: Request) -> Response:
    """Push an authorization request. Send the browser to the authorization endpoint with `client_id` and `request_uri`."""
    form = request.form()
    form.require_no_repeats(client_auth.PARAMETERS)
    await client_documents.prepare(request, form.one("client_id"), next(iter(form.all("mode")), None))
    verified = await client_auth.authenticate(request, form)
    client = await clients_store.find_registered(request.services.db, verified.client_id)
    if client is None or client.status != "enabled":
        raise InvalidClient(detail="paused")
    if form.all("request_uri"):
        raise InvalidRequest("`request_uri` must not be pushed.")
    sent = SentParameters(form, client, request.services.settings.base_url, request.services.catalogue)
    for rule in (*BEFORE_REDIRECT, *BY_REDIRECT):
        rule(sent)
    await _count(request, verified)
    key = await proofs.proven_key(request)
    if key is not None and sent.dpop_jkt not in {None, key}:
        raise InvalidDpopProof("`dpop_jkt` must be the thumbprint of the key of the DPoP proof.")
    # Nothing below this line may refuse.
    request_id, expires_at = tokens.random_base62(tokens.BODY_CHARS), request.now + clock.seconds(PUSHED_REQUEST_S)
    new = structs.replace(authorization_request(sent), dpop_jkt=key or sent.dpop_jkt)
    id_hash, keys = tokens.digest(request_id), request.services.keys
    await requests_store.insert(request.services.db, id_hash, new, keys.in_use, request.now, expires_at, is_pushed=True)
    return json_response(PushedRequest(REQUEST_URI_PREFIX + request_id, PUSHED_REQUEST_S), 201)


async def _count(request: Request, client: VerifiedClient) -> None:
    """Count a request: of an application with a secret, else of the address. Raises `TooManyPushes`."""
    settings = request.services.settings
    if client.is_public:
        limits = address_limits(request, "push from")
        wait = await throttle.record_failure(request.services.db, limits, request.now)
        if wait is not None:
            raise TooManyPushes(wait)
    elif settings.rate_limits and settings.rate_api_per_min:
        try:
            REQUESTS.count(UUID(bytes=tokens.digest(client.client_id)[:16]), settings.rate_api_per_min, request.now)
        except RateLimited as error:
            raise TooManyPushes(timedelta(seconds=error.wait_s)) from None
