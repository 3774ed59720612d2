"""Authlib and requests-oauthlib, driven the way their documentation says."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import authlib.integrations.requests_client as authlib_requests
import requests_oauthlib
from authlib.integrations.base_client.errors import OAuthError
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import ECKey
from oauthlib.oauth2 import OAuth2Error
from requests.auth import HTTPBasicAuth

from tests.clients.driven import RefusedError, Registration
from tests.oauth.signatures import at

AUTHLIB_METHODS = {"basic": "client_secret_basic", "body": "client_secret_post", "keys": "private_key_jwt", "none": "none"}


class ShortAssertions(PrivateKeyJWT):
    """Authlib signs for an hour, and repeats the `jti` where it is given other claims: they must be new each time.

    The audience is the issuer, which the library calls the token endpoint.
    """

    def __init__(self, issuer: str, kid: str) -> None:
        super().__init__(issuer, headers={"kid": kid}, alg="ES256")  # pyright: ignore[reportUnknownMemberType]

    def sign(self, auth: Any, token_endpoint: Any) -> Any:
        """An assertion for a minute."""
        self.claims = {"exp": at(60)}
        return super().sign(auth, token_endpoint)  # pyright: ignore[reportUnknownMemberType]


class AuthlibClient:
    """Authlib's session for requests. It refreshes with the scope it holds, so it is told what was granted.

    It has neither pushed requests nor tokens that are bound to a key: the requests are pushed by its authentication, and the
    tokens are bearer tokens.
    """

    session: Any
    metadata: Any

    async def discover(self, registration: Registration) -> str:
        """Authlib reads metadata in its web frameworks only; here its session fetches the document."""
        self.registration = registration
        self.session = authlib_requests.OAuth2Session(
            registration.client_id,
            ECKey.import_key(registration.key) if registration.key else registration.client_secret,
            token_endpoint_auth_method=AUTHLIB_METHODS[registration.method],
            revocation_endpoint_auth_method=AUTHLIB_METHODS[registration.method],
            redirect_uri=registration.redirect_uri,
            code_challenge_method="S256",
        )
        self.metadata = await _fetch(self.session, registration.issuer)
        if registration.key:
            self.session.register_client_auth_method(ShortAssertions(registration.issuer, registration.key["kid"]))
        self.named = {"resource": f"{registration.issuer}/api/v2/integration"} if registration.extras else {}
        return self.metadata["issuer"]

    async def authorize(self, scope: str, details: str = "") -> str:
        """With a verifier that Authlib makes the challenge of."""
        self.session.scope = scope
        self.verifier = "Authlib-leaves-it-to-us.~" * 2
        more = {**self.named, **({"authorization_details": details} if details else {})}
        endpoint = self.metadata["authorization_endpoint"]
        url, self.state = self.session.create_authorization_url(endpoint, code_verifier=self.verifier, mode="test", **more)
        if not self.registration.extras:
            return url
        fields = dict(parse_qsl(urlsplit(str(url)).query))
        if self.registration.method in {"body", "none"}:
            del fields["client_id"]  # which the authentication adds
        pushed = await self._post(self.metadata["pushed_authorization_request_endpoint"], fields)
        return f"{endpoint}?{urlencode({'client_id': self.registration.client_id, 'request_uri': pushed['request_uri']})}"

    async def exchange(self, callback: str) -> dict[str, Any]:
        """Authlib checks the state, but takes a callback with an error for one without a code: that is left to us."""
        error = parse_qs(urlsplit(callback).query).get("error")
        if error:
            raise RefusedError(error[0], callback)
        tokens = await self._request(
            self.session.fetch_token,
            self.metadata["token_endpoint"],
            authorization_response=callback,
            state=self.state,
            code_verifier=self.verifier,
            **self.named,
        )
        self.session.scope = tokens["scope"]
        return tokens

    async def refresh(self) -> dict[str, Any]:
        """With the refresh token of before."""
        return await self._request(self.session.refresh_token, self.metadata["token_endpoint"])

    async def revoke(self) -> None:
        """By the refresh token."""
        token = self.session.token["refresh_token"]
        answer = await self._request(self.session.revoke_token, self.metadata["revocation_endpoint"], token)
        assert answer.status_code == 200

    async def read(self, url: str) -> dict[str, Any]:
        """The session adds the token."""
        return (await asyncio.to_thread(self.session.get, url)).json()

    async def start(self, scope: str, details: str = "") -> dict[str, Any]:
        """Authlib leaves the request for the codes to us."""
        fields = {"scope": scope, "mode": "test", **self.named, **({"authorization_details": details} if details else {})}
        self.device = await self._post(self.metadata["device_authorization_endpoint"], fields)
        return self.device

    async def poll(self) -> dict[str, Any]:
        """As its documentation says."""
        grant_type, code = "urn:ietf:params:oauth:grant-type:device_code", self.device["device_code"]
        tokens = await self._request(
            self.session.fetch_token, self.metadata["token_endpoint"], grant_type=grant_type, device_code=code
        )
        self.session.scope = tokens["scope"]
        return tokens

    async def introspect(self) -> dict[str, Any]:
        """By the access token."""
        token = self.session.token["access_token"]
        answer = await self._request(self.session.introspect_token, self.metadata["introspection_endpoint"], token)
        return answer.json()

    async def _post(self, url: str, fields: dict[str, str]) -> dict[str, Any]:
        """A form with the authentication of the session."""
        auth = self.session.client_auth(AUTHLIB_METHODS[self.registration.method])
        answer = await self._request(self.session.request, "POST", url, data=fields, auth=auth, withhold_token=True)
        assert answer.ok, answer.text
        return answer.json()

    async def _request(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except OAuthError as problem:
            raise RefusedError(problem.error, str(problem)) from problem


class RequestsOAuthlibClient:
    """requests-oauthlib's session. It has no revocation: that is a request of one's own with its authentication."""

    session: Any
    metadata: Any
    auth: Any

    async def discover(self, registration: Registration) -> str:
        """It knows no metadata; its session fetches the document."""
        self.registration = registration
        self.session = requests_oauthlib.OAuth2Session(
            registration.client_id, redirect_uri=registration.redirect_uri, pkce="S256"
        )
        basic = registration.method == "basic"
        self.auth = HTTPBasicAuth(registration.client_id, registration.client_secret or "") if basic else None
        self.metadata = await _fetch(self.session, registration.issuer)
        return self.metadata["issuer"]

    async def authorize(self, scope: str, details: str = "") -> str:
        """It makes verifier, challenge and state."""
        self.session.scope = scope.split(" ")
        more = {"authorization_details": details} if details else {}
        return self.session.authorization_url(self.metadata["authorization_endpoint"], mode="test", **more)[0]

    async def exchange(self, callback: str) -> dict[str, Any]:
        """With `include_client_id` for public clients and the body; the session has to be told what was granted."""
        tokens = await self._request(
            self.session.fetch_token,
            self.metadata["token_endpoint"],
            authorization_response=callback,
            include_client_id=self.auth is None,
            client_secret=self.registration.client_secret if self.registration.method == "body" else None,
            auth=self.auth,
        )
        self.session.scope = tokens["scope"]
        return tokens

    async def refresh(self) -> dict[str, Any]:
        """Credentials for the body are parameters like any other here."""
        return await self._request(
            self.session.refresh_token, self.metadata["token_endpoint"], auth=self.auth or _no_auth, **self._body()
        )

    async def revoke(self) -> None:
        """By the access token, with a request of our own."""
        fields = {"token": self.session.token["access_token"], **self._body()}
        answer = await asyncio.to_thread(
            self.session.request,
            "POST",
            self.metadata["revocation_endpoint"],
            data=fields,
            auth=self.auth or _no_auth,
            withhold_token=True,
        )
        assert answer.status_code == 200, answer.text

    def _body(self) -> dict[str, str]:
        if self.auth is not None:
            return {}
        secret = self.registration.client_secret
        return {"client_id": self.registration.client_id} | ({"client_secret": secret} if secret else {})

    async def _request(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except OAuth2Error as problem:
            raise RefusedError(problem.error, str(problem)) from problem


async def _fetch(session: Any, issuer: str) -> Any:
    address = f"{issuer}/.well-known/oauth-authorization-server"
    answer = await asyncio.to_thread(session.request, "GET", address, withhold_token=True)
    assert answer.status_code == 200
    return answer.json()


def _no_auth(request: Any) -> Any:
    """Keeps requests from authenticating on its own account."""
    return request
