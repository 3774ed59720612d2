"""Registering and reading applications in the dashboard API."""

from typing import Any

import pytest

from tests.cast import Actor, application, every_scope

CLIENTS = "/oauth/clients"
MEMBERS = {
    "client_id", "name", "client_type", "description", "website_url", "redirect_uris", "scopes", "grant_types",
    "connection_webhook_url", "require_par", "dpop_bound", "jwks", "jwks_uri", "logo_uri", "policy_uri", "tos_uri",
    "token_endpoint_auth_method", "version",
    "status", "active_connections", "last_used_at", "secret_hint", "created_at", "updated_at", "revoked_at",
}  # fmt: skip


def settings(**changes: Any) -> dict[str, Any]:
    """Valid settings with some changes; `...` omits a member."""
    body: dict[str, Any] = {
        "name": "Northwind Ledger",
        "client_type": "confidential",
        "description": "Bookkeeping.",
        "website_url": "https://northwind.example",
        "redirect_uris": ["https://northwind.example/cb"],
        "scopes": ["payments:read", "offline_access"],
        **changes,
    }
    return {name: value for name, value in body.items() if value is not ...}


@pytest.mark.covers("O-183")
async def test_confidential_application_gets_a_secret_once(bob: Actor) -> None:
    created = (await bob.dashboard("POST", CLIENTS, settings())).ok(201).body
    assert set(created) == {*MEMBERS, "client_secret"}
    assert created["client_id"].startswith("thc_")
    assert len(created["client_id"]) == 26
    assert created["client_secret"].startswith("thcs_")
    assert created["secret_hint"] == created["client_secret"][-4:]
    assert created["status"] == "enabled"
    assert created["version"] == 1
    assert created["active_connections"] == 0
    assert created["last_used_at"] is created["revoked_at"] is None
    assert created["created_at"] == created["updated_at"]
    assert {name: created[name] for name in settings()} == settings()


@pytest.mark.covers("O-183")
async def test_public_application_has_no_secret(bob: Actor) -> None:
    created = (await bob.dashboard("POST", CLIENTS, settings(client_type="public"))).ok(201).body
    assert set(created) == MEMBERS
    assert created["secret_hint"] is None


@pytest.mark.covers("O-184", "O-210")
async def test_responses_do_not_contain_the_secret(bob: Actor) -> None:
    created = (await bob.dashboard("POST", CLIENTS, settings())).ok(201).body
    response = (await bob.dashboard("GET", f"{CLIENTS}/{created['client_id']}")).ok()
    assert set(response.body) == {"client", "issuer", "authorization_endpoint", "token_endpoint"}
    assert set(response.body["client"]) == MEMBERS
    assert response.body["issuer"] == bob.service.url
    assert response.body["authorization_endpoint"] == f"{bob.service.url}/api/v2/oauth/authorize"
    assert response.body["token_endpoint"] == f"{bob.service.url}/api/v2/oauth/token"
    assert created["client_secret"] not in response.text
    listed = (await bob.dashboard("GET", CLIENTS)).ok()
    assert created["client_secret"] not in listed.text
    stored = await bob.sql("SELECT c::text AS all FROM oauth_clients c WHERE id = $1", created["client_id"])
    assert created["client_secret"] not in stored[0]["all"]


async def test_list_is_newest_first(bob: Actor) -> None:
    names = ["One", "Two", "Three"]
    for name in names:
        (await bob.dashboard("POST", CLIENTS, settings(name=name))).ok(201)
    listed = (await bob.dashboard("GET", CLIENTS)).ok().body
    assert set(listed) == {"clients"}
    assert [client["name"] for client in listed["clients"]] == names[::-1]


@pytest.mark.covers("O-185")
async def test_application_of_another_merchant_is_not_found(bob: Actor, mallory: Actor) -> None:
    app = await application(bob)
    (await mallory.dashboard("GET", f"{CLIENTS}/{app.client_id}")).refused("not_found", 404)
    (await mallory.dashboard("GET", f"{CLIENTS}/thc_unknown")).refused("not_found", 404)
    assert (await mallory.dashboard("GET", CLIENTS)).ok().body == {"clients": []}


@pytest.mark.covers("O-182", "O-165")
async def test_session_is_required(bob: Actor) -> None:
    app = await application(bob)
    path = f"/api/v2/merchant{CLIENTS}"
    for headers in ({}, {"X-API-Key": await bob.key()}, {"Authorization": "Bearer that_x"}):
        (await bob.anonymously("GET", path, headers=headers)).refused("authentication_required", 401)
        (await bob.anonymously("POST", path, settings(), headers)).refused("authentication_required", 401)
        (await bob.anonymously("GET", f"{path}/{app.client_id}", headers=headers)).refused("authentication_required", 401)


@pytest.mark.covers("O-182")
async def test_cross_site_request_is_rejected(bob: Actor) -> None:
    refused = await bob.send("POST", f"/api/v2/merchant{CLIENTS}", json=settings(), headers={"Sec-Fetch-Site": "cross-site"})
    refused.refused("cross_origin_forbidden", 403)


