"""Refresh: tokens are used once, scopes can only be narrowed, and a replay revokes the grant."""

import asyncio
import hashlib
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor, Answer, Application, application
from tollhouse.kernel import tokens as token_form
from tollhouse.oauth import refresh_tokens
from tollhouse.platform.encryption import KeyRing

SCOPE = "account:read payments:read payments:write offline_access"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
async def tokens(app: Application, alice: Actor) -> dict[str, Any]:
    """Alice's tokens."""
    return await app.connect(alice, SCOPE)


def assert_invalid_grant(answer: Answer) -> None:
    """400 `invalid_grant`."""
    answer.refused("invalid_grant", 400)


async def assert_token_valid(app: Application, access_token: str, *, yes: bool = True) -> None:
    """The access token is accepted, or rejected if not `yes`."""
    answer = await app.api(access_token, "GET", "/account")
    if yes:
        answer.ok()
    else:
        answer.refused("invalid_token", 401)


async def revoked_reason(app: Application) -> str | None:
    """The reason of revocation of the application's only grant."""
    rows = await app.owner.sql("SELECT revoked_because FROM oauth_grants WHERE client_id = $1", app.client_id)
    assert len(rows) == 1
    return rows[0]["revoked_because"]


@pytest.mark.covers("O-123", "O-130")
async def test_refresh_returns_new_tokens_and_keeps_old_access_tokens(app: Application, tokens: dict[str, Any]) -> None:
    answer = (await app.refresh(tokens["refresh_token"])).ok()
    assert answer.headers["Pragma"] == "no-cache"
    fresh = answer.body
    assert set(fresh) == set(tokens)
    assert fresh["refresh_token"] != tokens["refresh_token"]
    assert fresh["access_token"] != tokens["access_token"]
    assert fresh["scope"] == tokens["scope"]
    await assert_token_valid(app, tokens["access_token"])
    await assert_token_valid(app, fresh["access_token"])


@pytest.mark.covers("O-124", "O-143", "O-144")
async def test_failed_refresh_does_not_use_the_token(app: Application, tokens: dict[str, Any]) -> None:
    current = tokens["refresh_token"]
    (await app.refresh("")).refused("invalid_request", 400)
    for wrong in ("x", tokens["access_token"], current[:-1], current + "0", current.swapcase(), "thrt_" + "0" * 76):
        assert_invalid_grant(await app.refresh(wrong))
    (await app.refresh(current, client_id="thc_unknown")).refused("invalid_client", 401)
    (await app.refresh(current, scope="openid")).refused("invalid_scope", 400)
    await assert_token_valid(app, current, yes=False)
    (await app.refresh(current)).ok()


@pytest.mark.covers("O-125", "O-126", "O-129")
@pytest.mark.parametrize("rotations", [1, 4])
async def test_replayed_refresh_token_revokes_the_grant(app: Application, tokens: dict[str, Any], rotations: int) -> None:
    latest = tokens
    for _ in range(rotations):
        latest = (await app.refresh(latest["refresh_token"])).ok().body
    refused = await app.refresh(tokens["refresh_token"])
    assert_invalid_grant(refused)
    assert "replaced" in refused.body["error_description"]
    await assert_token_valid(app, tokens["access_token"], yes=False)
    await assert_token_valid(app, latest["access_token"], yes=False)
    assert_invalid_grant(await app.refresh(latest["refresh_token"]))
    assert await revoked_reason(app) == "refresh_token_replayed"


@pytest.mark.covers("O-127")
async def test_another_application_cannot_use_or_revoke_it(app: Application, bob: Actor, tokens: dict[str, Any]) -> None:
    other = await application(bob)
    latest = (await app.refresh(tokens["refresh_token"])).ok().body
    assert_invalid_grant(await other.refresh(tokens["refresh_token"]))
    assert_invalid_grant(await other.refresh(latest["refresh_token"]))
    (await app.refresh(latest["refresh_token"])).ok()


@pytest.mark.covers("O-125")
async def test_grant_cannot_be_revoked_by_its_id(app: Application, tokens: dict[str, Any]) -> None:
    (await app.refresh(tokens["refresh_token"])).ok()
    rows = await app.owner.sql("SELECT id FROM oauth_grants WHERE client_id = $1", app.client_id)
    strangers_ring = KeyRing((("other", bytes(32)),))
    assert_invalid_grant(await app.refresh(refresh_tokens.mint(strangers_ring, rows[0]["id"], 0)))
    assert await revoked_reason(app) is None


@pytest.mark.covers("O-128")
async def test_concurrent_refreshes_have_one_winner_and_revoke_the_grant(app: Application, tokens: dict[str, Any]) -> None:
    responses = await asyncio.gather(*(app.refresh(tokens["refresh_token"]) for _ in range(20)))
    won = [answer for answer in responses if answer.status == 200]
    assert len(won) == 1
    for answer in responses:
        if answer is not won[0]:
            assert_invalid_grant(answer)
    await assert_token_valid(app, won[0].body["access_token"], yes=False)
    assert_invalid_grant(await app.refresh(won[0].body["refresh_token"]))
    assert await revoked_reason(app) == "refresh_token_replayed"


