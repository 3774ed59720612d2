"""Forms of a tab that was opened for one merchant account, after the session changed to another one in another tab."""

import re
from typing import Any

import aiohttp

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import PASSWORD, Actor, Answer, join
from tests.forms import hidden, seen
from tollhouse.http.responses import POSTED
from tollhouse.http.templates import FOLDERS

OWN = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
SWITCHED = "You switched to another merchant account in another tab. Nothing was changed."
JOINED = "You joined another merchant account after this page was opened. Nothing was changed."
FORMS = {
    "/test/developers/keys": {"name": "Till"},
    "/settings/members": {"email": "nina@example.com", "role": "support"},
    "/settings/business": {"business_name": "Renamed", "time_zone": "Europe/Berlin"},
    "/test/payment-links/new": {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"},
}
"""Pages and what their forms send."""
EVERYTHING = """
    SELECT (SELECT count(*) FROM api_keys) AS keys, (SELECT count(*) FROM invitations) AS invited,
           (SELECT count(*) FROM payment_links) AS links, (SELECT count(*) FROM logos) AS logos,
           (SELECT string_agg(business_name || time_zone, '' ORDER BY id) FROM merchants) AS names,
           (SELECT count(*) FROM audit_lines) AS lines
"""


async def send(actor: Actor, path: str, fields: Any) -> Answer:
    """Post a form of a tab, as a browser without scripts does."""
    return await actor.send("POST", path, data=fields, headers=OWN)


async def switch(actor: Actor, merchant_id: str) -> None:
    """Change the merchant in another tab."""
    (await actor.dashboard("POST", "/session/merchant", {"merchant_id": merchant_id})).ok()


def logo(acting_for: str) -> aiohttp.FormData:
    """The form of a file."""
    data = aiohttp.FormData()
    data.add_field("acting_for", acting_for)
    data.add_field("logo", b"no image", filename="logo.png", content_type="application/octet-stream")
    return data


async def test_a_form_of_an_old_tab_changes_nothing_in_either_merchant(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "owner")
    old = {path: hidden(await bob.send("GET", path)) for path in FORMS}
    assert {fields["acting_for"] for fields in old.values()} == {alice.merchant_id}
    await switch(bob, bob.merchant_id)
    before = await bob.sql(EVERYTHING)
    for path, fields in FORMS.items():
        page = (await send(bob, path, old[path] | fields)).ok(409).text
        assert SWITCHED in page
        assert "The account menu shows which merchant account is open" in page
        assert '/settings/merchants">' in page
    assert SWITCHED in (await send(bob, "/test/settings/payments/logo", logo(alice.merchant_id))).ok(409).text
    assert await bob.sql(EVERYTHING) == before
    await switch(bob, alice.merchant_id)
    (await send(bob, "/settings/members", old["/settings/members"] | FORMS["/settings/members"])).ok(303)
    assert SWITCHED not in (await send(bob, "/test/settings/payments/logo", logo(alice.merchant_id))).text


async def test_a_page_from_before_there_were_two(alice: Actor, bob: Actor) -> None:
    assert "acting_for" not in await seen(bob, "/settings/members")
    await join(bob, alice, "owner")
    before = await bob.sql(EVERYTHING)
    for sent in (FORMS["/settings/members"], {}, aiohttp.FormData({"a": "b"}, quote_fields=False)):
        assert JOINED in (await send(bob, "/settings/members", sent)).ok(409).text
    twice = [*FORMS["/settings/members"].items(), ("acting_for", alice.merchant_id), ("acting_for", bob.merchant_id)]
    assert SWITCHED in (await send(bob, "/settings/members", twice)).ok(409).text
    assert await bob.sql(EVERYTHING) == before


async def test_a_switch_while_the_password_is_asked_for(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "owner")
    live = "/live/developers/keys"
    old = hidden(await bob.send("GET", live)) | {"name": "Till"}
    await grow_old(bob)
    asked = await send(bob, live, old)
    carried = hidden(asked.ok(403))
    assert len(re.findall('name="acting_for"', asked.text.partition("<footer")[0])) == 1
    assert carried["acting_for"] == alice.merchant_id
    await switch(bob, bob.merchant_id)
    before = await bob.sql(EVERYTHING)
    assert SWITCHED in (await send(bob, live, carried | {"stepup_password": PASSWORD})).ok(409).text
    assert await bob.sql(EVERYTHING) == before


async def test_json_stays_as_it_is(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "owner")
    (await bob.dashboard("POST", "/api-keys", {"name": "Till", "mode": "test"})).ok(201)


def test_every_form_gets_the_field() -> None:
    """However its template writes its attributes."""
    for folder in FOLDERS.values():
        for template in folder.rglob("*.html"):
            text = template.read_text()
            assert len(POSTED.findall(text)) == len(re.findall(r"<form\b[^>]*method=.?post", text)), template
