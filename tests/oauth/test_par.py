"""Pushed authorization requests (RFC 9126): the same rules as at the authorization endpoint, one decision for each."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cast import HIDDEN, Actor, Answer, Application, application, consent, post_form, sign_up, suspend
from tests.oauth.test_throttling import assert_throttled
from tests.running import Service, with_limits
from tollhouse.oauth.par import PushedRequest

PAR, AUTHORIZE = "/api/v2/oauth/par", "/api/v2/oauth/authorize"
SCOPES = ["account:read", "payments:read", "offline_access"]
SCOPE = " ".join(SCOPES)
PREFIX = "urn:ietf:params:oauth:request_uri:"
TIME_OF_OPENED = """
    SELECT extract(epoch FROM expires_at - created_at)::int AS s FROM oauth_requests
    WHERE client_id = $1 AND opened_at IS NOT NULL
"""
WRONG: list[dict[str, str]] = [
    {"redirect_uri": ""},
    {"redirect_uri": "https://evil.example/"},
    {"redirect_uri": "https://app.example/callback"},
    {"response_type": ""},
    {"response_type": "token"},
    {"scope": ""},
    {"scope": "openid"},
    {"scope": "offline_access"},
    {"state": ""},
    {"state": "s" * 513},
    {"state": "\x1f"},
    {"code_challenge": ""},
    {"code_challenge": "short"},
    {"code_challenge_method": ""},
    {"code_challenge_method": "plain"},
    {"mode": "sandbox"},
    {"resource": "https://evil.example/mcp"},
]


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


def query(app: Application, changes: dict[str, str]) -> dict[str, str]:
    """The parameters of a request; a change to an empty text leaves one out."""
    return {name: value for name, value in (app.authorize_query(SCOPE) | changes).items() if value}


async def push(app: Application, **changes: str) -> Answer:
    """Push a request."""
    return await app.protocol(PAR, query(app, changes))


async def pushed(app: Application, **changes: str) -> str:
    """The reference to a request."""
    return (await push(app, **changes)).ok(201).body["request_uri"]


async def visit(app: Application, merchant: Actor, request_uri: str, **more: str) -> Answer:
    """Come with a reference."""
    return await merchant.send(
        "GET", f"{AUTHORIZE}?{urlencode({'client_id': app.client_id, 'request_uri': request_uri, **more})}"
    )


async def test_a_pushed_request_connects(app: Application, alice: Actor) -> None:
    answer = (await push(app, state="st-1")).ok(201)
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(answer.body) == set(PushedRequest.__struct_fields__)
    assert answer.body["request_uri"].startswith(PREFIX)
    assert answer.body["expires_in"] == 90
    page = (await visit(app, alice, answer.body["request_uri"])).ok(303).location
    done = (await consent(alice, page, ["account:read"])).ok(303)
    assert (done.query["state"], done.query["iss"]) == ("st-1", alice.service.url)
    assert done.location.startswith(app.redirect_uri)
    tokens = (await app.exchange(done.query["code"])).ok().body
    assert tokens["scope"] == "account:read"


@pytest.mark.parametrize("kind", ["confidential", "public"])
async def test_every_error_is_that_of_authorize_as_json(bob: Actor, alice: Actor, kind: str) -> None:
    app = await application(bob, kind)
    for changes in WRONG:
        shown = await alice.send("GET", f"{AUTHORIZE}?{urlencode(query(app, changes))}")
        refused = (await push(app, **changes)).refused(
            shown.query["error"] if shown.status == 303 else shown.body["error"], 400
        )
        said = shown.query["error_description"] if shown.status == 303 else shown.body["error_description"]
        assert refused.body["error_description"] == said, changes
        assert "Location" not in refused.headers


async def test_errors_come_in_the_order_of_authorize(app: Application) -> None:
    fields = app.authorize_query(SCOPE)
    wrong = {
        "client_secret": "wrong",
        "request_uri": f"{PREFIX}x",
        "redirect_uri": "https://evil.example/",
        "response_type": "token",
        "scope": "openid",
        "state": "s" * 513,
        "code_challenge": "short",
        "code_challenge_method": "plain",
        "mode": "sandbox",
        "resource": "x",
    }
    right = {**fields, "client_secret": app.client_secret or "", "request_uri": "", "resource": ""}
    said = list[str]()
    url = app.owner.service.url + PAR
    pairs = [*(fields | wrong).items(), ("client_id", app.client_id)]
    (await post_form(url, pairs)).refused("invalid_request", 400)
    for name in list(wrong):
        refused = await post_form(url, fields | wrong)
        said.append(f"{refused.body['error']} {refused.body['error_description']}")
        if right[name]:
            wrong[name] = right[name]
        else:
            del wrong[name]
    expected = ["client", "request_uri", "redirect_uri", "response_type", "scope", "state", "code_challenge", "S256", "mode"]
    assert [word in sentence for word, sentence in zip([*expected, "target"], said, strict=True)] == [True] * 10
    twice = [*(fields | wrong).items(), ("state", "x")]
    assert "repeated" in (await post_form(url, twice)).refused("invalid_request", 400).body["error_description"]
    (await post_form(url, fields | wrong)).ok(201)


async def test_client_authentication_is_that_of_the_token_endpoint(app: Application, bob: Actor, alice: Actor) -> None:
    fields, url = app.authorize_query(SCOPE), f"{bob.service.url}{PAR}"
    basic = "Basic " + base64.b64encode(f"{app.client_id}:{app.client_secret}".encode()).decode()
    (await post_form(url, fields, Authorization=basic)).ok(201)
    (await post_form(url, fields)).refused("invalid_client", 401)
    both = {**fields, "client_secret": app.client_secret or ""}
    (await post_form(url, both, Authorization=basic)).refused("invalid_request", 400)
    del fields["client_id"]
    (await post_form(url, fields, Authorization=basic)).refused("invalid_request", 400)
    (await alice.anonymously("GET", PAR)).refused("method_not_allowed", 405)
    (await alice.anonymously("POST", PAR, {})).refused("invalid_request", 400)
    public = await application(bob, "public")
    request_uri = await pushed(public)
    page = (await visit(public, alice, request_uri)).ok(303).location
    code = (await consent(alice, page, SCOPES)).ok(303).query["code"]
    (await public.exchange(code)).ok()


async def test_other_parameters_do_not_count(app: Application, alice: Actor) -> None:
    request_uri = await pushed(app, state="st-2")
    wrong = {
        "redirect_uri": "https://evil.example/",
        "scope": "settings:write",
        "state": "other",
        "mode": "live",
        "resource": "x",
    }
    page = (await visit(app, alice, request_uri, **wrong)).ok(303).location
    shown = (await alice.send("GET", page)).ok().text
    assert "settings:write" not in shown
    done = (await consent(alice, page, SCOPES)).ok(303)
    assert (done.query["state"], done.location.startswith(app.redirect_uri)) == ("st-2", True)
    tokens = (await app.exchange(done.query["code"])).ok().body
    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    assert (account["mode"], account["scopes"]) == ("test", SCOPES)


async def test_a_reference_is_of_one_application(app: Application, alice: Actor, mallory: Actor) -> None:
    other = await application(mallory)
    request_uri = await pushed(app)
    (await visit(other, alice, request_uri)).refused("invalid_request_uri", 400)
    (await alice.send("GET", f"/oauth/consent/{request_uri.removeprefix(PREFIX)}")).ok(404)
    (await visit(app, alice, request_uri)).ok(303)
    for unknown in ("thc_unknown", ""):
        refused = await alice.send("GET", f"{AUTHORIZE}?{urlencode({'client_id': unknown, 'request_uri': request_uri})}")
        refused.refused("invalid_client" if unknown else "invalid_request", 401 if unknown else 400)


async def test_malformed_references_are_refused_without_a_redirect(app: Application, alice: Actor) -> None:
    request_uri = await pushed(app)
    malformed = [
        request_uri[:-1],
        f"{request_uri}0",
        request_uri.removeprefix(PREFIX),
        PREFIX,
        "https://evil.example/r",
        "\0",
        "é",
    ]
    for sent in (*malformed, PREFIX + "0" * 43):
        refused = (await visit(app, alice, sent)).refused("invalid_request_uri", 400)
        assert "Location" not in refused.headers
    twice = f"{AUTHORIZE}?{urlencode([('client_id', app.client_id), *[('request_uri', request_uri)] * 2])}"
    (await alice.send("GET", twice)).refused("invalid_request", 400)
    (await visit(app, alice, request_uri)).ok(303)


async def test_a_decided_request_is_used_up(app: Application, alice: Actor) -> None:
    for decision in ("allow", "deny"):
        request_uri = await pushed(app)
        pages = [(await visit(app, alice, request_uri)).ok(303).location for _ in range(3)]
        assert len(set(pages)) == 1
        (await consent(alice, pages[0], SCOPES, decision)).ok(303)
        (await visit(app, alice, request_uri)).refused("invalid_request_uri", 400)


async def test_two_browsers_with_one_reference_get_one_code(app: Application, alice: Actor, carol: Actor) -> None:
    request_uri = await pushed(app)
    visits = await asyncio.gather(*(visit(app, merchant, request_uri) for merchant in (alice, carol, alice, carol)))
    page = {answer.ok(303).location for answer in visits}.pop()
    shown = await asyncio.gather(*(merchant.send("GET", page) for merchant in (alice, carol)))
    assert sorted(answer.status for answer in shown) == [200, 404]
    first = alice if shown[0].status == 200 else carol
    fields = [*HIDDEN.findall(next(answer.text for answer in shown if answer.status == 200)), ("scope", "account:read")]
    answers = await asyncio.gather(*(first.form(page, [*fields, ("decision", "allow")]) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [303, *[409] * 5]
    codes = await alice.sql("SELECT 1 FROM oauth_codes WHERE client_id = $1", app.client_id)
    assert len(codes) == 1


async def test_references_expire_and_opened_ones_have_ten_minutes(app: Application, alice: Actor) -> None:
    late, opened = await pushed(app), await pushed(app)
    (await visit(app, alice, opened)).ok(303)
    earlier = (
        "UPDATE oauth_requests SET created_at = created_at - interval '90 s', expires_at = expires_at - interval '90 s'"
    )
    await alice.sql(f"{earlier} WHERE client_id = $1", app.client_id)
    (await visit(app, alice, late)).refused("invalid_request_uri", 400)
    page = (await visit(app, alice, opened)).ok(303).location
    assert (await alice.sql(TIME_OF_OPENED, app.client_id))[0]["s"] == pytest.approx(600, abs=5)
    (await consent(alice, page, SCOPES)).ok(303)


async def test_changed_settings_and_paused_applications_end_references(app: Application, bob: Actor, alice: Actor) -> None:
    request_uri = await pushed(app)
    path = f"/oauth/clients/{app.client_id}"
    saved: dict[str, Any] = (await bob.dashboard("GET", path)).ok().body["client"]
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "version")
    (await bob.dashboard("PUT", path, {name: saved[name] for name in names})).ok()
    (await visit(app, alice, request_uri)).refused("invalid_request_uri", 400)
    request_uri = await pushed(app)
    (await bob.dashboard("POST", f"{path}/status", {"enabled": False, "version": 2})).ok()
    (await visit(app, alice, request_uri)).refused("invalid_client", 401)
    (await push(app)).refused("invalid_client", 401)


async def test_settings_can_require_pushed_requests(bob: Actor, alice: Actor) -> None:
    app = await application(bob, require_par=True)
    path = f"/oauth/clients/{app.client_id}"
    shown = (await alice.send("GET", app.authorize_path(SCOPE, code_challenge="x"))).ok(303)
    assert (shown.query["error"], "push" in shown.query["error_description"]) == ("invalid_request", True)
    assert shown.location.startswith(app.redirect_uri)
    (await alice.send("GET", app.authorize_path(SCOPE, redirect_uri="https://evil.example/"))).refused(
        "invalid_request", 400
    )
    page = (await visit(app, alice, await pushed(app))).ok(303).location
    (await consent(alice, page, SCOPES)).ok(303)
    saved: dict[str, Any] = (await bob.dashboard("GET", path)).ok().body["client"]
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes")
    body = {name: saved[name] for name in names}
    steps: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"require_par": None}, False),
        ({}, False),
        ({"require_par": True}, True),
    ]
    for version, (changes, required) in enumerate((*steps, ({"require_par": False}, False)), 1):
        saved = (await bob.dashboard("PUT", path, body | changes | {"version": version})).ok().body
        assert saved["require_par"] is required, changes
    (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location.startswith("/oauth/consent/")
    for wrong in ("true", 1, [True]):
        refused = await bob.dashboard("PUT", path, body | {"require_par": wrong, "version": 6})
        assert refused.field_errors() == {"require_par": "invalid_type"}
    assert (await application(bob)).client_id != app.client_id


async def test_suspended_owners_push_nothing(app: Application, bob: Actor) -> None:
    await suspend(bob)
    (await push(app)).refused("invalid_client", 401)


async def test_pushing_is_limited(make_service: Callable[..., Service]) -> None:
    service = await with_limits(make_service, TOLLHOUSE_RATE_API="3", TOLLHOUSE_RATE_AUTHORIZE_ADDRESS="3")
    async with sign_up(service, "dora", "Dora's Deli") as dora:
        for kind in ("confidential", "public"):
            app = await application(dora, kind)
            for _ in range(3):
                (await push(app)).ok(201)
            assert_throttled(await push(app))
