"""Logo, privacy policy and terms of an application: rules, updates that lack them, and what the consent page shows."""

from typing import Any

from tests.accounts.settings.test_settings import body
from tests.cast import Actor, application
from tests.oauth.test_app_pages import filled_form, record, save
from tests.oauth.test_consent import start
from tests.oauth.test_registration import CLIENTS, settings

LINKS = {
    "logo_uri": "https://northwind.example/logo.png",
    "policy_uri": "https://northwind.example/privacy",
    "tos_uri": "https://northwind.example/terms",
}
LONGEST = "https://northwind.example/".ljust(2_048, "a")


async def _save(bob: Actor, client: dict[str, Any], **changes: Any) -> dict[str, Any]:
    body = settings(version=client["version"]) | changes
    return (await bob.dashboard("PUT", f"{CLIENTS}/{client['client_id']}", body)).ok().body


async def test_members_that_an_update_lacks_stay_and_null_clears_them(bob: Actor) -> None:
    created = (await bob.dashboard("POST", CLIENTS, settings())).ok(201).body
    assert [created[name] for name in LINKS] == [None, None, None]
    saved = await _save(bob, created, **LINKS)
    assert {name: saved[name] for name in LINKS} == LINKS
    saved = await _save(bob, saved)
    assert {name: saved[name] for name in LINKS} == LINKS
    saved = await _save(bob, saved, policy_uri=None, tos_uri=LONGEST)
    assert saved["policy_uri"] is None
    assert (saved["logo_uri"], saved["tos_uri"]) == (LINKS["logo_uri"], LONGEST)


async def test_each_invalid_member_is_named(bob: Actor) -> None:
    for url, code in (
        (5, "invalid_type"),
        ("", "invalid_length"),
        (LONGEST + "a", "invalid_length"),
        ("javascript:alert(1)", "invalid_scheme"),
        ("http://northwind.example/", "https_required"),
        ("http://localhost/", "https_required"),
        ("https://user@northwind.example/", "credentials_forbidden"),
        ("https://northwind.example/\u202e", "invalid_characters"),
        ('https://northwind.example/"><script>', "invalid_characters"),
        ("data:image/png;base64,AAAA", "invalid_scheme"),
    ):
        refused = await bob.dashboard("POST", CLIENTS, settings() | dict.fromkeys(LINKS, url))
        assert refused.field_errors() == dict.fromkeys(LINKS, code), url


async def test_consent_page_links_to_them_and_names_the_contact(bob: Actor, alice: Actor) -> None:
    app = await application(bob, **LINKS)
    for client in (alice, bob):
        shown = client is bob
        if shown:
            (await bob.call("PUT", "/settings", await body(bob, branding={"support_email": "help@bob.example"}))).ok()
        text = (await alice.send("GET", await start(alice, app))).ok().text
        assert ('href="mailto:help@bob.example"' in text) is shown
        assert 'href="https://northwind.example/privacy" rel="noopener noreferrer nofollow"' in text
        assert 'href="https://northwind.example/terms" rel="noopener noreferrer nofollow"' in text
        assert "northwind.example/logo.png" not in text


async def test_form_saves_links_and_grant_types(bob: Actor) -> None:
    app = await application(bob)
    form = await filled_form(app, **LINKS)
    (await save(app, [*form, ("grant_type", "urn:ietf:params:oauth:grant-type:device_code")])).ok(303)
    saved = await record(app)
    assert {name: saved[name] for name in LINKS} == LINKS
    assert len(saved["grant_types"]) == 3
    none = [(name, value) for name, value in await filled_form(app) if name != "grant_type"]
    assert "grant-types-wrong" in (await save(app, none)).ok(422).text
