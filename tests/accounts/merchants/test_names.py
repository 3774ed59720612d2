"""No name of a merchant hides anything, and none is translated."""

from uuid import uuid4

import pytest

from tests.cast import CALLBACK, PASSWORD, Actor, application
from tests.forms import seen
from tollhouse.http.texts import Texts
from tollhouse.kernel.text import Text

HIDDEN = ["Alice\u202eknaB", "Ali\u200bce", "Ali\u2066ce", "Ali\u3164ce"]


@pytest.mark.parametrize("name", HIDDEN, ids=ascii)
async def test_hidden_characters_in_names_are_refused(alice: Actor, name: str) -> None:
    account = {"email": f"{uuid4()}@example.com", "password": PASSWORD, "business_name": name}
    assert (await alice.anonymously("POST", "/api/v2/merchant/signup", account)).field_errors() == {
        "business_name": "invalid_characters"
    }
    assert (await alice.dashboard("POST", "/api-keys", {"name": name, "mode": "test"})).field_errors() == {
        "name": "invalid_characters"
    }
    client = {"name": name, "client_type": "public", "redirect_uris": [CALLBACK], "scopes": ["payments:read"]}
    assert (await alice.dashboard("POST", "/oauth/clients", client)).field_errors() == {"name": "invalid_characters"}
    described = client | {"name": "An app", "description": name}
    assert (await alice.dashboard("POST", "/oauth/clients", described)).field_errors() == {
        "description": "invalid_characters"
    }
    assert set((await alice.dashboard("POST", "/projects", {"name": name, "mode": "test"})).field_errors()) == {"name"}
    link = {"display_name": name, "amount": "4.20", "currency": "EUR"}
    assert set((await alice.post("/payment-links", link)).field_errors()) == {"display_name"}


async def test_a_merchants_own_words_are_never_translated(alice: Actor) -> None:
    """Each of these is a text of the catalogue, which German pages would say as they say their own."""
    german = {"Accept": "text/html", "Accept-Language": "de"}
    for name in ("Payments", "Withdrawals"):
        project = (await alice.dashboard("POST", "/projects", {"name": name, "mode": "test"})).ok(201).body
    shown = (await alice.send("GET", "/test/payment-links/new", headers=german)).ok().text
    assert ">Payments</option>" in shown
    (
        await alice.post(
            "/payment-links", {"display_name": "Coffee", "amount": "4.20", "currency": "EUR", "project_id": project["id"]}
        )
    ).ok(201)
    shown = (await alice.send("GET", "/test/payment-links", headers=german)).ok().text
    assert ">Withdrawals</option>" in shown


async def test_a_name_in_a_sentence_stays_as_it_is_written() -> None:
    said = Texts("de").translate(Text("The parameter %(name)s must not be repeated.", name="Payments"))
    assert "Payments" in said
    assert said != "The parameter Payments must not be repeated."


async def test_an_api_key_made_at_the_page_has_the_chosen_scopes(alice: Actor) -> None:
    path = "/test/developers/keys"
    assert (await seen(alice, path)).count('name="scope"') == 18
    sent = [("name", "Reader"), ("choice", "scopes"), ("scope", "payments:read"), ("scope", "balances:read")]
    (await alice.form(path, sent)).ok()
    [key] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert (key["name"], key["scopes"]) == ("Reader", ["payments:read", "balances:read"])
    refused = (await alice.form(path, [("name", "None"), ("choice", "scopes")])).ok(422)
    assert 'id="scopes-wrong"' in refused.text
    assert 'value="None"' in refused.text
    for scope in ("offline_access", "nothing"):
        (await alice.form(path, [("name", "x"), ("choice", "scopes"), ("scope", scope)])).ok(422)


async def test_the_page_of_one_mode_revokes_no_key_of_the_other(alice: Actor) -> None:
    made = (await alice.dashboard("POST", "/api-keys", {"name": "k", "mode": "live"})).ok(201).body
    (await alice.form(f"/test/developers/keys/{made['api_key_id']}/revoke", {})).refused("not_found", 404)
    [key] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert key["status"] == "active"
    (await alice.form(f"/live/developers/keys/{made['api_key_id']}/revoke", {})).ok(303)


async def test_a_request_id_that_somebody_chose_is_not_in_the_audit_log(alice: Actor) -> None:
    chosen = str(uuid4())
    await alice.send(
        "POST", "/api/v2/merchant/api-keys", json={"name": "k", "mode": "test"}, headers={"X-Request-Id": chosen}
    )
    rows = await alice.sql("SELECT request_id FROM audit_lines WHERE merchant_id = $1::uuid", alice.merchant_id)
    assert rows
    assert chosen not in {str(row["request_id"]) for row in rows}


@pytest.mark.parametrize("path", ["/test/home", "/developers/apps", "/operator"])
async def test_pages_with_a_session_are_served_under_our_own_host_alone(alice: Actor, path: str) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "[::1", ""):
        (await alice.send("GET", path, headers={"Host": host})).refused("misdirected_request", 421)
    port = alice.service.url.rpartition(":")[2]
    assert (await alice.send("GET", path, headers={"Host": f"LOCALHOST:{port}"})).status in {200, 303}
    (await alice.send("GET", "/healthz", headers={"Host": "10.0.0.7"})).ok()
    (await alice.send("POST", "/signin", data={"email": "a", "password": "b"}, headers={"Host": "evil.example"})).refused(
        "misdirected_request", 421
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/projects"), ("POST", "/api-keys"), ("POST", "/login"), ("POST", "/signup"), ("POST", "/logout")],
)
async def test_json_of_the_dashboard_is_served_under_our_own_host_alone(alice: Actor, method: str, path: str) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "[::1", ""):
        sent = await alice.send(method, f"/api/v2/merchant{path}", headers={"Host": host}, json={})
        sent.refused("misdirected_request", 421)
    (await alice.dashboard("GET", "/projects")).ok()


async def test_deny_stands_first_at_the_consent_page(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    started = (await alice.send("GET", app.authorize_path("payments:read"))).ok(303).location
    shown = (await alice.send("GET", started)).ok().text
    assert shown.index('value="deny"') < shown.index('value="allow"')
    actions = shown[: shown.index('value="deny"')].rpartition("<div ")[2]
    assert actions.startswith('class="row"')
    for sheet in ("app", "components", "lists"):
        css = (await alice.send("GET", f"/static/{sheet}.css")).ok().text
        assert "row-reverse" not in css, sheet
