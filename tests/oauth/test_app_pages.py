"""The pages of an application, without JavaScript."""

import asyncio
from typing import Any

import pytest

from tests.cast import Actor, Answer, Application, application
from tests.forms import FOREIGN, forms, hidden, post, seen, signed_out, wrong

SCOPE = "account:read offline_access"
CALLBACK = "https://app.example/callback?keep=1"
MANY = """
    INSERT INTO oauth_grants (id, client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at)
    SELECT gen_random_uuid(), $1, $2::uuid, 'test', (1 << 19) - 1, grant_epoch, now() - n * interval '1 s',
           now() + interval '1 day'
    FROM oauth_clients, generate_series(1, 101) AS n WHERE id = $1
"""
PAGE_BYTES_MAX = 120_000


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


def url_of(app: Application, tab: str = "") -> str:
    return f"/developers/apps/{app.client_id}{tab}"


async def record(app: Application) -> dict[str, Any]:
    return (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]


async def filled_form(app: Application, **changes: str) -> list[tuple[str, str]]:
    """The settings form with its current values and some changes."""
    page = (await app.owner.send("GET", url_of(app, "/settings"), headers={"Accept": "text/html"})).ok()
    now = await record(app)
    typed = hidden(page) | {
        "name": now["name"],
        "description": now["description"],
        "website_url": now["website_url"] or "",
        "redirect_uris": "\r\n".join(now["redirect_uris"]),
    }
    checked = {"scope": now["scopes"], "grant_type": now["grant_types"]}
    return [*(typed | changes).items(), *((name, value) for name, values in checked.items() for value in values)]


async def save(app: Application, form: list[tuple[str, str]]) -> Answer:
    return await app.owner.form(url_of(app, "/settings"), form)


async def version(app: Application) -> dict[str, str]:
    return {"version": str((await record(app))["version"])}


async def test_overview_shows_client_id_endpoints_and_samples(app: Application) -> None:
    page = await seen(app.owner, url_of(app))
    url = app.owner.service.url
    for words in (app.client_id, f"{url}/api/v2/oauth/authorize", f"{url}/api/v2/oauth/token", "curl", "Version"):
        assert words in page
    assert (app.client_secret or "thcs_") not in page
    assert f'href="{url_of(app)}"' in await seen(app.owner, "/developers/apps")
    public = await application(app.owner, "public")
    assert f"-d client_id={public.client_id}" in await seen(app.owner, url_of(public))
    assert "A public application has no client secret" in await seen(app.owner, url_of(public, "/secret"))
    refused = await post(app.owner, url_of(public, "/secret"), 422, **await version(public))
    assert "This must be confidential: a public application has no secret." in refused.text


async def test_saving_settings_normalizes_line_breaks(app: Application) -> None:
    uris = f"{CALLBACK}\r\n\r\n  http://localhost:3000/cb "
    form = await filled_form(app, name="Harbour Ledger", redirect_uris=uris, description="One\r\nTwo")
    saved = (await save(app, [field for field in form if field != ("scope", "payments:write")])).ok(303)
    assert "Settings saved." in await seen(app.owner, saved.location)
    now = await record(app)
    assert (now["name"], now["description"], now["version"]) == ("Harbour Ledger", "One\nTwo", 2)
    assert now["redirect_uris"] == [CALLBACK, "http://localhost:3000/cb"]
    assert "payments:write" not in now["scopes"]
    assert len(now["scopes"]) == 18


async def test_errors_are_shown_at_their_fields(app: Application) -> None:
    form = await filled_form(app, name=" ", redirect_uris=f"{CALLBACK}\nftp://host/\n{CALLBACK}", website_url="x")
    page = (await save(app, [field for field in form if field[0] != "scope"])).ok(422)
    assert wrong(page).keys() == {"name", "redirect_uris", "scopes", "website_url"}
    assert wrong(page)["redirect_uris"].startswith("Line 2: ")
    assert "Line 3: This must not repeat an earlier entry." in wrong(page)["redirect_uris"]
    assert "at least one scope" in page.text
    assert "ftp://host/" in page.text
    assert (await record(app))["version"] == 1


async def test_stale_form_keeps_values_and_shows_differences(app: Application) -> None:
    form = await filled_form(app, name="Typed", description="My words")
    other = await filled_form(app, name="Saved meanwhile", redirect_uris="https://else.example/cb")
    (await save(app, [field for field in other if field != ("scope", "reports:read")])).ok(303)
    page = await save(app, form)
    assert page.ok(409)
    for words in ("Your changes were not saved.", "Saved meanwhile", 'value="Typed"', "My words", "https://else.example/cb"):
        assert words in page.text
    assert page.text.count('role="rowheader"') == 4
    assert "Load the latest settings" in page.text
    (await save(app, [*hidden(page).items(), *form[4:]])).ok(409)
    now = await record(app)
    assert (now["name"], now["version"]) == ("Saved meanwhile", 2)


async def test_stale_form_without_differences(app: Application) -> None:
    form = await filled_form(app)
    await post(app.owner, url_of(app, "/pause"), **await version(app), confirm_pause=app.client_id)
    page = (await save(app, form)).ok(409)
    assert "The saved settings match your values." in page.text


