"""The consent page: another account, long descriptions, concurrency, database errors."""

import asyncio
import html
from collections.abc import Callable

import pytest

from tests.cast import HIDDEN, PASSWORD, Actor, Answer, Application, application, consent, sign_up
from tests.running import Service

SCOPE = "account:read payments:write offline_access"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
def broken(make_service: Callable[..., Service]) -> Service:
    """A service with its own database, which the test breaks."""
    return make_service(fresh=True, TOLLHOUSE_SIGNUP="open")


async def start(actor: Actor, app: Application) -> str:
    """The path of a consent page."""
    return (await actor.send("GET", app.authorize_path(SCOPE))).ok(303).location


async def form_token(actor: Actor, path: str) -> str:
    """The hidden token of the page."""
    return html.unescape(dict(HIDDEN.findall((await actor.send("GET", path)).text))["form_token"])


async def switch(actor: Actor, path: str, token: str) -> Answer:
    """Click "Use another account"."""
    return await actor.form(f"{path}/switch", {"form_token": token, "scope": "account:read"})


async def sign_in(actor: Actor, other: Actor, request: str) -> Answer:
    """Sign in with another account to continue a request."""
    fields = {"email": other.email, "password": PASSWORD, "request": request.rpartition("=")[2]}
    return await actor.form("/signin", fields)


@pytest.mark.covers("O-52", "O-65")
async def test_another_account_can_decide_the_same_request(alice: Actor, carol: Actor, app: Application) -> None:
    path = await start(alice, app)
    text = (await alice.send("GET", path)).ok().text
    assert text.index('value="deny"') < text.index('value="allow"') < text.index(f'formaction="{path}/switch"')
    (await carol.send("GET", path)).refused("not_found", 404)
    left = (await switch(alice, path, await form_token(alice, path))).ok(303)
    assert left.location == f"/signin?request={path.rpartition('/')[2]}"
    (await alice.dashboard("GET", "/session")).refused("authentication_required", 401)
    back = (await sign_in(alice, carol, left.location)).ok(303)
    assert back.location == path
    assert "Carol&#39;s Cakes" in (await alice.send("GET", path)).ok().text
    code = (await consent(alice, path, ["account:read"])).ok(303).query["code"]
    token = (await app.exchange(code)).ok().body["access_token"]
    assert (await app.api(token, "GET", "/account")).ok().body["merchant_id"] == carol.merchant_id


async def test_same_account_can_sign_in_again(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    left = await switch(alice, path, await form_token(alice, path))
    (await sign_in(alice, alice, left.location)).ok(303)
    (await consent(alice, path, ["account:read"])).ok(303)


@pytest.mark.covers("O-64")
async def test_switching_requires_the_form_token(alice: Actor, carol: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    (await switch(alice, path, "")).refused("forbidden", 403)
    (await switch(alice, path, await form_token(alice, await start(alice, app)))).refused("forbidden", 403)
    (await switch(carol, path, token)).refused("not_found", 404)
    crossing = {"Sec-Fetch-Site": "cross-site"}
    answer = await alice.send("POST", f"{path}/switch", data={"form_token": token}, headers=crossing)
    answer.refused("cross_origin_forbidden", 403)
    assert (await alice.anonymously("POST", f"{path}/switch")).status == 303
    (await alice.dashboard("GET", "/session")).ok()
    (await consent(alice, path, ["account:read"])).ok(303)


async def test_decided_request_cannot_be_switched(alice: Actor, carol: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    (await consent(alice, path, [], "deny")).ok(303)
    (await switch(alice, path, token)).ok(303)
    (await carol.send("GET", path)).refused("not_found", 404)


async def test_suspended_merchant_can_use_another_account(alice: Actor, carol: Actor, app: Application) -> None:
    path = await start(alice, app)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id::text = $1", alice.merchant_id)
    stopped = (await alice.send("GET", path)).ok(403).text
    assert f'action="{path}/switch"' in stopped
    assert 'name="decision"' not in stopped
    left = (await switch(alice, path, await form_token(alice, path))).ok(303)
    (await sign_in(alice, carol, left.location)).ok(303)
    (await consent(alice, path, ["account:read"])).ok(303)


@pytest.mark.covers("O-69")
@pytest.mark.parametrize(
    ("description", "summary", "rest"),
    [
        ("one\ntwo\nthree\nfour", "one\ntwo\nthree\nfour", None),
        ("one\ntwo\nthree\nfour\nfive\n<six>", "one\ntwo\nthree\nfour …", "… five\n&lt;six&gt;"),
        ("word " * 200, ("word " * 64).strip() + " …", "… " + ("word " * 136).strip()),
        ("x" * 1000, "x" * 320 + " …", "… " + "x" * 680),
        ("é" * 320, "é" * 320, None),
    ],
)
async def test_long_description_is_collapsed(
    alice: Actor, bob: Actor, description: str, summary: str, rest: str | None
) -> None:
    app = await application(bob, description=description)
    text = (await alice.send("GET", await start(alice, app))).ok().text
    assert f"<bdi>{summary}</bdi>" in text
    assert ("Show full description" in text) is (rest is not None)
    if rest is not None:
        assert f"<bdi>{rest}</bdi></p></details>" in text


async def test_more_concurrent_pages_than_database_connections(alice: Actor, app: Application) -> None:
    paths = await asyncio.gather(*(start(alice, app) for _ in range(30)))
    pages = await asyncio.wait_for(asyncio.gather(*(alice.send("GET", path) for path in paths)), 20)
    assert {page.status for page in pages} == {200}


@pytest.mark.covers("O-50")
async def test_database_error_is_redirected_as_server_error(broken: Service) -> None:
    async with sign_up(broken, "bob", "Bob's Books") as bob:
        app = await application(bob)
        await bob.sql("ALTER TABLE oauth_requests RENAME TO elsewhere")
        try:
            answer = (await bob.send("GET", app.authorize_path(SCOPE, state="s t"))).ok(303)
            assert answer.location.startswith(app.redirect_uri)
            assert answer.query["error"] == "server_error"
            assert answer.query["state"] == "s t"
            assert answer.query["iss"] == broken.url
            wrong = await bob.send("GET", app.authorize_path(SCOPE, redirect_uri="https://evil.example/"))
            wrong.refused("invalid_request", 400)
        finally:
            await bob.sql("ALTER TABLE elsewhere RENAME TO oauth_requests")
