"""The consent page: its content, the decision, and unavailable requests."""

import asyncio
import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cast import CALLBACK, HIDDEN, Actor, Answer, Application, application, consent

CHECKBOX = re.compile(r'<input type="checkbox" name="scope" value="([^"]+)"[^>]*?( checked)?>')


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def start(
    actor: Actor, app: Application, scope: str = "account:read payments:write offline_access", **changes: str
) -> str:
    """The path of a consent page."""
    return (await actor.send("GET", app.authorize_path(scope, **changes))).ok(303).location


async def form_token(actor: Actor, path: str) -> str:
    """The hidden token of a consent page."""
    return dict(HIDDEN.findall((await actor.send("GET", path)).ok().text))["form_token"]


async def post(actor: Actor, path: str, token: str, *fields: tuple[str, str]) -> Answer:
    """Post the consent form."""
    return await actor.form(path, [("form_token", token), *fields])


@pytest.mark.covers("O-53", "O-54", "O-70")
async def test_page_shows_the_request_and_selects_read_scopes(alice: Actor, app: Application) -> None:
    text = (await alice.send("GET", await start(alice, app))).ok().text
    for shown in (
        "Northwind Ledger",
        "Alice&#39;s Coffee",
        alice.email,
        "Bookkeeping for small studios.",
        "Bob&#39;s Books",
    ):
        assert shown in text
    assert 'href="https://northwind.example" rel="noopener noreferrer nofollow"' in text
    assert "<code>https://app.example</code>" in text
    assert "Test environment" in text
    assert "30 days after connecting" in text
    assert CHECKBOX.findall(text) == [("account:read", " checked"), ("payments:write", ""), ("offline_access", "")]
    assert text.count("<h1") == 1
    assert text.count("<fieldset") == text.count("<legend") == 4
    assert text.index('value="deny"') < text.index('value="allow"')
    live = (await alice.send("GET", await start(alice, app, mode="live"))).ok().text
    assert "Test environment" not in live
    assert "Live" in live


@pytest.mark.covers("O-54", "O-55")
async def test_all_scopes_can_be_requested_and_granted(alice: Actor, bob: Actor, app: Application) -> None:
    every = [p["scope"] for p in (await bob.anonymously("GET", "/api/v2/oauth/permissions")).body["permissions"]]
    text = (await alice.send("GET", await start(alice, app, " ".join(every)))).ok().text
    ticked = {scope for scope, checked in CHECKBOX.findall(text) if checked}
    assert ticked == {scope for scope in every if scope.endswith(":read")}
    assert {scope for scope, _ in CHECKBOX.findall(text)} == set(every)
    assert (await app.connect(alice, " ".join(every)))["scope"] == " ".join(every)


@pytest.mark.covers("O-66", "O-67", "O-68")
async def test_page_cannot_be_framed_and_allows_the_redirect(alice: Actor, app: Application) -> None:
    headers = (await alice.send("GET", await start(alice, app))).ok().headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "form-action" not in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.covers("O-69")
async def test_texts_of_the_application_are_escaped(alice: Actor, bob: Actor) -> None:
    app = await application(bob, name='<script>"x"</script>', description="<img src=x onerror=y>\n'")
    text = (await alice.send("GET", await start(alice, app))).ok().text
    assert "<script>" not in text
    assert "<img" not in text
    assert "<bdi>&lt;script&gt;&#34;x&#34;&lt;/script&gt;</bdi>" in text


@pytest.mark.covers("O-55", "O-58")
async def test_allow_redirects_with_code_state_and_issuer(alice: Actor, app: Application) -> None:
    path = await start(alice, app, state="a&b é")
    answer = (await consent(alice, path, ["account:read"])).ok(303)
    assert answer.location.startswith(CALLBACK + "&code=thac_")
    found = parse_qs(urlsplit(answer.location).query)
    assert found["state"] == ["a&b é"]
    assert found["iss"] == [alice.service.url]
    assert set(found) == {"keep", "code", "state", "iss"}
    assert (await app.exchange(found["code"][0])).ok().body["scope"] == "account:read"


@pytest.mark.covers("O-59")
async def test_deny_redirects_with_access_denied(alice: Actor, app: Application) -> None:
    path = await start(alice, app, state="s t")
    answer = (await consent(alice, path, [], "deny")).ok(303)
    assert answer.location.startswith(CALLBACK + "&")
    assert answer.query["error"] == "access_denied"
    assert answer.query["state"] == "s t"
    assert answer.query["iss"] == alice.service.url
    assert "code" not in answer.query
    assert await alice.sql("SELECT 1 FROM oauth_codes WHERE client_id = $1", app.client_id) == []


