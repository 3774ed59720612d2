"""What holds for every call about money: errors, keys, who is asking, and the ledger as a client can check it."""

from itertools import pairwise
from uuid import uuid4

import msgspec
import pytest

from tests.cast import Actor, application
from tests.forms import read
from tests.payments.bank import play, purse, refund, sell
from tests.payments.shop import COFFEE, approve_project, balance, events, open_link
from tests.running import CATALOGUE
from tollhouse.http.static_files import static
from tollhouse.kernel.catalogue.methods import Fees


@pytest.mark.covers("P-7", "P-14", "P-15", "P-92")
async def test_what_is_refused_before_anything_is_looked_at(alice: Actor) -> None:
    path, headers = "/api/v2/integration/test/balances/fund", {"X-API-Key": await alice.key()}
    plain = await alice.send("POST", path, data=b"{}", headers=headers | {"Content-Type": "text/plain"})
    assert plain.status == 415
    broken = await alice.send("POST", path, data=b"{", headers=headers | {"Content-Type": "application/json"})
    assert broken.refused("invalid_request", 400).headers["X-Request-Id"]
    await sell(alice)
    [entry] = (await alice.get("/ledger")).ok().body["ledger"]
    for method, where in (("PATCH", "/balances"), ("PUT", f"/ledger/{entry['id']}"), ("DELETE", f"/ledger/{entry['id']}")):
        refused = (await alice.call(method, where)).refused("method_not_allowed", 405)
        assert "GET" in refused.headers["Allow"]


@pytest.mark.covers("P-3")
async def test_scopes_are_written_in_one_way(alice: Actor) -> None:
    body = {"name": "k", "mode": "test", "scopes": ["Balances:Read"]}
    assert (await alice.dashboard("POST", "/api-keys", body)).status == 422