@pytest.mark.covers("O-131", "O-133", "O-136")
async def test_requested_scope_applies_to_one_access_token(app: Application, tokens: dict[str, Any]) -> None:
    narrow = (await app.refresh(tokens["refresh_token"], scope="offline_access account:read")).ok().body
    assert narrow["scope"] == "account:read offline_access"
    account = (await app.api(narrow["access_token"], "GET", "/account")).ok().body
    assert account["scopes"] == ["account:read", "offline_access"]
    assert (await app.api(tokens["access_token"], "GET", "/account")).ok().body["scopes"] == SCOPE.split()
    (await app.api(narrow["access_token"], "GET", "/payment-links")).refused("missing_scope", 403)
    full = (await app.refresh(narrow["refresh_token"])).ok().body
    assert full["scope"] == SCOPE


@pytest.mark.covers("O-132", "O-135")
@pytest.mark.parametrize(
    "scope", ["account:read balances:read", "account:read Payments:Read", "offline_access", "account:read\tpayments:read"]
)
async def test_scope_beyond_the_grant_is_rejected_without_using_the_token(
    app: Application, tokens: dict[str, Any], scope: str
) -> None:
    (await app.refresh(tokens["refresh_token"], scope=scope)).refused("invalid_scope", 400)
    (await app.refresh(tokens["refresh_token"], scope=SCOPE)).ok()


@pytest.mark.covers("O-134")
async def test_omitting_offline_access_ends_refreshing(app: Application, tokens: dict[str, Any]) -> None:
    last = (await app.refresh(tokens["refresh_token"], scope="account:read")).ok().body
    assert "refresh_token" not in last
    await assert_token_valid(app, last["access_token"])
    assert_invalid_grant(await app.refresh(tokens["refresh_token"]))
    await assert_token_valid(app, last["access_token"], yes=False)


@pytest.mark.covers("O-137")
async def test_refresh_does_not_extend_the_grant(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    before = await alice.sql("SELECT expires_at FROM oauth_grants WHERE client_id = $1", app.client_id)
    latest = (await app.refresh(tokens["refresh_token"])).ok().body
    assert await alice.sql("SELECT expires_at FROM oauth_grants WHERE client_id = $1", app.client_id) == before
    await alice.sql("UPDATE oauth_grants SET expires_at = now() + interval '60 s' WHERE client_id = $1", app.client_id)
    latest = (await app.refresh(latest["refresh_token"])).ok().body
    assert 50 <= latest["expires_in"] <= 60
    await alice.sql("UPDATE oauth_grants SET expires_at = now() - interval '1 ms' WHERE client_id = $1", app.client_id)
    assert_invalid_grant(await app.refresh(latest["refresh_token"]))
    await assert_token_valid(app, latest["access_token"], yes=False)


@pytest.mark.parametrize("left", ["999 ms", "1 ms"])
async def test_no_token_is_issued_in_the_last_second(
    app: Application, alice: Actor, tokens: dict[str, Any], left: str
) -> None:
    """`expires_in` is never 0."""
    end = f"UPDATE oauth_grants SET expires_at = now() + interval '{left}' WHERE client_id = $1"  # noqa: S608
    await alice.sql(end, app.client_id)
    assert_invalid_grant(await app.refresh(tokens["refresh_token"]))


@pytest.mark.covers("O-140")
async def test_application_without_offline_access_cannot_refresh(
    app: Application, alice: Actor, tokens: dict[str, Any]
) -> None:
    await alice.sql("UPDATE oauth_clients SET scope_mask = scope_mask & ~262144 WHERE id = $1", app.client_id)
    assert_invalid_grant(await app.refresh(tokens["refresh_token"]))
    await assert_token_valid(app, tokens["access_token"])


@pytest.mark.covers("O-141")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE oauth_clients SET grant_epoch = grant_epoch + 1 WHERE id = $1",
        "UPDATE oauth_clients SET status = 'paused' WHERE id = $1",
        "UPDATE oauth_grants SET revoked_at = now(), revoked_because = 'disconnected' WHERE client_id = $1",
    ],
)
async def test_ended_grant_cannot_be_refreshed(app: Application, alice: Actor, tokens: dict[str, Any], change: str) -> None:
    await alice.sql(change, app.client_id)
    assert_invalid_grant(await app.refresh(tokens["refresh_token"]))
    await assert_token_valid(app, tokens["access_token"], yes=False)


@pytest.mark.covers("O-142")
async def test_grant_of_suspended_merchant_is_kept(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id::text = $1", alice.merchant_id)
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    (await app.api(fresh["access_token"], "GET", "/account")).refused("account_suspended", 403)


def test_refresh_token_contains_grant_and_generation() -> None:
    ring = KeyRing((("now", bytes(range(32))), ("before", bytes(32))))
    grant_id = UUID(int=7)
    minted = refresh_tokens.mint(ring, grant_id, 41)
    assert refresh_tokens.parse(ring, minted) == refresh_tokens.RefreshToken(
        grant_id,  # pyright: ignore[reportArgumentType]
        41,
        hashlib.sha256(minted.encode()).digest(),
    )
    before = refresh_tokens.mint(KeyRing((("before", bytes(32)),)), grant_id, 1)
    assert refresh_tokens.parse(ring, before) is not None
    highest = token_form.with_checksum("thrt", "z" * refresh_tokens.BODY_CHARS)
    for junk in ("", "thrt_", token_form.mint("thrt"), token_form.mint("that"), minted[:-1], highest):
        assert refresh_tokens.parse(ring, junk) is None
