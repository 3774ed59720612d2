"""The authorization endpoint: errors as JSON and by redirect, their order, and the stored request."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from yarl import URL

from tests.cast import CALLBACK, Actor, Answer, Application, application, of_the_file
from tollhouse.oauth.request_rules import BEFORE_REDIRECT, BY_REDIRECT

AUTHORIZE = "/api/v2/oauth/authorize"
alice = of_the_file("alice", "Alice's Coffee")
bob = of_the_file("bob", "Bob's Books")


@pytest.fixture(scope="module")
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
async def new_app(bob: Actor) -> Application:
    """One with which nothing happened yet."""
    return await application(bob)


async def request(actor: Actor, app: Application, *more: tuple[str, str], **changes: Any) -> Answer:
    """A valid authorization request with some changes; None omits a parameter."""
    asked: dict[str, Any] = {**app.authorize_query("account:read payments:read"), "state": "st", **changes}
    pairs = [(name, value) for name, value in asked.items() if value is not None]
    return await raw(actor, urlencode([*pairs, *more]))


async def raw(actor: Actor, query: str) -> Answer:
    """An authorization request with this raw query."""
    url = URL(f"{actor.service.url}{AUTHORIZE}?{query}", encoded=True)
    async with actor.http.get(url, allow_redirects=False) as response:
        return Answer(response.status, response.headers, await response.read())


def assert_json_error(answer: Answer, code: str, status: int) -> None:
    """A JSON error without a redirect."""
    answer.refused(code, status)
    assert "Location" not in answer.headers
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "WWW-Authenticate" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers


def assert_error_redirect(answer: Answer, code: str, state: str | None = "st") -> None:
    """An error redirect that keeps the query of the redirect URI."""
    assert answer.ok(303).location.startswith(CALLBACK + "&")
    pairs = parse_qsl(urlsplit(answer.location).query, keep_blank_values=True)
    found = dict(pairs)
    assert len(pairs) == len(found)
    assert found.pop("keep") == "1"
    assert found.pop("error") == code
    assert found.pop("iss").startswith("http://127.0.0.1:")
    assert set(found.pop("error_description")) <= {chr(n) for n in range(0x20, 0x7F)} - {'"', "\\"}
    assert found == ({} if state is None else {"state": state})


@pytest.mark.covers("O-13", "O-14", "O-15", "O-16", "O-17", "O-18", "O-27", "O-29")
@pytest.mark.parametrize(
    ("changes", "more", "code", "status"),
    [
        ({"client_id": None}, [], "invalid_request", 400),
        ({"client_id": ""}, [], "invalid_request", 400),
        ({"client_id": "thc_unknown"}, [], "invalid_client", 401),
        ({"client_id": "thc_\x01"}, [], "invalid_request", 400),
        ({"client_id": "thc_\x00"}, [], "invalid_request", 400),
        ({}, [("client_id", "thc_other")], "invalid_request", 400),
        ({"redirect_uri": None}, [], "invalid_request", 400),
        ({"redirect_uri": ""}, [], "invalid_request", 400),
        ({"redirect_uri": "https://evil.example/cb"}, [], "invalid_request", 400),
        ({}, [("redirect_uri", CALLBACK)], "invalid_request", 400),
        ({}, [("redirect_uri", "https://evil.example/cb")], "invalid_request", 400),
    ],
)
async def test_invalid_client_or_redirect_uri_is_never_redirected(
    alice: Actor, app: Application, changes: dict[str, Any], more: list[tuple[str, str]], code: str, status: int
) -> None:
    assert_json_error(await request(alice, app, *more, **changes), code, status)


@pytest.mark.covers("O-19", "O-20", "O-23")
@pytest.mark.parametrize(
    "uri",
    [
        "http://app.example/callback?keep=1",
        "https://app.example.evil.com/callback?keep=1",
        "https://app.example:8443/callback?keep=1",
        "https://app.example:443/callback?keep=1",
        "https://APP.example/callback?keep=1",
        "https://app.example/Callback?keep=1",
        "https://app.example/callback/?keep=1",
        "https://app.example/callback",
        "https://app.example/callback?",
        "https://app.example/callback?keep=2",
        "https://app.example/callback?keep=1&more=1",
        "https://app.example/callback?keep=1#",
        "https://app.example/callback?keep=1#part",
        "https://good@app.example/callback?keep=1",
        "https://app.example\\callback?keep=1",
        "https://app.example/x/%2e%2e/callback?keep=1",
        "https://app.example/callback?keep=1\t",
        "https://app.example/callback?keep=1\n",
        "https://app.example/callback?keep=1\x00",
        "https://app.example/callback?keep=1 ",
        " https://app.example/callback?keep=1",
    ],
)
async def test_redirect_uri_is_compared_exactly(alice: Actor, app: Application, uri: str) -> None:
    assert_json_error(await request(alice, app, redirect_uri=uri), "invalid_request", 400)


@pytest.mark.covers("O-21", "O-22")
@pytest.mark.parametrize("uri", ["http://127.0.0.1:8081/cb", "http://localhost:8080/cb", "http://[::1]:8080/cb"])
async def test_loopback_redirect_uri_is_compared_exactly(alice: Actor, bob: Actor, uri: str) -> None:
    app = await application(bob, redirect_uris=["http://127.0.0.1:8080/cb"])
    (await request(alice, app)).ok(303)
    assert_json_error(await request(alice, app, redirect_uri=uri), "invalid_request", 400)


@pytest.mark.covers("O-24")
async def test_redirect_uri_of_another_application_is_rejected(alice: Actor, mallory: Actor, app: Application) -> None:
    other = await application(mallory, redirect_uris=["https://mallory.example/cb"])
    assert_json_error(await request(alice, app, redirect_uri=other.redirect_uri), "invalid_request", 400)


@pytest.mark.covers("O-26")
@pytest.mark.parametrize("status", ["paused", "revoked"])
async def test_paused_or_revoked_application_cannot_start(alice: Actor, new_app: Application, status: str) -> None:
    await alice.sql(
        "UPDATE oauth_clients SET status = $2, revoked_at = CASE WHEN $2 = 'revoked' THEN now() END WHERE id = $1",
        new_app.client_id,
        status,
    )
    assert_json_error(await request(alice, new_app), "invalid_client", 401)
    assert await alice.sql("SELECT 1 FROM oauth_requests WHERE client_id = $1", new_app.client_id) == []


@pytest.mark.covers(
    "O-30", "O-31", "O-32", "O-33", "O-34", "O-35", "O-36", "O-42", "O-43", "O-44", "O-45", "O-47", "O-49", "O-50"
)
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": ""}, "invalid_request"),
        *[
            ({"response_type": sent}, "unsupported_response_type")
            for sent in ("token", "id_token", "code token", "code id_token", "CODE", "code\n", "code\x00")
        ],
        ({"scope": None}, "invalid_scope"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": " "}, "invalid_scope"),
        ({"scope": "account:read openid"}, "invalid_scope"),
        ({"scope": "Account:Read"}, "invalid_scope"),
        ({"scope": "offline_access"}, "invalid_scope"),
        *[({"scope": f"account:read{char}payments:read"}, "invalid_scope") for char in '\t\n"\\,\x00'],
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "A" * 42}, "invalid_request"),
        ({"code_challenge": "A" * 44}, "invalid_request"),
        ({"code_challenge": "A" * 43 + "="}, "invalid_request"),
        ({"code_challenge": "A" * 42 + "+"}, "invalid_request"),
        ({"code_challenge": "A" * 42 + "/"}, "invalid_request"),
        ({"code_challenge": "A" * 42 + "B"}, "invalid_request"),
        ({"code_challenge": "A" * 43 + "\n"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "plain\nS256"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge_method": "S512"}, "invalid_request"),
        ({"mode": "sandbox"}, "invalid_request"),
        ({"mode": "LIVE"}, "invalid_request"),
    ],
)
async def test_other_errors_are_redirected(alice: Actor, app: Application, changes: dict[str, Any], code: str) -> None:
    assert_error_redirect(await request(alice, app, **changes), code)


@pytest.mark.covers("O-33")
async def test_only_registered_scopes_can_be_requested(alice: Actor, bob: Actor) -> None:
    app = await application(bob, scopes=["account:read"])
    assert_error_redirect(await request(alice, app, scope="account:read payments:read"), "invalid_scope")
    (await request(alice, app, scope="account:read")).ok(303)


@pytest.mark.covers("O-38", "O-39", "O-41")
@pytest.mark.parametrize("state", [None, "", "s" * 513, "s\n", "s\x00", "s\x7f"])
async def test_invalid_state_is_rejected_and_not_returned(alice: Actor, app: Application, state: str | None) -> None:
    assert_error_redirect(await request(alice, app, state=state), "invalid_request", state=None)


@pytest.mark.covers("O-39", "O-40")
@pytest.mark.parametrize("state", ["s" * 512, "é" * 512, "&=#%+ ?/", "日本語", "%41", "a b+c"])
async def test_state_is_returned_unchanged(alice: Actor, app: Application, state: str) -> None:
    assert_error_redirect(
        await request(alice, app, state=state, response_type="token"), "unsupported_response_type", state=state
    )


@pytest.mark.covers("O-41", "O-46")
@pytest.mark.parametrize("name", ["response_type", "scope", "state", "code_challenge", "code_challenge_method", "mode"])
async def test_repeated_parameters_are_rejected(alice: Actor, app: Application, name: str) -> None:
    twice = {**app.authorize_query("account:read"), "state": "st", "mode": "test"}[name]
    assert_error_redirect(
        await request(alice, app, (name, twice)), "invalid_request", state=None if name == "state" else "st"
    )


@pytest.mark.covers("O-37", "O-47", "O-48")
@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "payments:read account:read"},
        {"scope": "account:read account:read"},
        {"mode": ""},
        {"mode": None},
        {"mode": "live"},
        {"nonce": "n", "prompt": "login", "audience": "x", "foo": "\x00"},
    ],
)
async def test_unknown_parameters_and_scope_order_are_ignored(
    alice: Actor, app: Application, changes: dict[str, Any]
) -> None:
    answer = (await request(alice, app, **changes)).ok(303)
    assert answer.location.startswith("/oauth/consent/")


@pytest.mark.covers("O-37")
async def test_plus_and_percent_20_are_spaces(alice: Actor, app: Application) -> None:
    rest = urlencode({**app.authorize_query("x"), "scope": ""}).replace("scope=", "")
    for separator in ("+", "%20"):
        (await raw(alice, f"{rest}&scope=account:read{separator}payments:read")).ok(303)
    assert (await raw(alice, f"{rest}&scope=account:read%2Bpayments:read")).query["error"] == "invalid_scope"


@pytest.mark.covers("O-27")
@pytest.mark.parametrize("bad", ["state=%FF", "state=%zz", "foo=%C3%28", "%FF=1"])
async def test_invalid_encoding_is_rejected(alice: Actor, app: Application, bad: str) -> None:
    assert_json_error(await raw(alice, f"{urlencode(app.authorize_query('account:read'))}&{bad}"), "invalid_request", 400)


@pytest.mark.covers("O-28", "O-51")
async def test_only_get_without_cors(alice: Actor, new_app: Application) -> None:
    path = new_app.authorize_path("account:read")
    for method in ("POST", "HEAD", "OPTIONS"):
        answer = await alice.send(method, path, headers={"Origin": "https://spa.example"})
        assert answer.status == 405
        assert answer.headers["Allow"] == "GET"
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert await alice.sql("SELECT 1 FROM oauth_requests WHERE client_id = $1", new_app.client_id) == []


@pytest.mark.covers("O-52", "O-53", "O-210")
async def test_request_is_stored_by_digest_and_survives_sign_in(alice: Actor, new_app: Application) -> None:
    started = (await alice.anonymously("GET", new_app.authorize_path("account:read"))).ok(303)
    request_id = started.location.removeprefix("/oauth/consent/")
    assert len(request_id) == 43
    [stored] = await alice.sql("SELECT r::text AS all FROM oauth_requests r WHERE client_id = $1", new_app.client_id)
    assert request_id not in stored["all"]
    there = await alice.anonymously("GET", started.location)
    assert there.status == 303
    assert there.location == f"/signin?request={request_id}"
    (await alice.send("GET", started.location)).ok()


@pytest.mark.covers("O-25")
async def test_errors_come_in_the_documented_order(alice: Actor, app: Application) -> None:
    """Start with every error at once and fix one at a time."""
    wrong: dict[str, Any] = {
        "client_id": None,
        "redirect_uri": "https://evil.example/",
        "response_type": "token",
        "scope": "openid",
        "state": "s" * 513,
        "code_challenge": "short",
        "code_challenge_method": "plain",
        "mode": "sandbox",
        "resource": "https://evil.example/mcp",
        "authorization_details": "{}",
        "dpop_jkt": "short",
    }
    assert_json_error(await request(alice, app, **wrong), "invalid_request", 400)
    wrong["client_id"] = "thc_unknown"
    assert_json_error(await request(alice, app, **wrong), "invalid_client", 401)
    del wrong["client_id"]
    assert_json_error(await request(alice, app, **wrong), "invalid_request", 400)
    del wrong["redirect_uri"]
    descriptions: list[str] = []
    answer = await request(alice, app, ("mode", "test"), **wrong)
    descriptions.append(answer.query["error_description"])
    for name in list(wrong):
        descriptions.append((await request(alice, app, **wrong)).query["error_description"])
        del wrong[name]
    expected = ["repeated", "response_type", "scope", "state", "code_challenge", "S256", "mode", "resource"]
    expected += ["authorization_details", "dpop_jkt"]
    assert [word in sentence for word, sentence in zip(expected, descriptions, strict=True)] == [True] * 10
    assert len(expected) == len(BY_REDIRECT)
    assert (await request(alice, app)).ok(303).location.startswith("/oauth/consent/")


def test_rules_are_in_the_documented_order() -> None:
    assert [rule.__name__ for rule in BEFORE_REDIRECT] == [
        "require_client_id",
        "require_enabled_client",
        "require_redirect_uri",
        "require_registered_redirect_uri",
    ]
    assert [rule.__name__ for rule in BY_REDIRECT] == [
        "require_single_parameters",
        "require_response_type",
        "require_scope",
        "require_state",
        "require_code_challenge",
        "require_code_challenge_method",
        "require_mode",
        "require_resource",
        "require_authorization_details",
        "require_dpop_jkt",
    ]