async def test_form_submitted_twice_registers_once(bob: Actor) -> None:
    page = (await bob.send("GET", "/developers/apps/new", headers={"Accept": "text/html"})).ok()
    fields = hidden(page) | {
        "name": "Once",
        "client_type": "confidential",
        "redirect_uris": CALLBACK,
        "scope": "account:read",
        "grant_type": "authorization_code",
    }
    responses = await asyncio.gather(*(bob.form("/developers/apps", fields) for _ in range(3)))
    assert sorted(answer.status for answer in responses) == [200, 303, 303]
    [created] = (await bob.dashboard("GET", "/oauth/clients")).ok().body["clients"]
    [repeated, _] = [answer for answer in responses if answer.status == 303]
    assert repeated.location == f"/developers/apps/{created['client_id']}/secret?done=registered"
    assert "already registered" in await seen(bob, repeated.location)
    await post(bob, "/developers/apps", 200, **fields | {"signed_client_id": created["client_id"] + ".AAAA"})
    assert len((await bob.dashboard("GET", "/oauth/clients")).ok().body["clients"]) == 2


async def test_form_submitted_twice_rotates_secret_once(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    assert f"…{(app.client_secret or '')[-4:]}" in await seen(app.owner, url_of(app, "/secret"))
    form = await version(app)
    responses = await asyncio.gather(*(app.owner.form(url_of(app, "/secret"), form) for _ in range(3)))
    assert sorted(answer.status for answer in responses) == [200, 409, 409]
    [page] = [answer.text for answer in responses if answer.status == 200]
    secret = page.partition('id="new-secret"')[2].partition('value="')[2].partition('"')[0]
    assert secret.startswith("thcs_")
    assert "Merchants stay connected." in page
    assert any("the first click rotated it" in answer.text for answer in responses)
    assert secret not in await seen(app.owner, url_of(app, "/secret"))
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    app.client_secret = secret
    (await app.refresh(tokens["refresh_token"])).ok()
    page = (await post(app.owner, url_of(app, "/secret"), 200, revoke_grants="yes", **await version(app))).text
    assert "All merchants were disconnected." in page
    assert (await record(app))["active_connections"] == 0


async def test_pause_and_resume(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    assert "1 merchant is disconnected immediately." in await seen(app.owner, url_of(app, "/danger"))
    form = await version(app) | {"confirm_pause": (await record(app))["name"]}
    for typed in ("", "Northwind"):
        page = await post(app.owner, url_of(app, "/pause"), 422, **form | {"confirm_pause": typed})
        assert wrong(page).keys() == {"confirm_pause"}
        assert "All tokens stop working, and pending consent requests expire." in page.text
    assert (await record(app))["active_connections"] == 1
    done = [await post(app.owner, url_of(app, "/pause"), **form) for _ in range(2)][-1]
    assert "Application paused. All merchants were disconnected." in await seen(app.owner, done.location)
    assert "Merchants cannot connect until you resume it." in await seen(app.owner, url_of(app))
    page = await post(app.owner, url_of(app, "/resume"), 409, **form)
    assert "so no changes were made" in page.text
    for _ in range(2):
        await post(app.owner, url_of(app, "/resume"), version="2")
    assert (await record(app))["status"] == "enabled"
    assert (await record(app))["version"] == 3
    await post(app.owner, url_of(app, "/pause"), 422)


async def test_revoking_requires_the_name_and_keeps_pages_readable(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    for typed in ("", "northwind ledger", "Northwind"):
        page = await post(app.owner, url_of(app, "/revoke"), 422, confirm=typed)
        assert wrong(page) == {"confirm": "The name does not match the application."}
    assert (await record(app))["status"] == "enabled"
    form = await filled_form(app)
    done = [await post(app.owner, url_of(app, "/revoke"), confirm=" Northwind  Ledger ") for _ in range(2)][-1]
    assert "Application revoked." in await seen(app.owner, done.location)
    for tab in ("", "/settings", "/secret", "/connections", "/danger"):
        page = await seen(app.owner, url_of(app, tab))
        assert "It is read-only." in page
        assert forms(page) == ["/signout"]
    grant = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"][0]
    assert forms(await seen(app.owner, url_of(app, f"/connections/{grant['grant_id']}"))) == ["/signout"]
    (await save(app, form)).ok(409)
    for path in ("/secret", "/pause", "/resume", f"/connections/{grant['grant_id']}/disconnect"):
        page = await post(app.owner, url_of(app, path), 409, **await version(app))
        assert "and read-only" in page.text
    await post(app.owner, url_of(app, "/connections/disconnect"), 409, confirm="Northwind Ledger")
    assert 'class="muted"><td' in await seen(app.owner, "/developers/apps")


async def test_connections_are_paginated(app: Application, alice: Actor) -> None:
    assert "No connections yet." in await seen(app.owner, url_of(app, "/connections"))
    await alice.sql(MANY, app.client_id, alice.merchant_id)
    page = (await app.owner.send("GET", url_of(app, "/connections"))).ok()
    assert page.text.count(f'<a class="hit" href="{url_of(app)}/connections/') == 100
    assert len(page.raw) < PAGE_BYTES_MAX - 30_000  # the stylesheet and two scripts come on top
    assert 'href="?page=2"' in page.text
    second = await seen(app.owner, url_of(app, "/connections?page=2"))
    assert second.count(f'<a class="hit" href="{url_of(app)}/connections/') == 1
    assert "Page 3 has no entries." in await seen(app.owner, url_of(app, "/connections?page=3"))
    await seen(app.owner, url_of(app, "/connections?page=0"), 422)
    assert wrong(await post(app.owner, url_of(app, "/connections/disconnect"), 422)).keys() == {"confirm"}
    done = await post(app.owner, url_of(app, "/connections/disconnect"), confirm=app.client_id)
    assert "All merchants disconnected." in await seen(app.owner, done.location)
    assert (await record(app))["active_connections"] == 0


async def test_disconnect_one_merchant(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    [one] = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"]
    page = await seen(app.owner, url_of(app, f"/connections/{one['grant_id']}"))
    for words in ("Alice's Coffee", "Disconnect <bdi>Alice's Coffee</bdi>?", "offline_access", alice.merchant_id):
        assert words in page
    done = [await post(app.owner, url_of(app, f"/connections/{one['grant_id']}/disconnect")) for _ in range(2)][-1]
    page = await seen(app.owner, done.location)
    assert "Merchant disconnected." in page
    assert forms(page) == ["/signout"]
    (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)


async def test_other_merchants_get_404(app: Application, alice: Actor, mallory: Actor) -> None:
    await app.connect(alice, SCOPE)
    [one] = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"]
    mine = await application(mallory)
    grant = f"/connections/{one['grant_id']}"
    for tab in ("", "/settings", "/secret", "/connections", "/danger", grant):
        await seen(mallory, url_of(app, tab), 404)
        assert (await app.owner.anonymously("GET", url_of(app, tab))).ok(303).location == signed_out(url_of(app, tab))
    await seen(mallory, url_of(mine, grant), 404)
    form = {"version": "1", "confirm": "Northwind Ledger", "name": "x"}
    for path in ("/settings", "/secret", "/pause", "/resume", "/revoke", f"{grant}/disconnect", "/connections/disconnect"):
        await post(mallory, url_of(app, path), 404, **form)
        (await app.owner.send("POST", url_of(app, path), data=form, headers=FOREIGN)).refused("cross_origin_forbidden", 403)
    await post(mallory, url_of(mine, f"{grant}/disconnect"), 404)
    await seen(app.owner, "/developers/apps/nonsense", 404)
    assert (await record(app))["version"] == 1
    assert (await record(app))["active_connections"] == 1


async def test_suspended_owner_can_read_disconnect_and_revoke(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    await app.owner.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", app.owner.merchant_id)
    for path in ("/settings", "/secret", "/pause", "/resume"):
        (await app.owner.form(url_of(app, path), {"version": "1"})).refused("account_suspended", 403)
    (await app.owner.form("/developers/apps", {"name": "x"})).refused("account_suspended", 403)
    for tab in ("", "/settings", "/secret"):
        page = await seen(app.owner, url_of(app, tab))
        assert "This account is suspended." in page
        assert forms(page) == ["/signout"]
    await post(app.owner, url_of(app, "/connections/disconnect"), confirm="Northwind Ledger")
    await post(app.owner, url_of(app, "/revoke"), confirm="Northwind Ledger")


async def test_protocol_settings_are_in_the_form(app: Application) -> None:
    page = await seen(app.owner, url_of(app, "/settings"))
    assert "Authentication by keys" in page
    (await save(app, [*await filled_form(app), ("flag", "require_par"), ("flag", "dpop_bound")])).ok(303)
    now = await record(app)
    assert (now["require_par"], now["dpop_bound"]) == (True, True)
    form = [field for field in await filled_form(app, name="Typed") if field[0] != "flags"]
    (await save(app, form)).ok(303)
    now = await record(app)
    assert (now["require_par"], now["dpop_bound"], now["name"]) == (True, True, "Typed")
    stale = [*await filled_form(app), ("flag", "dpop_bound")]
    (await save(app, [*await filled_form(app), ("flag", "require_par")])).ok(303)
    assert (await record(app))["dpop_bound"] is False
    shown = await save(app, stale)
    assert "<code>require_par</code>" in shown.text
    assert shown.status == 409


async def test_public_applications_have_no_keys_in_the_form(bob: Actor) -> None:
    app = await application(bob, "public", token_endpoint_auth_method="none")  # noqa: S106 - a method
    page = await seen(bob, url_of(app, "/settings"))
    assert "Authentication by keys" not in page
    assert "Tokens bound to a key" in page
    (await save(app, [*await filled_form(app), ("flag", "dpop_bound")])).ok(303)
    now = await record(app)
    assert (now["token_endpoint_auth_method"], now["dpop_bound"]) == ("none", True)
