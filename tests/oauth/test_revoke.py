"""Token revocation (RFC 7009): either token revokes the grant; responses do not tell whether a token exists."""

import asyncio
from typing import Any

import pytest

from tests.cast import Actor, Answer, Application, application, post_form


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
async def tokens(app: Application, alice: Actor) -> dict[str, Any]:
    """Alice's tokens."""
    return await app.connect(alice, "account:read offline_access")


def assert_revoked(answer: Answer) -> None:
    """200 with an empty object."""
    assert answer.ok(200).body == {}
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def are_valid(app: Application, *access_tokens: str) -> bool:
    """Whether all of these access tokens are accepted; False if none is."""
    found = {(await app.api(token, "GET", "/account")).status for token in access_tokens}
    assert len(found) == 1
    return found == {200}


@pytest.mark.covers("O-145", "O-146", "O-149")
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_either_token_revokes_the_grant(app: Application, tokens: dict[str, Any], kind: str) -> None:
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    assert_revoked(await app.revoke(fresh[kind]))
    assert not await are_valid(app, tokens["access_token"], fresh["access_token"])
    (await app.refresh(fresh["refresh_token"])).refused("invalid_grant", 400)
    assert_revoked(await app.revoke(fresh[kind]))


@pytest.mark.covers("O-148")
async def test_replaced_refresh_token_revokes_the_grant(app: Application, tokens: dict[str, Any]) -> None:
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    assert_revoked(await app.revoke(tokens["refresh_token"]))
    assert not await are_valid(app, fresh["access_token"])


@pytest.mark.covers("O-147", "O-155")
async def test_unknown_tokens_return_200(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    code = await app.code(alice, "account:read")
    for junk in ("x", tokens["access_token"][:-1], "that_" + "0" * 49, "thrt_" + "0" * 76, code, app.client_secret or ""):
        assert_revoked(await app.revoke(junk))
    assert await are_valid(app, tokens["access_token"])
    (await app.exchange(code)).ok()


@pytest.mark.covers("O-150")
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_token_of_another_application_stays_valid(
    app: Application, bob: Actor, tokens: dict[str, Any], kind: str
) -> None:
    other = await application(bob)
    assert_revoked(await other.revoke(tokens[kind]))
    assert await are_valid(app, tokens["access_token"])
    (await app.refresh(tokens["refresh_token"])).ok()


@pytest.mark.covers("O-151")
async def test_token_must_be_sent_once(app: Application, tokens: dict[str, Any]) -> None:
    path = "/api/v2/oauth/revoke"
    (await app.protocol(path, {})).refused("invalid_request", 400)
    (await app.protocol(path, {"token": ""})).refused("invalid_request", 400)
    credentials = [("client_id", app.client_id), ("client_secret", app.client_secret or "")]
    twice = [*credentials, ("token", tokens["access_token"]), ("token", tokens["access_token"])]
    (await post_form(app.owner.service.url + path, twice)).refused("invalid_request", 400)
    assert await are_valid(app, tokens["access_token"])


@pytest.mark.covers("O-152")
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense", ""])
async def test_hint_is_ignored(app: Application, tokens: dict[str, Any], hint: str) -> None:
    assert_revoked(await app.protocol("/api/v2/oauth/revoke", {"token": tokens["refresh_token"], "token_type_hint": hint}))
    assert not await are_valid(app, tokens["access_token"])


@pytest.mark.covers("O-153")
async def test_public_client_revokes_with_its_id(bob: Actor, alice: Actor) -> None:
    spa = await application(bob, "public")
    tokens = await spa.connect(alice, "account:read")
    assert_revoked(await spa.revoke(tokens["access_token"]))
    assert not await are_valid(spa, tokens["access_token"])


@pytest.mark.covers("O-153")
async def test_client_authentication_is_required(app: Application, tokens: dict[str, Any]) -> None:
    sent = {"token": tokens["access_token"], "client_secret": "wrong"}
    (await app.protocol("/api/v2/oauth/revoke", sent)).refused("invalid_client", 401)
    assert await are_valid(app, tokens["access_token"])


@pytest.mark.covers("O-156")
async def test_concurrent_refresh_and_revocation_leave_no_valid_token(app: Application, alice: Actor) -> None:
    for _ in range(5):
        tokens = await app.connect(alice, "account:read offline_access")
        refreshed, revoked = await asyncio.gather(app.refresh(tokens["refresh_token"]), app.revoke(tokens["access_token"]))
        assert_revoked(revoked)
        known = [tokens] + ([refreshed.body] if refreshed.status == 200 else [])
        assert not await are_valid(app, *(one["access_token"] for one in known))
        assert (await app.refresh(known[-1]["refresh_token"])).status == 400
