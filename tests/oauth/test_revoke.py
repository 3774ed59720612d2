"""Giving a connection back: either token ends all of it, and nobody learns whether a token was one."""

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
    """Alice's tokens at it."""
    return await app.connect(alice, "account:read offline_access")


def gone(answer: Answer) -> None:
    """200 and an empty object, whatever it was."""
    assert answer.ok(200).body == {}
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def alive(app: Application, *access_tokens: str) -> bool:
    """Whether these access tokens all work, or none does."""
    found = {(await app.api(token, "GET", "/account")).status for token in access_tokens}
    assert len(found) == 1
    return found == {200}


@pytest.mark.covers("O-145", "O-146", "O-149")
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_either_token_ends_all_of_it(app: Application, tokens: dict[str, Any], kind: str) -> None:
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    gone(await app.revoke(fresh[kind]))
    assert not await alive(app, tokens["access_token"], fresh["access_token"])
    (await app.refresh(fresh["refresh_token"])).refused("invalid_grant", 400)
    gone(await app.revoke(fresh[kind]))


@pytest.mark.covers("O-148")
async def test_a_replaced_refresh_token_ends_it_too(app: Application, tokens: dict[str, Any]) -> None:
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    gone(await app.revoke(tokens["refresh_token"]))
    assert not await alive(app, fresh["access_token"])


@pytest.mark.covers("O-147", "O-155")
async def test_what_is_no_token_of_ours_is_gone_already(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    code = await app.code(alice, "account:read")
    for junk in ("x", tokens["access_token"][:-1], "that_" + "0" * 49, "thrt_" + "0" * 76, code, app.client_secret or ""):
        gone(await app.revoke(junk))
    assert await alive(app, tokens["access_token"])
    (await app.exchange(code)).ok()


@pytest.mark.covers("O-150")
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_another_applications_token_stays(app: Application, bob: Actor, tokens: dict[str, Any], kind: str) -> None:
    other = await application(bob)
    gone(await other.revoke(tokens[kind]))
    assert await alive(app, tokens["access_token"])
    (await app.refresh(tokens["refresh_token"])).ok()


@pytest.mark.covers("O-151")
async def test_the_token_is_sent_once(app: Application, tokens: dict[str, Any]) -> None:
    path = "/api/v2/oauth/revoke"
    (await app.protocol(path, {})).refused("invalid_request", 400)
    (await app.protocol(path, {"token": ""})).refused("invalid_request", 400)
    credentials = [("client_id", app.client_id), ("client_secret", app.client_secret or "")]
    twice = [*credentials, ("token", tokens["access_token"]), ("token", tokens["access_token"])]
    (await post_form(app.owner.service.url + path, twice)).refused("invalid_request", 400)
    assert await alive(app, tokens["access_token"])


@pytest.mark.covers("O-152")
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense", ""])
async def test_the_hint_changes_nothing(app: Application, tokens: dict[str, Any], hint: str) -> None:
    gone(await app.protocol("/api/v2/oauth/revoke", {"token": tokens["refresh_token"], "token_type_hint": hint}))
    assert not await alive(app, tokens["access_token"])


@pytest.mark.covers("O-153")
async def test_a_public_application_needs_its_name_only(bob: Actor, alice: Actor) -> None:
    spa = await application(bob, "public")
    tokens = await spa.connect(alice, "account:read")
    gone(await spa.revoke(tokens["access_token"]))
    assert not await alive(spa, tokens["access_token"])


@pytest.mark.covers("O-153")
async def test_without_authentication_the_token_stays(app: Application, tokens: dict[str, Any]) -> None:
    sent = {"token": tokens["access_token"], "client_secret": "wrong"}
    (await app.protocol("/api/v2/oauth/revoke", sent)).refused("invalid_client", 401)
    assert await alive(app, tokens["access_token"])


@pytest.mark.covers("O-156")
async def test_after_revoking_while_refreshing_nothing_works(app: Application, alice: Actor) -> None:
    for _ in range(5):
        tokens = await app.connect(alice, "account:read offline_access")
        refreshed, revoked = await asyncio.gather(app.refresh(tokens["refresh_token"]), app.revoke(tokens["access_token"]))
        gone(revoked)
        known = [tokens] + ([refreshed.body] if refreshed.status == 200 else [])
        assert not await alive(app, *(one["access_token"] for one in known))
        assert (await app.refresh(known[-1]["refresh_token"])).status == 400