@pytest.mark.covers("P-34", "P-35", "P-36")
async def test_the_account_says_who_is_asking(alice: Actor, bob: Actor) -> None:
    mine = (await alice.get("/account")).ok().body
    assert mine["api_key_id"] is not None
    assert (mine["mode"], mine["livemode"]) == ("test", False)
    app = await application(bob)
    token = (await app.connect(alice, "account:read payments:read"))["access_token"]
    theirs = (await app.api(token, "GET", "/account")).ok().body
    assert theirs["api_key_id"] is None
    assert (theirs["oauth_client_id"], set(theirs["scopes"])) == (app.client_id, {"account:read", "payments:read"})
    assert theirs["oauth_grant_id"]
    shown = (await bob.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    kept = ("name", "client_type", "description", "website_url", "redirect_uris", "version")
    less = {name: shown[name] for name in kept} | {"scopes": ["account:read"]}
    (await bob.dashboard("PUT", f"/oauth/clients/{app.client_id}", less)).ok()
    assert (await app.api(token, "GET", "/account")).ok().body["scopes"] == ["account:read"]


@pytest.mark.covers("P-25")
async def test_a_key_outlives_the_connection(alice: Actor, bob: Actor) -> None:
    paid = await sell(alice)
    app = await application(bob)
    scopes = "payments:read payments:write"
    path, body = f"/transactions/{paid['id']}/refunds", {"amount": "1.00"}
    first = await app.connect(alice, scopes)
    done = (await app.api(first["access_token"], "POST", path, body, key="k")).ok(201)
    (await bob.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections")).ok()
    assert (await app.api(first["access_token"], "POST", path, body, key="k")).status == 401
    second = await app.connect(alice, scopes)
    again = (await app.api(second["access_token"], "POST", path, body, key="k")).ok(201)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (done.raw, "true")
    assert (await purse(alice))[0] == 900


@pytest.mark.covers("P-28")
async def test_one_key_in_two_environments(alice: Actor) -> None:
    await approve_project(alice, "live")
    test, live = [(await alice.post("/payment-links", COFFEE, key="same", mode=mode)).ok(201) for mode in ("test", "live")]
    assert test.body["id"] != live.body["id"]
    assert "Idempotency-Replayed" not in live.headers


@pytest.mark.covers("P-30")
async def test_a_refused_key_is_free_again(alice: Actor) -> None:
    paid, key = await sell(alice), str(uuid4())
    (await play(alice, paid, "chargeback")).ok()
    path = f"/transactions/{paid['id']}/refunds"
    (await alice.post(path, {}, key=key)).refused("payment_charged_back", 409)
    (await play(alice, paid, "chargeback_won")).ok()
    (await alice.post(path, {}, key=key)).ok(201)


@pytest.mark.covers("P-31")
async def test_a_replay_needs_the_permission(alice: Actor) -> None:
    paid = await sell(alice)
    made = (await alice.dashboard("POST", "/api-keys", {"name": "k", "mode": "test"})).ok(201).body
    headers = {"X-API-Key": made["api_key"], "Idempotency-Key": "k"}
    path = f"/api/v2/integration/transactions/{paid['id']}/refunds"
    done = (await alice.anonymously("POST", path, {}, headers)).ok(201)
    reader = headers | {"X-API-Key": await alice.key(scopes=["payments:read"])}
    (await alice.anonymously("POST", path, {}, reader)).refused("missing_scope", 403)
    (await alice.dashboard("DELETE", f"/api-keys/{made['api_key_id']}")).ok()
    (await alice.anonymously("POST", path, {}, headers)).refused("invalid_api_key", 401)
    other = headers | {"X-API-Key": await alice.key()}
    assert (await alice.anonymously("POST", path, {}, other)).ok(201).raw == done.raw
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    (await alice.anonymously("POST", path, {}, other)).refused("account_suspended", 403)


@pytest.mark.covers("P-90", "P-94")
async def test_a_client_can_check_the_ledger(alice: Actor) -> None:
    paid = await sell(alice)
    await sell(alice, "overpay")
    (await refund(alice, paid, "4.00")).ok(201)
    await sell(alice, "chargeback", amount="7.00")
    entries = (await alice.get("/ledger?currency=EUR&limit=100")).ok().body["ledger"]
    now = await balance(alice)
    for account in ("available", "reserved"):
        mine = sorted((entry for entry in entries if entry["account"] == account), key=lambda one: one["sequence"])
        assert [item["sequence"] for item in mine] == list(range(1, len(mine) + 1))
        assert all(
            b["balance_after_minor"] - a["balance_after_minor"] == b["signed_amount_minor"] for a, b in pairwise(mine)
        )
        assert mine[-1]["balance_after_minor"] == now[f"{account}_minor"]
    reported = (await alice.get("/webhook-events?limit=100")).ok().body["webhook_events"]
    changes = [one["payload"] for one in reported if one["type"] == "balance.updated"]
    latest = max(changes, key=lambda one: one["sequence"])
    assert latest["data"]["object"] == now
    assert latest["sequence"] == now["version"]
    shown = {entry["id"] for change in changes for entry in change["data"]["entries"]}
    assert shown == {entry["id"] for entry in entries}


@pytest.mark.covers("P-91")
async def test_a_fee_is_an_entry_of_its_own(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service runs in this process, so that a fee can be set in it."""
    dear = msgspec.structs.replace(CATALOGUE.methods["sandbox:GBP"], fees=Fees(basis_points=250))
    monkeypatch.setitem(CATALOGUE.methods, "sandbox:GBP", dear)
    paid = await sell(alice, currency="GBP")
    assert (paid["fee"], paid["net"]) == ("0.25", "9.75")
    fee, payment = (await alice.get("/ledger")).ok().body["ledger"]
    assert [payment["type"], fee["type"]] == ["payment", "payment_fee"]
    assert payment["ledger_transaction_id"] == fee["ledger_transaction_id"]
    assert [reported for reported, _ in await events(alice)] == ["payment.succeeded", "balance.updated"]


async def test_a_customer_without_a_name_sees_how_a_single_use_link_stands(alice: Actor) -> None:
    link = await open_link(alice)
    waiting = (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "underpay"})).ok().body
    page = (
        await alice.anonymously("GET", link["url"].removeprefix(alice.service.url), headers={"Accept": "text/html"})
    ).ok()
    for shown in (
        "Partly paid",
        "Send the remaining €0.04",
        "data:image/png",
        static("poll.js"),
        'data-state="underpaid"',
        'data-received="416 0"',
    ):
        assert shown in read(page.text), shown
    (await play(alice, waiting, "expire")).ok()
    path = f"{link['url'].removeprefix(alice.service.url)}?payment={waiting['id']}"
    page = (await alice.anonymously("GET", path, headers={"Accept": "text/html"})).ok()
    assert "will accept or refund it" in page.text
