"""Step-up: before money or secrets the password is asked for again, and nothing that was filled in is lost."""

import html
import re

import pytest

from tests.cast import HIDDEN, PASSWORD, Actor
from tests.forms import hidden, post, seen
from tests.merchants.authenticator import enrol, grow_old
from tollhouse.callers.stepup import LatelyProved
from tollhouse.doors.pages import OPERATIONS

BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
KEYS = "/test/developers/keys"
FORM = "/test/withdrawals/new/sandbox:EUR"
SECRET = re.compile(r"th_test_[0-9A-Za-z]{49}")
GUARDED = {
    "GET /settings/security/setup",
    "GET /{mode}/fulfillments/new/{product_id}",
    "GET /{mode}/payments/{transaction_id}/refund",
    "GET /{mode}/withdrawals/new/{method_id}",
    "POST /developers/apps/{client_id}/revoke",
    "POST /developers/apps/{client_id}/secret",
    "POST /settings/security/confirm",
    "POST /settings/security/setup",
    "POST /{mode}/developers/keys",
    "POST /{mode}/developers/keys/{api_key_id}/revoke",
    "POST /{mode}/developers/webhooks/secret",
    "POST /{mode}/developers/webhooks/secret/activate",
    "POST /{mode}/fulfillments/new/{product_id}/confirm",
    "POST /{mode}/payments/{transaction_id}/refund",
    "POST /{mode}/payments/{transaction_id}/refund/confirm",
    "POST /{mode}/withdrawals/new/{method_id}",
    "POST /{mode}/withdrawals/new/{method_id}/confirm",
}


def test_money_and_secrets_are_behind_it() -> None:
    found = {f"{one.method} {one.full_path}" for one in OPERATIONS if isinstance(one.guard, LatelyProved)}
    assert found >= GUARDED


async def test_who_proved_it_lately_is_not_asked(alice: Actor) -> None:
    await seen(alice, FORM)
    assert SECRET.search((await post(alice, KEYS, 200, name="shop")).text)
    assert (await alice.send("GET", f"/stepup?to={KEYS}")).ok(303).location == KEYS


async def test_a_form_is_shown_after_the_proof(alice: Actor) -> None:
    await grow_old(alice)
    await seen(alice, "/test/withdrawals")
    asked = (await alice.send("GET", FORM)).ok(303).location
    assert asked == "/stepup?to=%2Ftest%2Fwithdrawals%2Fnew%2Fsandbox%3AEUR"
    page = await alice.send("GET", asked)
    assert hidden(page.ok()) == {"to": FORM}
    wrong = await post(alice, "/stepup", 401, to=FORM, stepup_password="a wrong password")  # noqa: S106
    assert "The password is wrong" in wrong.text
    assert hidden(wrong) == {"to": FORM}
    (await alice.send("GET", FORM)).ok(303)
    assert (await post(alice, "/stepup", to=FORM, stepup_password=PASSWORD)).location == FORM
    await seen(alice, FORM)
    await grow_old(alice)
    (await alice.send("GET", FORM)).ok(303)


async def test_a_form_that_is_sent_too_late_is_kept_and_done_with_the_proof(alice: Actor) -> None:
    await grow_old(alice)
    fields = {"name": 'shop "A" & <b>'}
    asked = (await alice.send("POST", KEYS, data=fields, headers=BROWSER)).ok(403)
    assert asked.headers["Content-Type"].startswith("text/html")
    assert hidden(asked) == fields
    assert f'action="{KEYS}"' in asked.text
    assert PASSWORD not in asked.text
    again = (await alice.send("POST", KEYS, data=hidden(asked) | {"stepup_password": "wrong"}, headers=BROWSER)).ok(403)
    assert "The password is wrong" in again.text
    assert hidden(again) == fields
    assert (await alice.dashboard("GET", "/api-keys")).ok().body == {"api_keys": []}
    done = (await alice.send("POST", KEYS, data=hidden(again) | {"stepup_password": PASSWORD}, headers=BROWSER)).ok()
    assert SECRET.search(done.text)
    [key] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert key["name"] == fields["name"]
    (await post(alice, f"{KEYS}/{key['api_key_id']}/revoke")).ok(303)


