"""An owner sees the consent page of an application in advance: nothing can be sent there, and nothing is stored."""

import re

from tests.cast import Actor, application
from tests.forms import forms, post, seen, signed_out
from tests.oauth.test_app_pages import url_of, version

STORED = "SELECT (SELECT count(*) FROM oauth_requests) + (SELECT count(*) FROM oauth_grants) AS n"


async def test_it_is_the_consent_page_without_a_form(bob: Actor) -> None:
    app = await application(bob)
    assert f'href="{url_of(app)}/preview"' in await seen(bob, url_of(app))
    before = await bob.sql(STORED)
    answer = (await bob.send("GET", url_of(app, "/preview"))).ok()
    page = await seen(bob, url_of(app, "/preview"))
    for words in ("Northwind Ledger", "wants to connect to", "Bob's Books", "https://app.example", "(not verified)"):
        assert words in page
    assert page.count('type="checkbox" name="scope"') == 19
    assert "<title>TEST · Preview: Northwind Ledger wants to connect" in page
    assert "This is what merchants see when they connect your application. The buttons have no effect." in page
    assert forms(page) == []
    assert "form_token" not in page
    assert "/oauth/consent" not in page
    for button in ("Deny", "Allow selected", "Use another account"):
        assert re.search(rf'<button [^>]*type="button" disabled>{button}</button>', page), button
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"]
    assert await bob.sql(STORED) == before


async def test_live_pages_preview_the_live_page(bob: Actor) -> None:
    app = await application(bob)
    assert "real money" in await seen(bob, f"/live{url_of(app, '/preview')}")


async def test_nobody_else_sees_it(bob: Actor, mallory: Actor) -> None:
    app = await application(bob)
    path = url_of(app, "/preview")
    await seen(mallory, path, 404)
    assert (await bob.anonymously("GET", path)).ok(303).location == signed_out(path)
    assert (await bob.form(path, {"decision": "allow"})).status == 405


async def test_hostile_settings_stay_text(bob: Actor) -> None:
    app = await application(bob, name="<b>App", description="<script>alert(1)</script>")
    raw = (await bob.send("GET", url_of(app, "/preview"))).ok().text
    assert "<script>alert" not in raw
    assert "<b>App" not in raw


async def test_a_secret_is_shown_once_with_its_environment_file(bob: Actor) -> None:
    app = await application(bob)
    answer = await post(bob, url_of(app, "/secret"), 200, **await version(app))
    [secret] = set(re.findall(r"thcs_[0-9A-Za-z]+", answer.text))
    assert f"TOLLHOUSE_CLIENT_ID={app.client_id}\nTOLLHOUSE_CLIENT_SECRET={secret}</code>" in answer.text
    assert 'type="button" hidden data-download="environment-text" data-filename="tollhouse.env"' in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    for path in ("", "/secret", "/preview"):
        page = await seen(bob, url_of(app, path))
        assert secret not in page
        assert "data-download" not in page


async def test_a_new_application_has_its_environment_file(bob: Actor) -> None:
    page = await seen(bob, "/developers/apps/new")
    fields = {
        "name": "New",
        "client_type": "confidential",
        "redirect_uris": "https://app.example/back",
        "scope": "account:read",
    }
    signed = re.findall(r'name="signed_client_id" value="([^"]+)"', page)[0]
    answer = await post(bob, "/developers/apps", 200, **fields, signed_client_id=signed, description="", website_url="")
    assert "TOLLHOUSE_CLIENT_SECRET=thcs_" in answer.text
    assert 'data-download="environment-text"' in answer.text