@pytest.mark.covers("O-56")
async def test_scopes_not_requested_are_not_granted(alice: Actor, app: Application) -> None:
    token = await app.connect(alice, "account:read payments:read", "account:read payments:write offline_access nonsense")
    assert token["scope"] == "account:read"
    assert "refresh_token" not in token


@pytest.mark.covers("O-57")
@pytest.mark.parametrize("ticked", [[], ["offline_access"], ["payments:read"], ["nonsense"]])
async def test_selecting_no_api_scope_shows_the_page_again(alice: Actor, app: Application, ticked: list[str]) -> None:
    path = await start(alice, app)
    answer = await consent(alice, path, ticked)
    assert answer.status == 422
    assert 'role="alert"' in answer.text
    assert {scope for scope, checked in CHECKBOX.findall(answer.text) if checked} == set(ticked) & {"offline_access"}
    (await consent(alice, path, ["account:read"])).ok(303)


@pytest.mark.covers("O-60")
async def test_request_expires_after_ten_minutes(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    row = (
        await alice.sql("SELECT expires_at - created_at AS life FROM oauth_requests WHERE client_id = $1", app.client_id)
    )[0]
    assert row["life"].total_seconds() == 600
    await alice.sql("UPDATE oauth_requests SET expires_at = now() - interval '1 ms' WHERE client_id = $1", app.client_id)
    for decision in ("allow", "deny"):
        answer = (await post(alice, path, token, ("scope", "account:read"), ("decision", decision))).ok(410)
        assert "expired" in answer.text
        assert "Location" not in answer.headers
    assert "<form" not in (await alice.send("GET", path)).ok(410).text.partition("</main>")[0]
    assert await alice.sql("SELECT 1 FROM oauth_codes WHERE client_id = $1", app.client_id) == []


@pytest.mark.covers("O-61")
async def test_request_is_decided_once(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    fields = (("scope", "account:read"), ("decision", "allow"))
    responses = await asyncio.gather(*(post(alice, path, token, *fields) for _ in range(8)))
    assert sorted(answer.status for answer in responses) == [303] + [409] * 7
    (await post(alice, path, token, ("decision", "deny"))).ok(409)
    assert "already answered" in (await alice.send("GET", path)).ok(409).text
    assert len(await alice.sql("SELECT 1 FROM oauth_codes WHERE client_id = $1", app.client_id)) == 1


@pytest.mark.covers("O-62")
async def test_updated_settings_invalidate_pending_requests(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    await alice.sql("UPDATE oauth_clients SET auth_epoch = auth_epoch + 1 WHERE id = $1", app.client_id)
    for decision in ("allow", "deny"):
        (await post(alice, path, token, ("scope", "account:read"), ("decision", decision))).ok(409)
    assert "settings of the application were changed" in (await alice.send("GET", path)).ok(409).text


@pytest.mark.covers("O-63")
@pytest.mark.parametrize("status", ["paused", "revoked"])
async def test_request_of_paused_or_revoked_application_is_unavailable(alice: Actor, app: Application, status: str) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    await alice.sql(
        "UPDATE oauth_clients SET status = $2, revoked_at = CASE WHEN $2 = 'revoked' THEN now() END WHERE id = $1",
        app.client_id,
        status,
    )
    answer = (await post(alice, path, token, ("scope", "account:read"), ("decision", "allow"))).ok(409)
    assert "does not accept new connections" in answer.text
    assert "<form" not in answer.text


async def test_suspended_merchant_cannot_decide(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id::text = $1", alice.merchant_id)
    assert "suspended" in (await alice.send("GET", path)).ok(403).text
    (await post(alice, path, token, ("scope", "account:read"), ("decision", "allow"))).ok(403)
    await alice.sql("UPDATE merchants SET suspended_at = NULL WHERE id::text = $1", alice.merchant_id)
    (await post(alice, path, token, ("scope", "account:read"), ("decision", "allow"))).ok(303)


@pytest.mark.covers("O-64")
async def test_form_token_and_origin_are_required(alice: Actor, carol: Actor, app: Application) -> None:
    path, other = await start(alice, app), await start(alice, app)
    token = await form_token(alice, path)
    fields = [("scope", "account:read"), ("decision", "allow")]
    wrong = ["", "x", "%%%", "AAAA", token[:-2], token[:24], await form_token(alice, other)]
    for one in wrong:
        (await post(alice, path, one, *fields)).refused("forbidden", 403)
    (await alice.form(path, fields)).refused("forbidden", 403)
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}):
        sent = [("form_token", token), *fields]
        (await alice.send("POST", path, data=sent, headers=headers)).refused("cross_origin_forbidden", 403)
    (await post(alice, path, token, ("scope", "account:read"))).refused("invalid_request", 400)
    (await post(alice, path, token, ("decision", "maybe"))).refused("invalid_request", 400)
    (await alice.send("POST", path, json={})).refused("invalid_request", 400)
    (await post(carol, path, token, *fields)).refused("not_found", 404)
    (await post(alice, path, token, *fields)).ok(303)


@pytest.mark.covers("O-64")
async def test_form_token_is_bound_to_the_session(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    token = await form_token(alice, path)
    login = {"email": alice.email, "password": "correct horse battery"}
    (await alice.dashboard("POST", "/login", login)).ok()
    (await post(alice, path, token, ("scope", "account:read"), ("decision", "allow"))).refused("forbidden", 403)
    (await consent(alice, path, ["account:read"])).ok(303)


@pytest.mark.covers("O-65")
async def test_request_is_bound_to_the_first_merchant(alice: Actor, carol: Actor, app: Application) -> None:
    path = await start(alice, app)
    (await alice.send("GET", path)).ok()
    (await carol.send("GET", path)).refused("not_found", 404)
    (await carol.form(path, {"decision": "deny"})).refused("not_found", 404)
    (await alice.send("GET", path)).ok()


async def test_unknown_request_is_not_found(alice: Actor) -> None:
    for request_id in ("x" * 43, "x", "x" * 44, "x" * 42 + "%0A", "%0D%0ALocation:x"):
        (await alice.send("GET", f"/oauth/consent/{request_id}")).refused("not_found", 404)


@pytest.mark.covers("O-52")
async def test_deciding_requires_a_session(alice: Actor, app: Application) -> None:
    path = await start(alice, app)
    answer = await alice.anonymously("POST", path)
    assert answer.status == 303
    assert answer.location == f"/signin?request={path.removeprefix('/oauth/consent/')}"


async def test_page_counts_active_connections(alice: Actor, carol: Actor, app: Application) -> None:
    async def shown() -> str:
        return (await alice.send("GET", await start(alice, app))).ok().text

    assert "0 active connections" in await shown()
    first = await app.connect(alice, "account:read")
    assert "1 active connection<" in await shown()
    await app.connect(carol, "account:read", mode="live")
    assert "2 active connections" in await shown()
    (await app.revoke(first["access_token"])).ok()
    assert "1 active connection<" in await shown()


@pytest.mark.covers("O-71")
async def test_second_consent_creates_a_second_grant(alice: Actor, app: Application) -> None:
    first, second = await app.connect(alice, "account:read"), await app.connect(alice, "account:read")
    (await app.revoke(first["access_token"])).ok()
    (await app.api(first["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await app.api(second["access_token"], "GET", "/account")).ok()


async def test_form_token_needs_no_html_escaping(alice: Actor, app: Application) -> None:
    token = await form_token(alice, await start(alice, app))
    assert html.escape(token) == token


async def test_earlier_choices_are_selected_again(bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    requested = "account:read payments:read payments:write offline_access"
    for granted, expected in ((None, {"account:read", "payments:read"}), (requested, {"account:read", "payments:read"})):
        assert await selected(app, alice, requested) == expected, granted
        await app.connect(alice, requested, "account:read payments:write offline_access")
        assert await selected(app, alice, requested) == {"account:read"}
        assert await selected(app, alice, requested, mode="live") == {"account:read", "payments:read"}
        await app.connect(alice, requested)
    assert await selected(app, bob, requested) == {"account:read", "payments:read"}


async def selected(app: Application, merchant: Actor, scope: str, **changes: str) -> set[str]:
    """The permissions that the consent page selects."""
    started = (await merchant.send("GET", app.authorize_path(scope, **changes))).ok(303)
    page = (await merchant.send("GET", started.location)).ok().text
    return {name for name in scope.split() if re.search(rf'value="{name}"[^>]* checked', page)}
