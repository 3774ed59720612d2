"""Client authentication at the token and revoke endpoints: exactly one method a request (RFC 6749 section 2.3)."""

import base64
import binascii
import hmac
from datetime import timedelta
from typing import NamedTuple

from tollhouse.http import forms
from tollhouse.http.forms import Form
from tollhouse.http.request import Request
from tollhouse.identity import throttle
from tollhouse.identity.throttle import FailureLimit
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.oauth import clients_store
from tollhouse.oauth.model import InvalidClient, TooManyFailures, VerifiedClient
from tollhouse.platform.db import Pool, Tx

PARAMETERS = ("client_id", "client_secret", "client_assertion", "client_assertion_type")
NOBODY = bytes(32)
FAILURES_SPAN = timedelta(minutes=1)


class Presented(NamedTuple):
    """Who an application says it is, and its proof. A secret of None is a public client's way."""

    client_id: str
    secret: str | None


async def verify(db: Pool | Tx, request: Request, form: Form, *, while_suspended: bool = False) -> VerifiedClient:
    """The application that calls. Raises `InvalidRequest` for more than one method, else `InvalidClient`.

    Failures that come too fast are `TooManyFailures` instead. An unknown application and a wrong secret are one answer.
    A paused application still authenticates: it is its codes and tokens that are dead. A suspended one does only
    `while_suspended`.
    """
    presented = _presented(request, form)
    client = await clients_store.secret(db, presented.client_id)
    proved = _proves(presented.secret, client.secret_hash if client else NOBODY)
    if client is None or not proved or client.status == "revoked":
        await _refuse_too_many(db, request, presented.client_id)
        raise InvalidClient(detail="unknown" if client is None else "wrong proof" if not proved else "revoked")
    if client.suspended and not while_suspended:
        raise InvalidClient("This application is suspended.", detail="suspended")
    return VerifiedClient(client.client_id)


async def _refuse_too_many(db: Pool | Tx, request: Request, client_id: str) -> None:
    """Count a failure. A right secret is never kept waiting: nobody guesses 256 bits, and neighbours share addresses."""
    settings = request.services.settings
    most = settings.rate_client_auth_per_min * settings.rate_limits
    watch = FailureLimit("client", f"{throttle.network_of(request.address)} {client_id}", most, FAILURES_SPAN)
    wait = await throttle.record_failure(db, [watch], request.now)
    if wait is not None:
        raise TooManyFailures(wait)


def _proves(secret: str | None, kept: bytes | None) -> bool:
    """Whether the secret is the one we keep the digest of; without one, whether none was sent."""
    if kept is None:
        return secret is None
    return hmac.compare_digest(tokens.digest(secret or ""), kept)


def _presented(request: Request, form: Form) -> Presented:
    header = request.headers.getlist("authorization")
    client_id, secret = form.one("client_id"), form.one("client_secret")
    assertion = form.one("client_assertion") or form.one("client_assertion_type")
    if len(header) + (secret is not None) + (assertion is not None) > 1:
        raise InvalidRequest("Authenticate by exactly one method: HTTP Basic, or client_id and client_secret in the body.")
    if assertion is not None:
        raise InvalidClient(detail="assertion")
    if header:
        presented = _basic(header[0])
        if client_id is not None and client_id != presented.client_id:
            raise InvalidRequest("The client_id of the body is not the one that authenticates.")
        return presented
    if client_id is None:
        raise InvalidClient(detail="no credential")
    return Presented(client_id, secret)


def _basic(header: str) -> Presented:
    """Split at the first colon, then decode each half as a form does (RFC 6749 section 2.3.1)."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient(detail="not Basic")
    try:
        client_id, colon, secret = base64.b64decode(encoded.strip(" "), validate=True).partition(b":")
        presented = Presented(forms.decode(client_id), forms.decode(secret))
    except (binascii.Error, ValueError, InvalidRequest):
        raise InvalidClient(detail="malformed Basic") from None
    if not colon:
        raise InvalidClient(detail="malformed Basic")
    return presented
