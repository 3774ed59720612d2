"""Tokens that are bound to a key (DPoP, RFC 9449): how they are issued, refreshed and introspected."""

import hashlib
from typing import Any

import pytest

from tests.cast import Actor, Answer, Application, application, consent
from tests.oauth.signatures import Signer
from tests.oauth.test_device import answer, start
from tollhouse.accounts.identity import jose
from tollhouse.kernel import base64url
from tollhouse.oauth.model import DEVICE_CODE_GRANT

TOKEN, PAR = "/api/v2/oauth/token", "/api/v2/oauth/par"
SCOPE = "account:read offline_access"
CLIENTS = "/oauth/clients"
KEY = "a-key-of-a-refresh-0001"
# The proof of RFC 9449 section 4.1, and the thumbprint of its key in section 6.1.
PROOF_OF_RFC = (
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQy"
    "VVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiIt"
    "QndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2"
    "fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
)
THUMBPRINT_OF_RFC = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"


@pytest.fixture(params=["confidential", "public"])
async def app(request: pytest.FixtureRequest, bob: Actor) -> Application:
    """Bob's application of either type."""
    return await application(bob, request.param)


def proof(app: Application, signer: Signer, path: str = TOKEN, **changes: Any) -> str:
    """A proof for an endpoint."""
    return signer.proof("POST", app.owner.service.url + path, **changes)


async def token(app: Application, signer: Signer | str | None, *, key: str | None = None, **fields: str) -> Answer:
    """Ask for tokens with a proof of this key, or with this proof."""
    headers = {} if key is None else {"Idempotency_Key": key}
    if signer is not None:
        headers["DPoP"] = signer if isinstance(signer, str) else proof(app, signer)
    return await app.protocol(TOKEN, fields, **headers)


async def exchange(app: Application, signer: Signer | str | None, code: str) -> Answer:
    """Exchange a code with a proof."""
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": app.redirect_uri}
    return await token(app, signer, **fields, code_verifier=app.verifier)


async def bound(app: Application, merchant: Actor, signer: Signer, scope: str = SCOPE) -> dict[str, Any]:
    """Tokens that are bound to a key."""
    return (await exchange(app, signer, await app.code(merchant, scope))).ok().body


async def refresh(app: Application, signer: Signer | None, refresh_token: str, key: str | None = None) -> Answer:
    """Refresh with a proof."""
    return await token(app, signer, key=key, grant_type="refresh_token", refresh_token=refresh_token)


async def use(app: Application, signer: Signer, access_token: str) -> Answer:
    """Read the account with a bound token."""
    path = "/api/v2/integration/account"
    made = signer.proof("GET", app.owner.service.url + path, access_token)
    return await app.owner.anonymously("GET", path, headers={"Authorization": f"DPoP {access_token}", "DPoP": made})


def scheme(tokens: dict[str, Any]) -> str:
    """How the access token is sent."""
    return tokens["token_type"]


def test_the_examples_of_the_rfc() -> None:
    parsed = jose.parse(PROOF_OF_RFC)
    assert jose.verify(parsed, parsed.header["jwk"])
    assert base64url.encode(jose.thumbprint(parsed.header["jwk"])) == THUMBPRINT_OF_RFC
    access_token, ath = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"
    assert base64url.encode(hashlib.sha256(access_token.encode()).digest()) == ath


@pytest.mark.parametrize("algorithm", ["ES256", "PS256", "EdDSA", "Ed25519"])
async def test_tokens_are_bound_to_the_key_of_each_request(bob: Actor, alice: Actor, algorithm: str) -> None:
    app, signer = await application(bob), Signer(algorithm)
    tokens = await bound(app, alice, signer)
    assert scheme(tokens) == "DPoP"
    (await use(app, signer, tokens["access_token"])).ok()
    said = (await app.protocol("/api/v2/oauth/introspect", {"token": tokens["access_token"]})).ok().body
    assert (said["token_type"], said["cnf"]) == ("DPoP", {"jkt": signer.jkt})
    said = (await app.protocol("/api/v2/oauth/introspect", {"token": tokens["refresh_token"]})).ok().body
    assert not {"token_type", "cnf"} & set(said)
    other = Signer()
    tokens = (await refresh(app, other, tokens["refresh_token"])).ok().body
    (await use(app, other, tokens["access_token"])).ok()
    (await use(app, signer, tokens["access_token"])).refused("invalid_token", 401)
    tokens = (await refresh(app, None, tokens["refresh_token"])).ok().body
    assert scheme(tokens) == "Bearer"
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    said = (await app.protocol("/api/v2/oauth/introspect", {"token": tokens["access_token"]})).ok().body
    assert scheme(said) == "Bearer"
    assert "cnf" not in said


