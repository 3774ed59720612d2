"""Client authentication at the token and revocation endpoints, by exactly one method per request (RFC 6749 section 2.3).

Also the proof key for code exchange, method S256 only (RFC 7636).
"""

import base64
import binascii
import hashlib
import hmac
import re
from typing import Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, structs

from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.throttle import FailureLimit
from tollhouse.http import forms
from tollhouse.http.forms import Form
from tollhouse.http.request import Request
from tollhouse.kernel import base64url, tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.limits import CHALLENGE_CHARS, VERIFIER_CHARS_MAX, VERIFIER_CHARS_MIN
from tollhouse.oauth import assertions, clients_store
from tollhouse.oauth.model import InvalidClient, TooManyFailures, VerifiedClient, stored_id
from tollhouse.oauth.store import ClientProof

PARAMETERS = ("client_id", "client_secret", "client_assertion", "client_assertion_type")
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
NO_HASH = bytes(32)
"""Compared with for unknown clients, so that they take the same time."""

VERIFIER = re.compile(rf"[A-Za-z0-9._~-]{{{VERIFIER_CHARS_MIN},{VERIFIER_CHARS_MAX}}}")
CHALLENGE = re.compile(rf"[A-Za-z0-9_-]{{{CHALLENGE_CHARS}}}")


class ClientParameters(Struct, frozen=True):
    """The parameters by which a client authenticates in the body."""

    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET
    client_assertion: str | UnsetType = UNSET
    """A token that the application has signed, instead of a secret (`private_key_jwt`)."""
    client_assertion_type: Literal["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"] | UnsetType = UNSET
    """Kind of `client_assertion`. Required with it.

    urn:ietf:params:oauth:client-assertion-type:jwt-bearer: A signed token.
    """


class SentCredentials(NamedTuple):
    """The credentials of a request. A public client sends no secret; for one that signs, a digest stands for its keys."""

    client_id: ClientId
    proof: ClientProof

    def with_key(self, key: bytes | None) -> "SentCredentials":
        """These credentials, with the key that the request has proved."""
        return self if key is None else self._replace(proof=structs.replace(self.proof, key=key))


async def credentials(request: Request, form: Form) -> SentCredentials:
    """The credentials that were sent; an assertion is verified and used.

    Raises `InvalidRequest` for more than one method, `InvalidClient`, or `TooManyFailures`.
    """
    header = request.headers.getlist("authorization")
    client_id, secret = form.one("client_id"), form.one("client_secret")
    assertion, assertion_type = form.one("client_assertion"), form.one("client_assertion_type")
    if len(header) + (secret is not None) + (assertion is not None or assertion_type is not None) > 1:
        raise InvalidRequest(
            "Use exactly one method of client authentication: HTTP Basic, `client_id` and `client_secret` in the body, or "
            "`client_assertion`."
        )
    if assertion is not None or assertion_type is not None:
        return await _prove(request, client_id, assertion, assertion_type)
    if header:
        sent = _parse_basic(header[0])
        if client_id is not None and client_id != sent.client_id:
            raise InvalidRequest("`client_id` in the body must be the client ID of the Authorization header.")
        return sent
    if client_id is None:
        raise InvalidClient(detail="no credential")
    if secret is None:
        return SentCredentials(stored_id(client_id), ClientProof(None, "none"))
    return SentCredentials(stored_id(client_id), ClientProof(tokens.digest(secret), "client_secret_post"))


async def authenticate(request: Request, form: Form, *, while_suspended: bool = False) -> VerifiedClient:
    """Authenticate the client of a request: see `credentials` and `verify`."""
    return await verify(request, await credentials(request, form), while_suspended=while_suspended)


async def verify(request: Request, sent: SentCredentials, *, while_suspended: bool = False) -> VerifiedClient:
    """Authenticate the client.

    Raises `InvalidClient`, or `TooManyFailures` after too many failures. An unknown client and a wrong secret get the same
    response. A paused client can authenticate, but its codes and tokens are invalid. A suspended one can only
    `while_suspended`.
    """
    client = await clients_store.find_credentials(request.services.db, sent.client_id)
    matches = _matches(sent.proof.secret_hash, client.secret_hash if client else NO_HASH)
    matches = matches and (client is None or client.auth_method in {None, sent.proof.method})
    if client is None or not matches or client.status == "revoked":
        await _count_failure(request, sent.client_id)
        raise InvalidClient(detail="unknown" if client is None else "wrong secret" if not matches else "revoked")
    if client.suspended and not while_suspended:
        raise InvalidClient("This application is suspended.", detail="suspended")
    return VerifiedClient(client.client_id, client.secret_hash is None, client.dpop_bound)


async def _prove(
    request: Request, client_id: str | None, assertion: str | None, assertion_type: str | None
) -> SentCredentials:
    """Verify and use an assertion. A failure counts as a wrong secret does."""
    claimed = None if assertion is None else assertions.claimed_client_id(assertion)
    is_complete = assertion_type == ASSERTION_TYPE and client_id in {None, claimed}
    if assertion is None or claimed is None or not is_complete:
        await _count_failure(request, claimed or client_id or "")
        raise InvalidClient(detail="malformed assertion, or of another client")
    try:
        secret_hash = await assertions.prove(request.services, ClientId(claimed), assertion, request.now)
    except InvalidClient:
        await _count_failure(request, claimed)
        raise
    return SentCredentials(ClientId(claimed), ClientProof(secret_hash, "private_key_jwt"))


async def _count_failure(request: Request, client_id: str) -> None:
    """Count a failure. Raises `TooManyFailures`.

    Successes are never limited: 256 bits cannot be guessed, and clients can share an address.
    """
    settings = request.services.settings
    limit = settings.rate_client_auth_per_min * settings.rate_limits
    name = f"{throttle.network_of(request.address)} {client_id}"
    failure_limit = FailureLimit("client", name, limit, throttle.MINUTE)
    wait = await throttle.record_failure(request.services.db, [failure_limit], request.now)
    if wait is not None:
        raise TooManyFailures(wait)


def _matches(sent_hash: bytes | None, secret_hash: bytes | None) -> bool:
    if secret_hash is None:
        return sent_hash is None
    return hmac.compare_digest(sent_hash or NO_HASH, secret_hash)


def _parse_basic(header: str) -> SentCredentials:
    """Split at the first colon, then form-decode both parts (RFC 6749 section 2.3.1)."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient(detail="not Basic")
    try:
        client_id, colon, secret = base64.b64decode(encoded.strip(" "), validate=True).partition(b":")
        proof = ClientProof(tokens.digest(forms.decode(secret)), "client_secret_basic")
        sent = SentCredentials(ClientId(forms.decode(client_id)), proof)
    except (binascii.Error, ValueError, InvalidRequest):
        raise InvalidClient(detail="malformed Basic") from None
    if not colon:
        raise InvalidClient(detail="malformed Basic")
    return sent


def is_valid_verifier(verifier: str) -> bool:
    """Whether this is a code verifier: 43 to 128 unreserved characters."""
    return VERIFIER.fullmatch(verifier) is not None


def challenge_of(verifier: str) -> bytes:
    """The SHA-256 of a verifier, 32 bytes."""
    return hashlib.sha256(verifier.encode()).digest()


def parse_challenge(text: str) -> bytes | None:
    """The 32 bytes of a base64url challenge; None if it is not one."""
    return base64url.decode(text) if CHALLENGE.fullmatch(text) else None
