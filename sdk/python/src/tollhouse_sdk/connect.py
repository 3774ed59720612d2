"""How an application gets a connection: by the browser of a merchant, or by a code that is typed on another device."""

import hashlib
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from tollhouse_sdk.auth import OK, ClientCredentials, grant_of
from tollhouse_sdk.errors import CallbackInvalid, error_of
from tollhouse_sdk.paths import OAUTH
from tollhouse_sdk.paths import base_url as checked_url
from tollhouse_sdk.retries import Retries, send_repeatedly
from tollhouse_sdk.steps import Answer, Flow, Send, wait
from tollhouse_sdk.tokens import Grant
from tollhouse_sdk.transports import AsyncClosing, AsyncTransport, Closing, Transport

Mode = Literal["live", "test"]
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOW_DOWN_S = 5


@dataclass(frozen=True)
class Authorization:
    """An authorization under way. Keep it in the session of the browser; send the browser to `url`."""

    url: str
    state: str
    verifier: str
    redirect_uri: str


@dataclass(frozen=True)
class DeviceCode:
    """A code for a person: to be typed at `verification_uri` within `expires_in` seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class ConnectFlows:
    """What an application does at the OAuth endpoints."""

    def __init__(
        self, base_url: str, client_id: str, client_secret: str | None, retries: Retries, *, allow_http: bool
    ) -> None:
        self._base_url = checked_url(base_url, allow_http=allow_http)
        self._client = ClientCredentials(client_id, client_secret)
        self._retries = retries

    def begin(self, redirect_uri: str, scopes: Sequence[str], mode: Mode) -> Authorization:
        """Where to send the browser."""
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        query = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(scopes),
            "state": state,
            "code_challenge": urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "mode": mode,
        }
        return Authorization(f"{self._base_url}{OAUTH}/authorize?{urlencode(query)}", state, verifier, redirect_uri)

    def finish(self, authorization: Authorization, callback_url: str) -> Flow[Grant]:
        """The tokens, after the callback was checked: its state, its issuer, and that access was granted."""
        said = {name: values[0] for name, values in parse_qs(urlsplit(callback_url).query).items()}
        if not hmac.compare_digest(said.get("state", "").encode(), authorization.state.encode()):
            raise CallbackInvalid("The state of the callback is not that of this authorization.")
        if said.get("iss") != self._base_url:
            raise CallbackInvalid("The issuer of the callback is another one.")
        if "error" in said:
            raise CallbackInvalid(said.get("error_description") or said["error"], said["error"])
        fields = {
            "grant_type": "authorization_code",
            "code": said.get("code", ""),
            "redirect_uri": authorization.redirect_uri,
            "code_verifier": authorization.verifier,
        }
        return grant_of((yield from self._succeeded(self._form("token", fields))))

    def begin_device(self, scopes: Sequence[str], mode: Mode) -> Flow[DeviceCode]:
        """A code for a person."""
        request = self._form("device_authorization", {"scope": " ".join(scopes), "mode": mode})
        body: dict[str, Any] = json.loads((yield from self._succeeded(request)).content)
        address = body["verification_uri"]
        return DeviceCode(
            device_code=body["device_code"],
            user_code=body["user_code"],
            verification_uri=address,
            verification_uri_complete=body.get("verification_uri_complete", address),
            expires_in=body["expires_in"],
            interval=body.get("interval", SLOW_DOWN_S),
        )

    def finish_device(self, code: DeviceCode) -> Flow[Grant]:
        """The tokens, when the person has agreed."""
        request = self._form("token", {"grant_type": DEVICE_GRANT, "device_code": code.device_code})
        pause_s, until = code.interval, time.monotonic() + code.expires_in
        while True:
            yield from wait(pause_s)
            answer = yield from send_repeatedly(request, self._retries, is_safe=False)
            if answer.status == OK:
                return grant_of(answer)
            error = error_of(answer)
            if error.code not in {"authorization_pending", "slow_down"} or time.monotonic() > until:
                raise error
            pause_s += SLOW_DOWN_S * (error.code == "slow_down")

    def end(self, grant: Grant) -> Flow[None]:
        """End the connection."""
        request = self._form("revoke", {"token": grant.refresh_token or grant.access_token})
        yield from self._succeeded(request, is_safe=True)

    def _form(self, path: str, fields: dict[str, str]) -> Send:
        return self._client.request(self._base_url, path, fields)

    def _succeeded(self, request: Send, *, is_safe: bool = False) -> Flow[Answer]:
        answer = yield from send_repeatedly(request, self._retries, is_safe=is_safe)
        if answer.status != OK:
            raise error_of(answer)
        return answer


class Application(Closing):
    """An application that merchants connect to."""

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str | None = None,
        *,
        retries: Retries | None = None,
        transport: Transport | None = None,
        allow_http: bool = False,
    ) -> None:
        super().__init__(transport)
        self._flows = ConnectFlows(base_url, client_id, client_secret, retries or Retries(), allow_http=allow_http)

    def begin(self, redirect_uri: str, scopes: Sequence[str], mode: Mode = "live") -> Authorization:
        """Where to send the browser of a merchant."""
        return self._flows.begin(redirect_uri, scopes, mode)

    def finish(self, authorization: Authorization, callback_url: str) -> Grant:
        """The tokens, from the address that the browser came back to. Raises `CallbackInvalid`."""
        return self._transport.complete(self._flows.finish(authorization, callback_url))

    def begin_device(self, scopes: Sequence[str], mode: Mode = "live") -> DeviceCode:
        """A code that a person types on another device."""
        return self._transport.complete(self._flows.begin_device(scopes, mode))

    def finish_device(self, code: DeviceCode) -> Grant:
        """The tokens, when the person has agreed; waits for that."""
        return self._transport.complete(self._flows.finish_device(code))

    def end(self, grant: Grant) -> None:
        """End the connection of these tokens."""
        self._transport.complete(self._flows.end(grant))


class AsyncApplication(AsyncClosing):
    """An application that merchants connect to, for asyncio."""

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str | None = None,
        *,
        retries: Retries | None = None,
        transport: AsyncTransport | None = None,
        allow_http: bool = False,
    ) -> None:
        super().__init__(transport)
        self._flows = ConnectFlows(base_url, client_id, client_secret, retries or Retries(), allow_http=allow_http)

    def begin(self, redirect_uri: str, scopes: Sequence[str], mode: Mode = "live") -> Authorization:
        """Where to send the browser of a merchant."""
        return self._flows.begin(redirect_uri, scopes, mode)

    async def finish(self, authorization: Authorization, callback_url: str) -> Grant:
        """The tokens, from the address that the browser came back to. Raises `CallbackInvalid`."""
        return await self._transport.complete(self._flows.finish(authorization, callback_url))

    async def begin_device(self, scopes: Sequence[str], mode: Mode = "live") -> DeviceCode:
        """A code that a person types on another device."""
        return await self._transport.complete(self._flows.begin_device(scopes, mode))

    async def finish_device(self, code: DeviceCode) -> Grant:
        """The tokens, when the person has agreed; waits for that."""
        return await self._transport.complete(self._flows.finish_device(code))

    async def end(self, grant: Grant) -> None:
        """End the connection of these tokens."""
        await self._transport.complete(self._flows.end(grant))