@pytest.mark.covers("O-186", "O-188", "O-189", "O-190")
@pytest.mark.parametrize(
    "changes",
    [
        {"name": "N"},
        {"name": "N" * 100},
        {"name": "Ünïcødé 株式会社 שלום ☕"},
        {"description": ...},
        {"description": None},
        {"description": ""},
        {"description": "é" * 1000},
        {"description": "two\nlines"},
        {"website_url": ...},
        {"website_url": None},
        {"website_url": "http://northwind.example/about#us"},
        {"redirect_uris": [f"https://a.example/{n}" for n in range(10)]},
        {"redirect_uris": ["http://localhost:3000/cb", "http://127.0.0.1/cb", "http://[::1]:8080/cb"]},
        {"redirect_uris": ["https://A.example/cb?keep=1&b=%20", "https://a.example/cb"]},
        {"scopes": ["account:read"]},
        {"scopes": ["account:read", "account:read"]},
        {"version": 1},
    ],
)
async def test_settings_are_stored_unchanged(bob: Actor, changes: dict[str, Any]) -> None:
    created = (await bob.dashboard("POST", CLIENTS, settings(**changes))).ok(201).body
    cleared = {"description": "", "website_url": None}
    for name, value in changes.items():
        expected = cleared[name] if value is None or value is ... else value
        assert created[name] == (["account:read"] if name == "scopes" else expected)


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"name": ...}, {"name": "missing"}),
    ({"name": None}, {"name": "missing"}),
    ({"name": 5}, {"name": "invalid_type"}),
    ({"name": ""}, {"name": "invalid_length"}),
    ({"name": "   "}, {"name": "invalid_length"}),
    ({"name": "N" * 101}, {"name": "invalid_length"}),
    ({"name": "a\nb"}, {"name": "invalid_characters"}),
    ({"client_type": ...}, {"client_type": "missing"}),
    ({"client_type": "Public"}, {"client_type": "invalid_value"}),
    ({"client_type": []}, {"client_type": "invalid_type"}),
    ({"description": "é" * 1001}, {"description": "invalid_length"}),
    ({"description": 7}, {"description": "invalid_type"}),
    ({"description": "bell \x07"}, {"description": "invalid_characters"}),
    ({"website_url": "javascript:alert(1)"}, {"website_url": "invalid_scheme"}),
    ({"website_url": "https://a.example/" + "a" * 2048}, {"website_url": "invalid_length"}),
    ({"redirect_uris": ...}, {"redirect_uris": "missing"}),
    ({"redirect_uris": "https://a.example"}, {"redirect_uris": "invalid_type"}),
    ({"redirect_uris": ["https://a.example", 5]}, {"redirect_uris.1": "invalid_type"}),
    ({"redirect_uris": []}, {"redirect_uris": "invalid_length"}),
    ({"redirect_uris": [f"https://a.example/{n}" for n in range(11)]}, {"redirect_uris": "invalid_length"}),
    ({"redirect_uris": ["https://a.example", "https://a.example"]}, {"redirect_uris.1": "duplicate"}),
    (
        {"redirect_uris": ["https://ok.example", "http://a.example", "https://a.example#"]},
        {"redirect_uris.1": "https_required", "redirect_uris.2": "fragment_forbidden"},
    ),
    ({"scopes": ...}, {"scopes": "missing"}),
    ({"scopes": []}, {"scopes": "api_scope_required"}),
    ({"scopes": ["offline_access"]}, {"scopes": "api_scope_required"}),
    ({"scopes": ["account:read", "Account:Read", "openid"]}, {"scopes.1": "unknown_scope", "scopes.2": "unknown_scope"}),
    ({"scopes": ["account:read"] * 20}, {"scopes": "invalid_length"}),
    ({"scope": ["account:read"]}, {"scope": "unknown_field"}),
    (
        {"name": 5, "client_type": "x", "redirect_uris": ["ftp://a.example"], "scopes": ["nope"], "website_url": "x"},
        {
            "name": "invalid_type",
            "client_type": "invalid_value",
            "redirect_uris.0": "invalid_scheme",
            "scopes.0": "unknown_scope",
            "website_url": "invalid_scheme",
        },
    ),
]


@pytest.mark.covers("O-186", "O-187", "O-189", "O-190", "O-200")
async def test_one_response_names_every_field_error(bob: Actor) -> None:
    for changes, problems in REFUSED:
        assert (await bob.dashboard("POST", CLIENTS, settings(**changes))).field_errors() == problems
        assert (await bob.dashboard("GET", CLIENTS)).ok().body == {"clients": []}


@pytest.mark.covers("O-200")
@pytest.mark.parametrize("raw", [b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b"{", b"\xff"])
async def test_invalid_text_is_malformed(bob: Actor, raw: bytes) -> None:
    answer = await bob.send("POST", f"/api/v2/merchant{CLIENTS}", data=raw, headers={"Content-Type": "application/json"})
    answer.refused("invalid_request", 400)


async def test_content_type_must_be_json(bob: Actor) -> None:
    answer = await bob.send("POST", f"/api/v2/merchant{CLIENTS}", data=b"{}", headers={"Content-Type": "text/plain"})
    answer.refused("unsupported_media_type", 415)


@pytest.mark.covers("O-199")
async def test_application_shows_active_connections_and_last_use(bob: Actor, alice: Actor, carol: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(alice, "account:read")
    await app.connect(carol, "account:read")
    record = (await bob.dashboard("GET", f"{CLIENTS}/{app.client_id}")).ok().body["client"]
    assert record["active_connections"] == 2
    assert record["last_used_at"] is None
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    (await app.revoke(tokens["access_token"])).ok()
    record = (await bob.dashboard("GET", CLIENTS)).ok().body["clients"][0]
    assert record["active_connections"] == 1
    assert record["last_used_at"] is not None


async def test_every_scope_can_be_registered(bob: Actor) -> None:
    every = await every_scope(bob)
    created = (await bob.dashboard("POST", CLIENTS, settings(scopes=every[::-1]))).ok(201).body
    assert created["scopes"] == every