async def test_refresh_tokens_of_public_applications_are_bound(bob: Actor, alice: Actor) -> None:
    app, signer = await application(bob, "public"), Signer()
    first = await bound(app, alice, signer)
    for thief in (Signer(), None):
        for scope in ({}, {"scope": "account:read"}, {"scope": "payments:read"}):
            sent = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], **scope}
            (await token(app, thief, **sent)).refused("invalid_grant")
        (await refresh(app, thief, first["refresh_token"], KEY)).refused("invalid_grant")
    second = (await refresh(app, signer, first["refresh_token"])).ok().body
    (await use(app, signer, second["access_token"])).ok()
    (await refresh(app, Signer(), first["refresh_token"])).refused("invalid_grant")
    (await refresh(app, signer, second["refresh_token"])).refused("invalid_grant")


async def test_the_first_key_of_a_public_application_stays(bob: Actor, alice: Actor) -> None:
    app, signer = await application(bob, "public"), Signer()
    tokens = await app.connect(alice, SCOPE)
    tokens = (await refresh(app, signer, tokens["refresh_token"])).ok().body
    (await refresh(app, None, tokens["refresh_token"])).refused("invalid_grant")
    (await refresh(app, Signer(), tokens["refresh_token"])).refused("invalid_grant")
    (await refresh(app, signer, tokens["refresh_token"])).ok()


async def test_a_stolen_token_that_was_bound_first_ends_the_grant(bob: Actor, alice: Actor) -> None:
    app, thief = await application(bob, "public"), Signer()
    tokens = await app.connect(alice, SCOPE)
    stolen = (await refresh(app, thief, tokens["refresh_token"])).ok().body
    (await refresh(app, None, tokens["refresh_token"])).refused("invalid_grant")
    (await use(app, thief, stolen["access_token"])).refused("invalid_token", 401)
    (await refresh(app, thief, stolen["refresh_token"])).refused("invalid_grant")


async def test_a_repeated_refresh_needs_the_same_key(app: Application, alice: Actor) -> None:
    signer = Signer()
    tokens = await bound(app, alice, signer)
    first = (await refresh(app, signer, tokens["refresh_token"], KEY)).ok().body
    again = (await refresh(app, signer, tokens["refresh_token"], KEY)).ok().body
    assert [again[name] for name in ("access_token", "refresh_token", "token_type")] == [
        first[name] for name in ("access_token", "refresh_token", "token_type")
    ]
    (await refresh(app, Signer(), tokens["refresh_token"], KEY)).refused("invalid_grant")
    (await use(app, signer, first["access_token"])).refused("invalid_token", 401)


