"""Access tokens at the Integration API: which requests they allow and how they are rejected (RFC 6750)."""

from typing import Any
from uuid import UUID, uuid4

import aiohttp
import pytest

from tests.cast import INTEGRATION, Actor, Answer, Application, application
from tests.payments.shop import COFFEE, balance, open_link, pay

ACCOUNT = f"{INTEGRATION}/account"
REALM = 'Bearer realm="tollhouse"'


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
async def token(app: Application, alice: Actor) -> str:
    """An access token of Alice."""
    return (await app.connect(alice, "account:read payments:read"))["access_token"]


def metadata(actor: Actor) -> str:
    """What each challenge says about the metadata of the API (RFC 9728)."""
    return f'resource_metadata="{actor.service.url}/.well-known/oauth-protected-resource{INTEGRATION}"'


async def get(actor: Actor, path: str = ACCOUNT, *headers: tuple[str, str]) -> Answer:
    """GET with these headers, which may repeat."""
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.get(actor.service.url + path, headers=headers) as response,
    ):
        return Answer(response.status, response.headers, await response.read())


@pytest.mark.covers("O-157", "O-179")
async def test_missing_credential_challenge_has_no_error(alice: Actor) -> None:
    for headers in ([], [("Authorization", "Basic eDp5")], [("Authorization", "that_x")]):
        answer = (await get(alice, ACCOUNT, *headers)).refused("authentication_required", 401)
        assert answer.headers["WWW-Authenticate"] == f"{REALM}, {metadata(alice)}"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.covers("O-144", "O-158")
async def test_anything_but_an_active_access_token_is_invalid(app: Application, alice: Actor, token: str) -> None:
    tokens = await app.connect(alice, "account:read offline_access")
    code = await app.code(alice, "account:read")
    wrong = ["x", token[:-1], token + "x", token.upper(), "that_" + "0" * 49, tokens["refresh_token"], code]
    for sent in (*wrong, app.client_secret or "", "é", '"', "a,b"):
        answer = (await get(alice, ACCOUNT, ("Authorization", f"Bearer {sent}"))).refused("invalid_token", 401)
        assert answer.headers["WWW-Authenticate"] == f'{REALM}, error="invalid_token", {metadata(alice)}'
        assert sent not in answer.text or len(sent) < 4


@pytest.mark.covers("O-159", "O-160")
@pytest.mark.parametrize(("held", "lacking"), [("payments:read", "payments:write"), ("payments:write", "payments:read")])
async def test_read_and_write_scopes_are_independent(app: Application, alice: Actor, held: str, lacking: str) -> None:
    token = (await app.connect(alice, held))["access_token"]
    method, body = ("POST", COFFEE) if lacking.endswith("write") else ("GET", None)
    answer = (await app.api(token, method, "/payment-links", body)).refused("missing_scope", 403)
    assert answer.body["scope"] == lacking
    assert answer.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{lacking}"'
    method, body = ("POST", COFFEE) if held.endswith("write") else ("GET", None)
    assert (await app.api(token, method, "/payment-links", body)).status in {200, 201}


@pytest.mark.covers("O-161")
@pytest.mark.parametrize("word", ["Bearer", "bearer", "BEARER", "bEaReR"])
async def test_bearer_scheme_is_case_insensitive(alice: Actor, token: str, word: str) -> None:
    (await get(alice, ACCOUNT, ("Authorization", f"{word} {token}"))).ok()


@pytest.mark.covers("O-162")
async def test_token_is_accepted_only_in_the_header(app: Application, alice: Actor, token: str) -> None:
    (await get(alice, f"{ACCOUNT}?access_token={token}")).refused("authentication_required", 401)
    async with aiohttp.ClientSession() as http:
        links = f"{alice.service.url}{INTEGRATION}/payment-links"
        async with http.post(links, data={"access_token": token}) as response:
            assert response.status == 401
    (await get(alice, ACCOUNT, ("Cookie", f"access_token={token}"))).refused("authentication_required", 401)
    (await app.api(token, "GET", "/account")).ok()


@pytest.mark.covers("O-163")
async def test_malformed_or_repeated_header_is_rejected(alice: Actor, token: str) -> None:
    bearer = ("Authorization", f"Bearer {token}")
    for headers in (
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", f"Bearer {token} {token}")],
    ):
        assert (await get(alice, ACCOUNT, *headers)).refused("invalid_token", 401)
    (await get(alice, ACCOUNT, bearer, bearer)).refused("invalid_request", 400)


@pytest.mark.covers("O-164")
async def test_two_credentials_are_rejected(alice: Actor, token: str) -> None:
    key = ("X-API-Key", await alice.key())
    (await get(alice, ACCOUNT, ("Authorization", f"Bearer {token}"), key)).refused("invalid_request", 400)
    (await get(alice, ACCOUNT, key, key)).refused("invalid_request", 400)
    (await get(alice, ACCOUNT, key)).ok()


