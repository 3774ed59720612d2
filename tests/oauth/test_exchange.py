"""Code exchange: once, with the right binding, before the expiry. A replay revokes the grant."""

import asyncio
import base64
import hashlib
from datetime import timedelta
from typing import Any

import pytest

from tests.cast import CALLBACK, Actor, Answer, Application, application, post_form

ENDPOINT = "/api/v2/oauth/token"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def assert_token_invalid(app: Application, token: str) -> None:
    """The access token is rejected."""
    (await app.api(token, "GET", "/account")).refused("invalid_token", 401)


def assert_invalid_grant(answer: Answer) -> None:
    """400 `invalid_grant` with the headers of OAuth errors."""
    answer.refused("invalid_grant", 400)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.covers("O-82", "O-84", "O-100", "O-120", "O-121", "O-209")
async def test_code_is_exchanged_for_tokens(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read payments:read offline_access")
    answer = (await app.exchange(code)).ok()
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Pragma"] == "no-cache"
    assert "Set-Cookie" not in answer.headers
    body = answer.body
    assert set(body) == {"access_token", "token_type", "expires_in", "scope", "refresh_token"}
    assert body["access_token"].startswith("that_")
    assert body["refresh_token"].startswith("thrt_")
    assert body["token_type"] == "Bearer"  # noqa: S105 - no password
    assert body["expires_in"] == 900
    assert body["scope"] == "account:read payments:read offline_access"
    grant = (
        await alice.sql("SELECT *, expires_at - created_at AS life FROM oauth_grants WHERE client_id = $1", app.client_id)
    )[0]
    assert grant["life"].days == 30
    assert str(grant["merchant_id"]) == alice.merchant_id
    account = (await app.api(body["access_token"], "GET", "/account")).ok().body
    assert account["oauth_client_id"] == app.client_id
    assert account["oauth_grant_id"] == str(grant["id"])


@pytest.mark.covers("O-118")
async def test_no_refresh_token_without_offline_access(app: Application, alice: Actor) -> None:
    body = await app.connect(alice, "account:read offline_access", "account:read")
    assert set(body) == {"access_token", "token_type", "expires_in", "scope"}
    assert body["scope"] == "account:read"


@pytest.mark.covers("O-122")
@pytest.mark.parametrize("mode", ["live", "test"])
async def test_token_has_the_mode_of_the_request(app: Application, alice: Actor, mode: str) -> None:
    body = await app.connect(alice, "account:read", mode=mode)
    account = (await app.api(body["access_token"], "GET", "/account")).ok().body
    assert account["mode"] == mode
    assert account["livemode"] is (mode == "live")


async def test_public_client_can_exchange(bob: Actor, alice: Actor) -> None:
    spa = await application(bob, "public")
    assert (await spa.connect(alice, "account:read"))["scope"] == "account:read"


@pytest.mark.covers("O-106")
async def test_rfc_7636_test_vector(app: Application, alice: Actor) -> None:
    app.verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert app.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    await app.connect(alice, "account:read")


@pytest.mark.covers("O-103")
@pytest.mark.parametrize("verifier", ["v" * 43, "v" * 128, "aZ09-._~" * 6])
async def test_verifier_has_43_to_128_unreserved_characters(app: Application, alice: Actor, verifier: str) -> None:
    app.verifier = verifier
    await app.connect(alice, "account:read")


@pytest.mark.covers("O-75", "O-76", "O-101", "O-102", "O-103", "O-104", "O-105", "O-107", "O-109", "O-110", "O-119", "O-143")
async def test_failed_exchange_does_not_use_the_code(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read offline_access")
    tokens = await app.connect(alice, "account:read offline_access")
    attempts: list[tuple[dict[str, str], str]] = [
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "implicit"}, "unsupported_grant_type"),
        ({"grant_type": "AUTHORIZATION_CODE"}, "unsupported_grant_type"),
        ({"code": ""}, "invalid_request"),
        ({"redirect_uri": ""}, "invalid_request"),
        ({"code_verifier": ""}, "invalid_grant"),
        *[({"code_verifier": bad}, "invalid_request") for bad in ("v" * 42, "v" * 129, "v" * 42 + "+", "v" * 42 + "é")],
        ({"code_verifier": app.verifier + "\n"}, "invalid_request"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": app.challenge}, "invalid_grant"),
        ({"redirect_uri": CALLBACK + "&x=1"}, "invalid_grant"),
        ({"redirect_uri": "https://app.example/callback"}, "invalid_grant"),
        ({"code": code[:-1]}, "invalid_grant"),
        ({"code": code + "0"}, "invalid_grant"),
        ({"code": code.swapcase()}, "invalid_grant"),
        ({"code": tokens["access_token"]}, "invalid_grant"),
        ({"code": tokens["refresh_token"]}, "invalid_grant"),
    ]
    for changes, error in attempts:
        (await app.exchange(**{"code": code, **changes})).refused(error, 400)
    (await app.exchange(code)).ok()


@pytest.mark.covers("O-77", "O-80")
async def test_repeated_parameters_are_rejected_and_unknown_ones_ignored(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read")
    right = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": app.verifier,
        "client_id": app.client_id,
        "client_secret": app.client_secret or "",
        "refresh_token": "x",
        "scope": "payments:write",
    }
    for name, value in right.items():
        sent = [*right.items(), (name, value)]
        (await post_form(app.owner.service.url + ENDPOINT, sent)).refused("invalid_request", 400)
    assert (await post_form(app.owner.service.url + ENDPOINT, [*right.items(), ("foo", "1"), ("foo", "2")])).ok().body[
        "scope"
    ] == "account:read"


@pytest.mark.covers("O-75")
async def test_empty_body_is_rejected(app: Application) -> None:
    (await post_form(app.owner.service.url + ENDPOINT, b"")).refused("invalid_request", 400)


@pytest.mark.covers("O-108", "O-113")
async def test_code_of_another_application_is_not_used(app: Application, bob: Actor, alice: Actor) -> None:
    other = await application(bob)
    other.verifier = app.verifier
    code = await app.code(alice, "account:read")
    assert_invalid_grant(await other.exchange(code))
    body = (await app.exchange(code)).ok().body
    assert_invalid_grant(await other.exchange(code))
    assert_invalid_grant(await app.exchange(code, code_verifier="w" * 43))
    assert_invalid_grant(await app.exchange(code, redirect_uri="https://app.example/other"))
    (await app.api(body["access_token"], "GET", "/account")).ok()


@pytest.mark.covers("O-112", "O-114")
@pytest.mark.parametrize("late", [False, True])
async def test_replayed_code_revokes_the_grant(app: Application, alice: Actor, *, late: bool) -> None:
    code = await app.code(alice, "account:read offline_access")
    body = (await app.exchange(code)).ok().body
    if late:
        await alice.sql("UPDATE oauth_codes SET expires_at = now() - interval '1 day' WHERE client_id = $1", app.client_id)
    assert_invalid_grant(await app.exchange(code))
    await assert_token_invalid(app, body["access_token"])
    assert_invalid_grant(await app.refresh(body["refresh_token"]))
    grant = (await alice.sql("SELECT revoked_because FROM oauth_grants WHERE client_id = $1", app.client_id))[0]
    assert grant["revoked_because"] == "code_replayed"


@pytest.mark.covers("O-115")
async def test_concurrent_exchanges_have_one_winner_and_revoke_the_grant(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read offline_access")
    responses = await asyncio.gather(*(app.exchange(code) for _ in range(50)))
    won = [answer for answer in responses if answer.status == 200]
    assert len(won) == 1
    for answer in responses:
        if answer is not won[0]:
            assert_invalid_grant(answer)
    await assert_token_invalid(app, won[0].body["access_token"])
    assert_invalid_grant(await app.refresh(won[0].body["refresh_token"]))
    grants = await alice.sql("SELECT revoked_at FROM oauth_grants WHERE client_id = $1", app.client_id)
    assert [grant["revoked_at"] is not None for grant in grants] == [True]


@pytest.mark.covers("O-111")
async def test_code_expires_after_five_minutes(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read")
    row = (await alice.sql("SELECT expires_at - created_at AS life FROM oauth_codes WHERE client_id = $1", app.client_id))[0]
    assert row["life"].total_seconds() == 300
    early = await app.code(alice, "account:read")
    turn = "UPDATE oauth_codes SET expires_at = now() + $2::interval WHERE code_hash = $1"
    await alice.sql(turn, hashlib.sha256(early.encode()).digest(), timedelta(seconds=1))
    await alice.sql(turn, hashlib.sha256(code.encode()).digest(), timedelta(0))
    (await app.exchange(early)).ok()
    assert_invalid_grant(await app.exchange(code))


@pytest.mark.covers("O-116", "O-117")
@pytest.mark.parametrize(
    "change",
    [
        "auth_epoch = auth_epoch + 1",
        "status = 'paused'",
        "status = 'paused', auth_epoch = auth_epoch + 1, grant_epoch = grant_epoch + 1",
    ],
)
async def test_changes_of_the_application_invalidate_codes(app: Application, alice: Actor, change: str) -> None:
    code = await app.code(alice, "account:read")
    await alice.sql(f"UPDATE oauth_clients SET {change} WHERE id = $1", app.client_id)  # noqa: S608
    assert_invalid_grant(await app.exchange(code))
    assert await alice.sql("SELECT 1 FROM oauth_grants WHERE client_id = $1", app.client_id) == []


@pytest.mark.covers("O-121", "O-167")
async def test_access_token_expires(app: Application, alice: Actor) -> None:
    body = await app.connect(alice, "account:read")
    await alice.sql("DELETE FROM oauth_access_tokens WHERE expires_at <= now()")
    await alice.sql(
        "UPDATE oauth_access_tokens SET expires_at = now() - interval '1 ms' WHERE token_hash = $1",
        hashlib.sha256(body["access_token"].encode()).digest(),
    )
    await assert_token_invalid(app, body["access_token"])


@pytest.mark.covers("O-210")
async def test_database_stores_only_digests(app: Application, alice: Actor) -> None:
    code = await app.code(alice, "account:read offline_access")
    body = (await app.exchange(code)).ok().body
    rows: list[Any] = []
    for table in ("oauth_clients", "oauth_requests", "oauth_codes", "oauth_grants", "oauth_access_tokens"):
        rows += await alice.sql(f"SELECT t::text AS all FROM {table} t")  # noqa: S608
    text = "\n".join(row["all"] for row in rows)
    for secret in (code, body["access_token"], body["refresh_token"], app.client_secret or ""):
        for form in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode()):
            assert form not in text
    assert hashlib.sha256(code.encode()).hexdigest() in text
