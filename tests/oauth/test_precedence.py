"""The order of errors: a request with every error is fixed one at a time."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from tests.cast import Actor, Application, application

TOKEN = "/api/v2/oauth/token"  # noqa: S105 - an address
CLIENTS = "/api/v2/merchant/oauth/clients"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@dataclass
class Call:
    """A request that is fixed step by step."""

    actor: Actor
    path: str
    method: str
    headers: dict[str, str]
    fields: dict[str, Any]
    tail: bytes = b""
    descriptions: list[str] = field(default_factory=list[str])

    async def refused(self, code: str, status: int, words: str = "") -> None:
        """Send it and expect this error."""
        form = self.headers["Content-Type"] == FORM or self.path == TOKEN
        sent = (urlencode(self.fields).encode() if form else msgspec.json.encode(self.fields)) + self.tail
        answer = await self.actor.send(self.method, self.path, data=sent, headers=self.headers)
        answer.refused(code, status)
        assert words in answer.body["error_description"], answer.body
        self.descriptions.append(answer.body["error_description"])


async def authenticate_step_by_step(call: Call, app: Application) -> None:
    """Fix every error that comes before those of the parameters."""
    await call.refused("method_not_allowed", 405)
    call.method = "POST"
    await call.refused("invalid_request", 400, "body must be")
    call.headers["Content-Type"] = FORM
    await call.refused("invalid_request", 400, "percent-encoding")
    call.tail = b"&grant_type=password"
    await call.refused("invalid_request", 400, "repeated")
    call.tail = b""
    await call.refused("unsupported_grant_type", 400)
    call.fields["grant_type"] = call.fields.pop("then")
    await call.refused("invalid_request", 400, "exactly one method")
    del call.headers["Authorization"]
    await call.refused("invalid_client", 401)
    call.fields["client_id"] = app.client_id
    await call.refused("invalid_client", 401)
    call.fields["client_secret"] = app.client_secret


def token_call(app: Application, then: str, **fields: str) -> Call:
    """A token request with every error; `then` is its fixed grant type."""
    wrong = {"grant_type": "password", "then": then, "client_id": "thc_unknown", "client_secret": "wrong", **fields}
    headers = {"Content-Type": JSON, "Authorization": "Basic !!!"}
    return Call(app.owner, TOKEN, "PUT", headers, wrong, b"&grant_type=password&x=%zz")


@pytest.mark.covers("O-72", "O-73", "O-77", "O-76", "O-88", "O-91", "O-101", "O-102", "O-103", "O-107", "O-109")
async def test_exchange(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read")
    call = token_call(app, "authorization_code", code_verifier="short", scope="nonsense")
    await authenticate_step_by_step(call, app)
    await call.refused("invalid_request", 400, "`code` is required")
    call.fields["code"] = "x"
    await call.refused("invalid_request", 400, "`redirect_uri` is required")
    call.fields["redirect_uri"] = "https://evil.example/"
    await call.refused("invalid_request", 400, "43 to 128")
    call.fields["code_verifier"] = ""
    await call.refused("invalid_grant", 400, "code_verifier")
    for name, value in (("code_verifier", "w" * 43), ("code", code), ("redirect_uri", app.redirect_uri)):
        call.fields[name] = value
        await call.refused("invalid_grant", 400)
    assert len(call.descriptions) == 15
    (await app.exchange(code)).ok()


@pytest.mark.covers("O-124", "O-132", "O-135", "O-143")
async def test_refresh(app: Application, alice: Actor) -> None:
    token = (await app.connect(alice, "account:read offline_access"))["refresh_token"]
    call = token_call(app, "refresh_token", scope="nonsense", code="x")
    await authenticate_step_by_step(call, app)
    await call.refused("invalid_request", 400, "`refresh_token` is required")
    call.fields["refresh_token"] = "x"  # noqa: S105 - no token at all
    await call.refused("invalid_scope", 400, "unknown scope")
    call.fields["scope"] = "offline_access"
    await call.refused("invalid_scope", 400, "at least one scope")
    call.fields["scope"] = "account:read payments:write"
    await call.refused("invalid_grant", 400)
    call.fields["refresh_token"] = token
    await call.refused("invalid_scope", 400, "only granted scopes")
    (await app.refresh(token, scope="account:read offline_access")).ok()


@pytest.mark.covers("O-182", "O-185", "O-191", "O-193", "O-197", "O-198", "O-200")
async def test_update_of_settings(app: Application, bob: Actor, mallory: Actor) -> None:
    assert_revoked = await application(bob)
    (await bob.dashboard("DELETE", f"/oauth/clients/{assert_revoked.client_id}")).ok()
    right: dict[str, Any] = {
        "name": "Southwind",
        "client_type": "confidential",
        "redirect_uris": ["https://southwind.example/cb"],
        "scopes": ["account:read"],
        "version": 1,
    }
    wrong: dict[str, Any] = {
        "name": "",
        "client_type": "public",
        "redirect_uris": [],
        "scopes": ["nonsense"],
        "website_url": "x",
        "version": 7,
        "secret": "x",
    }
    headers = {"Content-Type": FORM, "Sec-Fetch-Site": "cross-site"}
    (await bob.anonymously("PUT", f"{CLIENTS}/{app.client_id}", {}, headers)).refused("authentication_required", 401)
    call = Call(mallory, f"{CLIENTS}/{app.client_id}", "PUT", headers, wrong, b"}")
    await call.refused("cross_origin_forbidden", 403)
    headers["Sec-Fetch-Site"] = "same-origin"
    await call.refused("unsupported_media_type", 415)
    headers["Content-Type"] = JSON
    await call.refused("invalid_request", 400, "JSON")
    call.tail = b""
    await call.refused("validation_failed", 422)
    del wrong["secret"]
    for name in ("name", "redirect_uris", "scopes", "website_url"):
        await call.refused("validation_failed", 422)
        wrong[name] = right.get(name)
    await call.refused("not_found", 404)
    call.actor, call.path = bob, f"{CLIENTS}/{assert_revoked.client_id}"
    await call.refused("application_revoked", 409)
    call.path = f"{CLIENTS}/{app.client_id}"
    await call.refused("validation_failed", 422)  # a stored fact: of which type it is
    wrong["client_type"] = right["client_type"]
    await call.refused("application_changed", 409)
    saved = (await bob.send("PUT", call.path, json=right)).ok().body
    assert saved["version"] == 2
