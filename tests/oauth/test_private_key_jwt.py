"""Authentication by signed tokens (RFC 7523), and the settings that it needs."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cast import Actor, Answer, application, every_scope, post_form, sign_up
from tests.certificates import self_signed
from tests.oauth.signatures import Signer, SigningApplication, at, hostile, sent, signing_application
from tests.receiver import Receiver

CLIENTS = "/oauth/clients"
WRONG = "wrong"
REVOKE = "/api/v2/oauth/revoke"
KEY = Signer()
KEYS = {"keys": [KEY.public]}
RSA = Signer("PS256")


async def settings_of(owner: Actor, **changes: Any) -> dict[str, Any]:
    """A body of settings; `...` leaves a member out."""
    body = {
        "name": "Northwind Ledger",
        "client_type": "confidential",
        "redirect_uris": ["https://app.example/callback"],
        "scopes": await every_scope(owner),
        **changes,
    }
    return {name: value for name, value in body.items() if value is not ...}


async def authenticates(app: SigningApplication, assertion: str, **fields: str) -> Answer:
    """The answer of an endpoint that authenticates, without anything of the client but these fields."""
    url = app.app.owner.service.url + REVOKE
    return await post_form(url, {"token": "unknown", **sent(assertion), **fields})


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"token_endpoint_auth_method": "client_secret_jwt"}, ["token_endpoint_auth_method"]),
        ({"token_endpoint_auth_method": 1, "jwks": [], "jwks_uri": 1}, ["token_endpoint_auth_method", "jwks", "jwks_uri"]),
        ({"token_endpoint_auth_method": "none"}, ["token_endpoint_auth_method"]),
        ({"token_endpoint_auth_method": "private_key_jwt"}, ["jwks"]),
        ({"client_type": "public", "token_endpoint_auth_method": "client_secret_post"}, ["token_endpoint_auth_method"]),
        ({"client_type": "public", "token_endpoint_auth_method": "private_key_jwt"}, ["token_endpoint_auth_method", "jwks"]),
        ({"jwks": KEYS, "jwks_uri": "https://keys.example/jwks"}, ["jwks_uri"]),
        ({"jwks": {"keys": []}}, ["jwks"]),
        ({"jwks": {"keys": [KEY.public] * 21}}, ["jwks"]),
        ({"jwks": {"keys": [KEY.public, KEY.key.as_dict(private=True)]}}, ["jwks.keys.1"]),
        ({"jwks": {"keys": ["key"]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**KEY.public, "crv": "P-384"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**KEY.public, "x": "AAAA"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**KEY.public, "use": "enc"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**RSA.public, "n": "AQAB"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**RSA.public, "e": "AQ"}]}}, ["jwks.keys.0"]),
        ({"jwks": {"keys": [{**KEY.public, "x5c": ["A" * 17_000]}]}}, ["jwks"]),
        ({"jwks_uri": "http://keys.example/jwks"}, ["jwks_uri"]),
        ({"jwks_uri": "https://user@keys.example/jwks"}, ["jwks_uri"]),
        ({"jwks_uri": "https://10.0.0.1/jwks"}, ["jwks_uri"]),
    ],
)
async def test_settings_that_are_refused(bob: Actor, changes: dict[str, Any], fields: list[str]) -> None:
    refused = (await bob.dashboard("POST", CLIENTS, await settings_of(bob, **changes))).refused("validation_failed", 422)
    assert [error["field"] for error in refused.body["errors"]] == fields


async def test_settings_stay_unless_they_are_sent(bob: Actor) -> None:
    app = await signing_application(bob)
    path = f"{CLIENTS}/{app.app.client_id}"
    saved = (await bob.dashboard("PUT", path, await settings_of(bob, version=1))).ok().body
    keys = {"keys": [app.signer.public]}
    assert (saved["token_endpoint_auth_method"], saved["jwks"], saved["jwks_uri"]) == ("private_key_jwt", keys, None)
    assert saved["version"] == 2
    both = await settings_of(bob, version=2, jwks_uri="https://keys.example/jwks")
    (await bob.dashboard("PUT", path, both)).refused("validation_failed", 422)
    moved = (await bob.dashboard("PUT", path, both | {"jwks": None})).ok().body
    assert (moved["jwks"], moved["jwks_uri"]) == (None, "https://keys.example/jwks")
    none = {"token_endpoint_auth_method": None, "jwks": None, "jwks_uri": None, "version": 3}
    cleared = (await bob.dashboard("PUT", path, await settings_of(bob, **none))).ok().body
    assert (cleared["token_endpoint_auth_method"], cleared["jwks"], cleared["jwks_uri"]) == (None, None, None)


async def test_keys_end_the_secret(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    path = f"{CLIENTS}/{app.client_id}"
    tokens = await app.connect(alice, "account:read offline_access")
    signed = {"token_endpoint_auth_method": "private_key_jwt", "jwks": KEYS}
    assert (await bob.dashboard("PUT", path, await settings_of(bob, version=1, **signed))).ok().body["secret_hint"] is None
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    (await app.revoke("unknown")).refused("invalid_client", 401)
    rotate = {"version": 2, "revoke_grants": False}
    refused = (await bob.dashboard("POST", f"{path}/rotate-secret", rotate)).refused("validation_failed", 422)
    assert [error["field"] for error in refused.body["errors"]] == ["token_endpoint_auth_method"]
    usual = await settings_of(bob, version=2, token_endpoint_auth_method=None)
    (await bob.dashboard("PUT", path, usual)).ok()
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    rotated = (await bob.dashboard("POST", f"{path}/rotate-secret", rotate | {"version": 3})).ok().body
    app.client_secret = rotated["client_secret"]
    (await app.refresh(tokens["refresh_token"])).ok()
    made = (await bob.dashboard("POST", CLIENTS, await settings_of(bob, **signed))).ok(201).body
    assert "client_secret" not in made


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_method_is_the_only_one(alice: Actor, bob: Actor, method: str) -> None:
    app = await application(bob, token_endpoint_auth_method=method, jwks=KEYS)
    code = await app.code(alice, "account:read offline_access")
    secret = app.client_secret or ""
    basic = {"Authorization": "Basic " + base64.b64encode(f"{app.client_id}:{secret}".encode()).decode()}
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": app.redirect_uri,
        "code_verifier": app.verifier,
    }
    url = bob.service.url + "/api/v2/oauth/token"
    posted = fields | {"client_id": app.client_id, "client_secret": secret}
    tries = [lambda: post_form(url, fields, **basic), lambda: post_form(url, posted)]
    right, wrong = tries if method == "client_secret_basic" else reversed(tries)
    (await wrong()).refused("invalid_client", 401)
    signed = SigningApplication(app, KEY)
    (await post_form(url, fields | signed.assertion())).refused("invalid_client", 401)
    (await right()).ok()


@pytest.mark.parametrize("algorithm", ["ES256", "PS256", "EdDSA", "Ed25519"])
async def test_every_algorithm_at_every_endpoint(alice: Actor, bob: Actor, algorithm: str) -> None:
    app = await signing_application(bob, algorithm, "ES256", "PS256")
    tokens = (await app.connect(alice)).ok().body
    refreshed = (await app.app.refresh(tokens["refresh_token"], **app.assertion(aud=[bob.service.url]))).ok().body
    assert (await app.app.api(refreshed["access_token"], "GET", "/account")).ok().body[
        "oauth_client_id"
    ] == app.app.client_id
    plain = app.signer.sign(app.claims(), kid=None, typ="client-authentication+jwt")
    url = bob.service.url + REVOKE
    (await post_form(url, {"token": refreshed["access_token"], **sent(plain)})).ok()
    (await app.app.api(refreshed["access_token"], "GET", "/account")).refused("invalid_token", 401)


async def test_claims_that_are_refused(bob: Actor) -> None:
    app = await signing_application(bob)
    other = await signing_application(bob)
    url = bob.service.url
    wrong: list[dict[str, Any]] = [
        {"iss": other.app.client_id},
        {"sub": other.app.client_id},
        {"iss": ...},
        {"sub": ...},
        {"sub": 1},
        {"aud": ...},
        {"aud": f"{url}/"},
        {"aud": f"{url}/api/v2/oauth/token"},
        {"aud": [url, "https://other.example"]},
        {"aud": []},
        {"exp": ...},
        {"exp": at(-61)},
        {"exp": at(420)},
        {"exp": str(at(60))},
        {"exp": True},
        {"exp": 10**400},
        {"iat": at(120)},
        {"nbf": at(120)},
        {"nbf": "now"},
        {"jti": ...},
        {"jti": ""},
        {"jti": 1},
        {"jti": "\ud800"},
        {"sub": "\x00", "iss": "\x00"},
        {"sub": "\ud800", "iss": "\ud800"},
        {"jti": "j" * 256},
    ]
    for changes in wrong:
        refused = await authenticates(app, app.signer.sign(app.claims(**changes)))
        assert refused.status == 401, changes
        refused.refused("invalid_client", 401)
    for typ in ("dpop+jwt", "at+jwt"):
        (await authenticates(app, app.signer.sign(app.claims(), typ=typ))).refused("invalid_client", 401)
    (await authenticates(app, app.signer.sign(app.claims(exp=at(60) + 0.5, iat=at(30))))).ok()


async def test_hostile_tokens(bob: Actor) -> None:
    app = await signing_application(bob)
    for name, token in hostile(app.signer, app.claims()).items():
        answer = await authenticates(app, token)
        assert answer.status == 401, name
        answer.refused("invalid_client", 401)
    harmless = app.signer.sign(
        app.claims(), jku="http://127.0.0.1:1/keys", x5u="http://127.0.0.1:1/keys", jwk=Signer().public
    )
    (await authenticates(app, harmless)).ok()


async def test_parameters_of_an_assertion(bob: Actor) -> None:
    app = await signing_application(bob)
    url = bob.service.url + REVOKE

    async def send(**fields: str) -> Answer:
        return await post_form(url, {"token": "unknown", **fields})

    assertion = app.assertion
    (await send(client_assertion=assertion()["client_assertion"])).refused("invalid_client", 401)
    (await send(client_assertion_type=assertion()["client_assertion_type"])).refused("invalid_client", 401)
    (await send(**assertion() | {"client_assertion_type": "other"})).refused("invalid_client", 401)
    (await send(**assertion(), client_id="thc_0000000000000000000000")).refused("invalid_client", 401)
    (await send(**assertion(), client_secret=WRONG)).refused("invalid_request", 400)
    (await send(client_id=app.app.client_id)).refused("invalid_client", 401)
    (await send(client_id=app.app.client_id, client_secret=WRONG)).refused("invalid_client", 401)
    (await send(**assertion(), client_id=app.app.client_id)).ok()
    usual = SigningApplication(await application(bob), app.signer)
    (await send(**usual.assertion())).refused("invalid_client", 401)


async def test_an_assertion_is_used_once(bob: Actor) -> None:
    app = await signing_application(bob)
    once = app.signer.sign(app.claims())
    answers = await asyncio.gather(*(authenticates(app, once) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [401] * 9
    again = app.signer.sign(app.claims(jti="chosen"))
    (await authenticates(app, again)).ok()
    (await authenticates(app, app.signer.sign(app.claims(jti="chosen")))).refused("invalid_client", 401)
    other = await signing_application(bob)
    (await authenticates(other, other.signer.sign(other.claims(jti="chosen")))).ok()


async def test_a_refused_signature_uses_nothing(bob: Actor) -> None:
    app = await signing_application(bob)
    claims = app.claims()
    (await authenticates(app, Signer().sign(claims, kid=app.signer.kid))).refused("invalid_client", 401)
    (await authenticates(app, app.signer.sign(claims))).ok()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """What the server of keys speaks TLS with, and the file of its authority."""
    return self_signed(tmp_path_factory.mktemp("keys"), "127.0.0.1")


@pytest.mark.long
async def test_keys_that_are_fetched_can_be_replaced(make_service: Any, tls: tuple[Any, Path]) -> None:
    service = make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]))
    async with Receiver(tls=tls[0]) as server, sign_up(service, "bob", "Bob") as owner:
        first, second = Signer(), Signer("PS256")
        answers: list[web.Response] = []

        async def answer(_request: web.Request) -> web.Response:
            return answers[-1]

        server.answer = answer
        app = await signing_application(owner, jwks=None, jwks_uri=server.url)
        app.signer = first
        for text in ("", "[]", "{}", '{"keys": 1}', '{"keys": [' + '"x",' * 20_000 + "1]}"):
            answers.append(web.Response(text=text))
            (await authenticates(app, app.signer.sign(app.claims()))).refused("invalid_client", 401)
            await service.sql("DELETE FROM oauth_documents")
        for status in (302, 404, 500):
            answers.append(
                web.Response(status=status, headers={"Location": server.url}, text=json.dumps({"keys": [first.public]}))
            )
            (await authenticates(app, app.signer.sign(app.claims()))).refused("invalid_client", 401)
        answers.append(web.Response(text=json.dumps({"keys": [{"kty": "oct", "k": "AAAA"}, first.public]})))
        (await authenticates(app, first.sign(app.claims()))).ok()
        asked = len(server.received)
        (await authenticates(app, first.sign(app.claims()))).ok()
        assert len(server.received) == asked
        answers.append(web.Response(text=json.dumps({"keys": [second.public]})))
        (await authenticates(app, second.sign(app.claims()))).refused("invalid_client", 401)
        await service.sql("UPDATE oauth_documents SET fetched_at = fetched_at - interval '31 s'")
        (await authenticates(app, second.sign(app.claims()))).ok()
        (await authenticates(app, first.sign(app.claims()))).refused("invalid_client", 401)


@pytest.mark.long
async def test_keys_at_private_addresses_are_not_fetched(make_service: Any, tls: tuple[Any, Path]) -> None:
    service = make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]), TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="")
    async with Receiver(tls=tls[0]) as server, sign_up(service, "bob", "Bob") as owner:
        app = await signing_application(owner)
        body = await settings_of(owner, version=1, jwks=None, jwks_uri=server.url)
        refused = (await owner.dashboard("PUT", f"{CLIENTS}/{app.app.client_id}", body)).refused("validation_failed", 422)
        assert [error["field"] for error in refused.body["errors"]] == ["jwks_uri"]
        await service.sql("UPDATE oauth_clients SET jwks = NULL, jwks_uri = $1 WHERE id = $2", server.url, app.app.client_id)
        (await authenticates(app, app.signer.sign(app.claims()))).refused("invalid_client", 401)
        assert server.received == []