async def test_a_stolen_access_token_does_not_end_the_retries(app: Application, alice: Actor) -> None:
    signer = Signer()
    tokens = await bound(app, alice, signer)
    first = (await refresh(app, signer, tokens["refresh_token"], KEY)).ok().body
    (await app.api(first["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await use(app, Signer(), first["access_token"])).refused("invalid_token", 401)
    assert (await refresh(app, signer, tokens["refresh_token"], KEY)).ok().body["access_token"] == first["access_token"]
    (await use(app, signer, first["access_token"])).ok()
    (await refresh(app, signer, tokens["refresh_token"], KEY)).refused("invalid_grant")


async def test_settings_can_demand_bound_tokens(app: Application, alice: Actor) -> None:
    path = f"{CLIENTS}/{app.client_id}"
    signer, early = Signer(), await app.connect(alice, SCOPE)
    kept = (await app.owner.dashboard("GET", path)).ok().body["client"]
    assert kept["dpop_bound"] is False
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes")
    body = {name: kept[name] for name in names}
    saved = (await app.owner.dashboard("PUT", path, body | {"version": 1, "dpop_bound": True})).ok().body
    assert saved["dpop_bound"] is True
    saved = (await app.owner.dashboard("PUT", path, body | {"version": 2})).ok().body
    assert saved["dpop_bound"] is True
    code = await app.code(alice, SCOPE)
    (await exchange(app, None, code)).refused("invalid_dpop_proof")
    (await exchange(app, signer, code)).ok()
    (await refresh(app, None, early["refresh_token"])).refused("invalid_dpop_proof")
    (await refresh(app, None, early["refresh_token"], KEY)).refused("invalid_dpop_proof")
    (await app.api(early["access_token"], "GET", "/account")).ok()
    assert scheme((await refresh(app, signer, early["refresh_token"])).ok().body) == "DPoP"
    for wrong in ("yes", 1, dict[str, str]()):
        refused = await app.owner.dashboard("PUT", path, body | {"version": 3, "dpop_bound": wrong})
        assert refused.refused("validation_failed", 422).body["errors"][0]["field"] == "dpop_bound"
    cleared = (await app.owner.dashboard("PUT", path, body | {"version": 3, "dpop_bound": None})).ok().body
    assert cleared["dpop_bound"] is False
    assert scheme(await app.connect(alice, SCOPE)) == "Bearer"


async def test_a_retry_before_the_demand_is_refused_after_it(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    first = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    await app.owner.sql("UPDATE oauth_clients SET dpop_bound = true WHERE id = $1", app.client_id)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_dpop_proof")
    (await app.api(first["access_token"], "GET", "/account")).ok()


async def test_proofs_that_are_refused_use_nothing(app: Application, alice: Actor) -> None:
    signer, code = Signer(), await app.code(alice, SCOPE)
    url = app.owner.service.url + TOKEN
    for wrong in (
        signer.proof("GET", url),
        signer.proof("POST", url + "/"),
        signer.proof("POST", url, iat=0),
        signer.proof("POST", "https://elsewhere.example" + TOKEN),
        PROOF_OF_RFC,
        "",
        "x",
    ):
        (await exchange(app, wrong, code)).refused("invalid_dpop_proof")
    (await exchange(app, signer, code)).ok()


async def test_client_authentication_comes_first(bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    code = await app.code(alice, SCOPE)
    secret, app.client_secret = app.client_secret, "wrong"
    (await exchange(app, "x", code)).refused("invalid_client", 401)
    app.client_secret = secret
    (await exchange(app, "x", code)).refused("invalid_dpop_proof")


async def test_a_proof_is_used_once(app: Application, alice: Actor) -> None:
    signer, code = Signer(), await app.code(alice, SCOPE)
    made = proof(app, signer)
    tokens = (await exchange(app, made, code)).ok().body
    sent = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    (await token(app, made, **sent)).refused("invalid_dpop_proof")
    (await token(app, signer, **sent)).ok()


async def test_a_code_is_bound_by_authorize(app: Application, alice: Actor) -> None:
    signer = Signer()
    code = await app.code(alice, SCOPE, dpop_jkt=signer.jkt)
    for wrong in (None, Signer()):
        (await exchange(app, wrong, code)).refused("invalid_grant")
    tokens = (await exchange(app, signer, code)).ok().body
    (await exchange(app, None, code)).refused("invalid_grant")
    (await use(app, signer, tokens["access_token"])).ok()
    (await exchange(app, signer, code)).refused("invalid_grant")
    (await use(app, signer, tokens["access_token"])).refused("invalid_token", 401)


async def test_authorize_takes_one_thumbprint(app: Application, alice: Actor) -> None:
    for wrong in ("x", "A" * 42, "A" * 42 + "B", "A" * 44, "é"):
        refused = (await alice.send("GET", app.authorize_path(SCOPE, dpop_jkt=wrong))).ok(303)
        assert refused.query["error"] == "invalid_request"
    jkt = Signer().jkt
    refused = (await alice.send("GET", f"{app.authorize_path(SCOPE, dpop_jkt=jkt)}&dpop_jkt={jkt}")).ok(303)
    assert refused.query["error"] == "invalid_request"


async def test_a_pushed_request_is_bound_by_proof_or_thumbprint(app: Application, alice: Actor) -> None:
    signer = Signer()
    for jkt, header in ((signer.jkt, None), ("", signer), (signer.jkt, signer)):
        headers = {} if header is None else {"DPoP": proof(app, header, PAR)}
        made = (await app.protocol(PAR, app.authorize_query(SCOPE, dpop_jkt=jkt), **headers)).ok(201).body
        opened = await alice.send(
            "GET", f"/api/v2/oauth/authorize?client_id={app.client_id}&request_uri={made['request_uri']}&dpop_jkt=x"
        )
        code = (await consent(alice, opened.ok(303).location, [*SCOPE.split()])).ok(303).query["code"]
        (await exchange(app, Signer(), code)).refused("invalid_grant")
        (await exchange(app, None, code)).refused("invalid_grant")
        assert scheme((await exchange(app, signer, code)).ok().body) == "DPoP"
    query = app.authorize_query(SCOPE, dpop_jkt=Signer().jkt)
    (await app.protocol(PAR, query, DPoP=proof(app, signer, PAR))).refused("invalid_dpop_proof")
    (await app.protocol(PAR, app.authorize_query(SCOPE), DPoP=proof(app, signer, TOKEN))).refused("invalid_dpop_proof")
    (await app.protocol(PAR, app.authorize_query(SCOPE, dpop_jkt="x"))).refused("invalid_request")


async def test_a_device_binds_its_tokens(bob: Actor, alice: Actor) -> None:
    app = await application(bob, "public", grant_types=[DEVICE_CODE_GRANT, "refresh_token"], dpop_bound=True)
    signer, asked = Signer(), await start(app, SCOPE)
    sent = {"grant_type": DEVICE_CODE_GRANT, "device_code": asked["device_code"]}
    (await token(app, None, **sent)).refused("invalid_dpop_proof")
    (await token(app, signer, **sent)).refused("authorization_pending")
    await answer(alice, asked, granted=SCOPE)
    tokens = (await token(app, signer, **sent)).ok().body
    (await use(app, signer, tokens["access_token"])).ok()
    (await refresh(app, Signer(), tokens["refresh_token"])).refused("invalid_grant")
    (await refresh(app, signer, tokens["refresh_token"])).ok()


async def test_a_bound_token_is_revoked_without_a_proof(app: Application, alice: Actor) -> None:
    signer = Signer()
    for name in ("access_token", "refresh_token"):
        tokens = await bound(app, alice, signer)
        (await app.revoke(tokens[name])).ok()
        (await use(app, signer, tokens["access_token"])).refused("invalid_token", 401)
