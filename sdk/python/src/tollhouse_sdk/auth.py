"""What a request is authenticated with: an API key, or the tokens of a connection, which refresh themselves."""

import json
import secrets
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from tollhouse_sdk.errors import ApiError, ConnectionFailed, NotConnected, error_of
from tollhouse_sdk.locks import acquired
from tollhouse_sdk.paths import OAUTH
from tollhouse_sdk.retries import Retries, send_repeatedly
from tollhouse_sdk.steps import Answer, Flow, Send, run
from tollhouse_sdk.tokens import Grant, TokenStorage

OK = 200
SERVER_ERROR = 500
LOCK_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Issuer:
    """The service as an authorization server, and how patiently it is called."""

    base_url: str
    retries: Retries


class Auth(Protocol):
    """Adds a credential to requests."""

    def headers(self, issuer: Issuer) -> Flow[dict[str, str]]:
        """The headers of the next request."""
        ...

    def renewed(self, issuer: Issuer, rejected: Mapping[str, str]) -> Flow[dict[str, str] | None]:
        """Other headers, after these were answered with `invalid_token`; None where there are no others."""
        ...


class ApiKey:
    """An API key of the merchant."""

    def __init__(self, api_key: str) -> None:
        self._headers = {"X-API-Key": api_key}

    def headers(self, issuer: Issuer) -> Flow[dict[str, str]]:  # noqa: ARG002 - the protocol has it
        """The key."""
        yield from ()
        return self._headers

    def renewed(self, issuer: Issuer, rejected: Mapping[str, str]) -> Flow[dict[str, str] | None]:  # noqa: ARG002 - see above
        """A key stays as it is."""
        yield from ()
        return None


class ClientCredentials:
    """Who the application is, at the token endpoint. A public client has no secret."""

    def __init__(self, client_id: str, client_secret: str | None = None) -> None:
        self.client_id = client_id
        self._secret = client_secret

    def request(self, base_url: str, path: str, fields: Mapping[str, str], **headers: str) -> Send:
        """A form with the client's credentials."""
        form = dict(fields)
        more = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        if self._secret is None:
            form["client_id"] = self.client_id
        else:
            pair = f"{quote(self.client_id, safe='')}:{quote(self._secret, safe='')}"
            more["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        return Send("POST", f"{base_url}{OAUTH}/{path}", more, urlencode(form).encode())


def grant_of(answer: Answer) -> Grant:
    """The tokens of a response of the token endpoint."""
    body: dict[str, Any] = json.loads(answer.content)
    return Grant(
        access_token=body["access_token"],
        expires_at=time.time() + body["expires_in"],
        scope=body["scope"],
        refresh_token=body.get("refresh_token"),
    )


class OAuth:
    """The tokens of a connection. They are refreshed by one process at a time, before they expire or when one is rejected.

    A refresh is written down before it is sent. A process that finds one that another has begun repeats it as it was, and
    gets the same tokens: so neither a lost response nor a killed process ends the connection.
    """

    def __init__(
        self, client_id: str, client_secret: str | None = None, *, tokens: TokenStorage, margin_s: float = 60
    ) -> None:
        self._client = ClientCredentials(client_id, client_secret)
        self._tokens = tokens
        self._margin_s = margin_s
        self._grant: Grant | None = None

    def headers(self, issuer: Issuer) -> Flow[dict[str, str]]:
        """The access token, refreshed first if it is about to expire."""
        grant = self._grant
        if grant is None or not grant.is_fresh(self._margin_s):
            grant = yield from run(self._tokens.load)
            if grant is None:
                raise NotConnected("No tokens are stored: the merchant has not connected yet.")
            if not grant.is_fresh(self._margin_s) and grant.refresh_token is not None:
                grant = yield from self._refreshed_early(issuer, grant)
            self._grant = grant
        return {"Authorization": f"Bearer {grant.access_token}"}

    def renewed(self, issuer: Issuer, rejected: Mapping[str, str]) -> Flow[dict[str, str] | None]:
        """The access token of a refresh, which may be one that another process has made."""
        stale = rejected["Authorization"].removeprefix("Bearer ")
        self._grant = yield from self._refreshed(issuer, stale)
        return None if self._grant.access_token == stale else {"Authorization": f"Bearer {self._grant.access_token}"}

    def _refreshed_early(self, issuer: Issuer, grant: Grant) -> Flow[Grant]:
        """The tokens after a refresh. While the old ones last, a service that does not answer is no problem."""
        try:
            return (yield from self._refreshed(issuer, grant.access_token))
        except (ConnectionFailed, ApiError) as problem:
            is_passing = isinstance(problem, ConnectionFailed) or problem.status >= SERVER_ERROR
            if is_passing and time.time() < grant.expires_at:
                return replace(grant, refresh_key=None)
            raise

    def _refreshed(self, issuer: Issuer, stale: str) -> Flow[Grant]:
        lock = yield from run(self._tokens.lock)
        yield from acquired(lock, LOCK_TIMEOUT_S)
        try:
            grant = yield from run(self._tokens.load)
            if grant is None:
                raise NotConnected("The tokens are gone: the merchant has to connect again.")
            if grant.access_token != stale or grant.refresh_token is None:
                return grant
            if grant.refresh_key is None:
                grant = replace(grant, refresh_key=secrets.token_urlsafe(32))
                yield from self._saved(grant)
            return (yield from self._exchanged(issuer, grant))
        finally:
            lock.release()

    def _exchanged(self, issuer: Issuer, grant: Grant) -> Flow[Grant]:
        fields = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token or ""}
        key = {"Idempotency-Key": grant.refresh_key or ""}
        request = self._client.request(issuer.base_url, "token", fields, **key)
        answer = yield from send_repeatedly(request, issuer.retries, is_safe=True)
        if answer.status != OK:
            error = error_of(answer)
            if error.code != "invalid_grant":
                raise error
            yield from self._saved(replace(grant, refresh_token=None, refresh_key=None))
            raise NotConnected("The connection has ended: the merchant has to connect again.") from error
        new = grant_of(answer)
        yield from self._saved(new)
        return new

    def _saved(self, grant: Grant) -> Flow[None]:
        yield from run(lambda: self._tokens.save(grant))