@pytest.mark.covers("O-165")
async def test_token_is_not_accepted_by_the_dashboard(app: Application, alice: Actor) -> None:
    token = (await app.connect(alice, "account:read settings:write webhooks:write"))["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    for method, path in (
        ("GET", "/session"),
        ("GET", "/api-keys"),
        ("POST", "/api-keys"),
        ("GET", "/oauth/clients"),
        ("POST", "/oauth/clients"),
        ("GET", "/oauth/grants"),
        ("DELETE", f"/oauth/grants/{uuid4()}"),
    ):
        answer = await alice.anonymously(method, f"/api/v2/merchant{path}", {} if method == "POST" else None, bearer)
        answer.refused("authentication_required", 401)


@pytest.mark.covers("O-166", "O-122")
@pytest.mark.parametrize("mode", ["live", "test"])
async def test_account_names_client_and_grant_of_the_token(app: Application, alice: Actor, mode: str) -> None:
    tokens = await app.connect(alice, "payments:read account:read offline_access", mode=mode)
    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    grant = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]
    assert account == {
        "merchant_id": alice.merchant_id,
        "business_name": "Alice's Coffee",
        "mode": mode,
        "livemode": mode == "live",
        "api_key_id": None,
        "scopes": ["account:read", "payments:read", "offline_access"],
        "active": True,
        "oauth_client_id": app.client_id,
        "oauth_grant_id": grant["grant_id"],
    }
    by_key = (await alice.get("/account", mode=mode)).ok().body
    assert UUID(by_key["api_key_id"])
    assert "oauth_client_id" not in by_key


@pytest.mark.covers("O-142", "O-174")
async def test_tokens_of_suspended_merchant_are_rejected_until_reactivation(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, "account:read offline_access")
    suspend = "UPDATE merchants SET suspended_at = {} WHERE id::text = $1"
    await alice.sql(suspend.format("now()"), alice.merchant_id)
    for scope_or_not in ("/account", "/payment-links"):
        (await app.api(tokens["access_token"], "GET", scope_or_not)).refused("account_suspended", 403)
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    (await app.api(fresh["access_token"], "GET", "/account")).refused("account_suspended", 403)
    (await alice.dashboard("GET", "/oauth/grants")).ok()
    await alice.sql(suspend.format("NULL"), alice.merchant_id)
    for one in (tokens, fresh):
        (await app.api(one["access_token"], "GET", "/account")).ok()


@pytest.mark.covers("O-70", "O-175")
async def test_live_and_test_are_separate(app: Application, alice: Actor) -> None:
    link = await open_link(alice)
    await pay(link)
    paths = ("/payment-links", "/transactions", "/balances")
    seen: dict[str, list[Any]] = {}
    for mode in ("live", "test"):
        token = (await app.connect(alice, "payments:read balances:read", mode=mode))["access_token"]
        seen[mode] = [(await app.api(token, "GET", path)).ok().raw for path in paths]
        one = await app.api(token, "GET", f"/payment-links/{link['id']}")
        if mode == "test":
            one.ok()
        else:
            one.refused("not_found", 404)
    assert all(link["id"].encode() in seen["test"][n] for n in (0, 1))
    assert not any(link["id"].encode() in answer for answer in seen["live"])
    assert b'"4.2' not in seen["live"][2]


@pytest.mark.covers("O-176")
async def test_disconnecting_keeps_payments_and_reservations(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, "payments:write account:read")
    created = (await app.api(tokens["access_token"], "POST", "/payment-links", COFFEE, key=str(uuid4()))).ok(201).body
    paid = await open_link(alice)
    await pay(paid)
    before = await balance(alice)
    grant = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["grant_id"]
    assert (await alice.dashboard("DELETE", f"/oauth/grants/{grant}")).ok().body == {"disconnected": 1}
    (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
    assert await balance(alice) == before
    assert (await alice.get(f"/payment-links/{created['id']}")).ok().body == created
    await pay(created)


@pytest.mark.covers("O-177")
async def test_idempotency_keys_survive_a_refresh(app: Application, alice: Actor) -> None:
    key = str(uuid4())
    first = await app.connect(alice, "payments:write offline_access")
    created = (await app.api(first["access_token"], "POST", "/payment-links", COFFEE, key=key)).ok(201)
    fresh = (await app.refresh(first["refresh_token"])).ok().body
    again = await app.connect(alice, "payments:write")
    for token in (fresh["access_token"], again["access_token"]):
        replayed = (await app.api(token, "POST", "/payment-links", COFFEE, key=key)).ok(201)
        assert replayed.headers["Idempotency-Replayed"] == "true"
        assert replayed.raw == created.raw
    links = await alice.sql("SELECT 1 FROM payment_links WHERE merchant_id::text = $1", alice.merchant_id)
    assert len(links) == 1