async def test_a_withdrawal_goes_on_where_it_was(alice: Actor) -> None:
    funds = {"currency": "EUR", "amount": "50.00"}
    (await alice.post("/test/balances/fund", funds)).ok(201)
    fields = {"amount": "12.50", "receiver": "Nina", "network_fee_mode": "deduct"}
    review = await post(alice, FORM, 200, **fields)
    await grow_old(alice)
    asked = (await alice.send("POST", f"{FORM}/confirm", data=hidden(review), headers=BROWSER)).ok(403)
    assert hidden(asked) == hidden(review)
    done = await post(alice, f"{FORM}/confirm", 303, **hidden(asked), stepup_password=PASSWORD)
    assert done.location.startswith("/test/withdrawals/")
    [made] = (await alice.get("/withdrawals")).ok().body["withdrawals"]
    assert done.location.endswith(made["id"])


async def test_every_value_of_a_repeated_field_is_kept(alice: Actor) -> None:
    await grow_old(alice)
    sent = [("name", "a"), ("scope", "one"), ("scope", "two"), ("empty", "")]
    asked = (await alice.send("POST", KEYS, data=sent, headers=BROWSER)).ok(403)
    assert [(name, html.unescape(value)) for name, value in HIDDEN.findall(asked.text)] == sent


async def test_with_a_second_factor_the_code_is_asked_for_too(alice: Actor) -> None:
    authenticator = await enrol(alice)
    await grow_old(alice)
    assert 'name="stepup_code"' in await seen(alice, f"/stepup?to={KEYS}")
    fields = {"to": KEYS, "stepup_password": PASSWORD}
    assert "This code is wrong" in (await alice.form("/stepup", fields)).ok(401).text
    (await alice.form("/stepup", fields | {"stepup_code": "000000"})).ok(401)
    (await post(alice, KEYS, 403, name="shop", stepup_password=PASSWORD)).refused("proof_required")
    code = authenticator.code()
    assert (await alice.form("/stepup", fields | {"stepup_code": code})).ok(303).location == KEYS
    await grow_old(alice)
    (await alice.form("/stepup", fields | {"stepup_code": code})).ok(401)
    await post(alice, KEYS, 200, name="shop", stepup_password=PASSWORD, stepup_code=authenticator.backup_codes[0])


async def test_a_double_click_is_one_proof(alice: Actor) -> None:
    authenticator = await enrol(alice)
    await grow_old(alice)
    fields = {"to": KEYS, "stepup_password": PASSWORD, "stepup_code": authenticator.code()}
    (await alice.form("/stepup", fields)).ok(303)
    (await alice.form("/stepup", fields)).ok(303)
    await grow_old(alice)
    (await alice.form("/stepup", fields)).ok(401)


@pytest.mark.parametrize(
    ("to", "goes"),
    [
        ("/test/developers/keys?done=saved", "/test/developers/keys?done=saved"),
        ("/settings/security/setup", "/settings/security/setup"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/test//evil.example", "/"),
        ("/test/\r\nSet-Cookie: a=b", "/"),
        ("/signout", "/"),
        ("", "/"),
    ],
)
async def test_one_goes_on_to_a_page_of_ours(alice: Actor, to: str, goes: str) -> None:
    assert (await post(alice, "/stepup", to=to, stepup_password=PASSWORD)).location == goes


async def test_it_asks_nobody_but_people_at_pages(alice: Actor) -> None:
    await grow_old(alice)
    for path in ("/stepup", KEYS):
        assert (await alice.anonymously("POST", path)).ok(303).location == "/signin"
        foreign = {"Sec-Fetch-Site": "cross-site"}
        (await alice.send("POST", path, data={"name": "x"}, headers=foreign)).refused("cross_origin_forbidden", 403)
    (await alice.dashboard("POST", "/api-keys", {"name": "k", "mode": "test"})).ok(201)
    (await alice.form(KEYS, {"name": "x"})).refused("proof_required", 403)
