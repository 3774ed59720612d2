"""The served API reference: signed-in people have a test key made for the examples of a page, which one response shows."""

import html
import re

from tests.cast import Actor
from tests.forms import refuses_foreign_forms, signed_out
from tests.instance.docs.test_quickstart_key import KEY, commands_of

PATH = "/docs/api/open_link"
FORM = f'<form method="post" action="{PATH}"'


async def test_one_response_has_a_key_in_the_examples_of_every_language(alice: Actor) -> None:
    offered = (await alice.send("GET", PATH)).ok()
    assert FORM in offered.text
    assert (offered.headers["Cache-Control"], KEY.search(offered.text)) == ("no-store", None)
    made = (await alice.form(PATH, {})).ok()
    assert made.headers["Cache-Control"] == "no-store"
    [key] = set(KEY.findall(html.unescape(re.sub("<[^>]+>", "", made.text))))
    examples = commands_of(made.text)
    assert examples.count(f"X-API-Key: {key}") == 2
    assert examples.count(f'"X-API-Key": "{key}"') == 2
    assert [word for word in ("$KEY", "$key", '"X-API-Key": key') if word in examples] == []
    assert KEY.search((await alice.send("GET", PATH)).ok().text) is None


async def test_the_key_has_the_permissions_of_the_operation_in_test_mode(alice: Actor) -> None:
    for name in ("open_link", "list_currencies"):
        (await alice.form(f"/docs/api/{name}", {})).ok()
    second, first = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert (first["name"], first["mode"], first["scopes"]) == ("Reference: open_link", "test", ["payments:write"])
    assert (second["name"], second["mode"], second["scopes"]) == ("Reference: list_currencies", "test", ["account:read"])
    made = await alice.form(PATH, {})
    key = KEY.findall(made.text)[0]
    body = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
    url, headers = "/api/v2/integration/payment-links", {"X-API-Key": key, "Idempotency-Key": "reference-1"}
    (await alice.send("POST", url, json=body, headers=headers)).ok(201)
    (await alice.send("GET", url, headers=headers)).refused("missing_scope", 403)


async def test_nobody_else_has_a_key_made(alice: Actor) -> None:
    anonymous = (await alice.anonymously("GET", PATH)).ok().text
    assert FORM not in anonymous
    assert (await alice.anonymously("POST", PATH)).ok(303).location == signed_out(PATH)
    for name in ("sign_in", "payment.succeeded", "errors", "nothing"):
        (await alice.form(f"/docs/api/{name}", {})).ok(404)
    await refuses_foreign_forms(alice, PATH)
    assert FORM not in (await alice.send("GET", PATH)).ok().text  # suspended now
    assert (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"] == []
