"""Balance payments by an application's token: paid at once, or reserved and then captured, released or expired."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.cast import Actor, application
from tests.payments.bank import until
from tests.running import CATALOGUE
from tests.transfers.balance_payments.till import Till, fund, let_expire, open_till, reported


@pytest.mark.covers("P-95")
async def test_paid_at_once(till: Till) -> None:
    paid = (await till.pay(external_id="o-1", description="Seat", metadata={"by": "me"})).ok(201).body
    assert (paid["object"], paid["status"], paid["amount"], paid["captured_minor"]) == (
        "balance_payment",
        "captured",
        "10.00",
        1_000,
    )
    assert (paid["expires_at"], paid["livemode"], paid["version"]) == (None, False, 1)
    assert (paid["merchant_id"], paid["oauth_client_id"]) == (till.payer.merchant_id, till.app.client_id)
    assert await till.purses() == (9_000, 0, 1_000)
    assert (await till.read(paid)).ok().body == paid
    source = {"type": "balance_payment", "id": paid["id"], "status": "captured", "version": 1}
    assert (await reported(till.payer))[-1] == source
    assert await reported(till.app.owner) == [source]
    assert (await types_of(till.payer))[-1:] == ["balance_payment_out"]
    assert await types_of(till.app.owner) == ["balance_payment_in"]


async def types_of(actor: Actor) -> list[str]:
    """The types of a merchant's ledger entries, oldest first."""
    return [entry["type"] for entry in reversed((await actor.get("/ledger")).ok().body["ledger"])]


async def test_each_merchant_is_reported_its_own_entries(till: Till) -> None:
    await fund(till.app.owner, "3.00")
    await till.act(await till.reserve(), "capture", "4.00")
    for actor, wanted in ((till.payer, {"reserved": 0, "available": 9_600}), (till.app.owner, {"available": 700})):
        [event, *_] = (await actor.get("/webhook-events")).ok().body["webhook_events"]
        entries = event["payload"]["data"]["entries"]
        assert {entry["account"]: entry["balance_after_minor"] for entry in entries} == wanted
        [mine] = [entry for entry in (await actor.get("/ledger")).ok().body["ledger"] if entry["id"] == entries[0]["id"]]
        assert mine == entries[0]


@pytest.mark.covers("P-96")
async def test_reserved(till: Till) -> None:
    reserved = await till.reserve()
    assert (reserved["status"], reserved["captured_minor"], reserved["resolved_at"]) == ("reserved", 0, None)
    assert await till.purses() == (9_000, 1_000, 0)
    held = (await till.payer.get("/balances/EUR")).ok().body["reserved_breakdown"]
    assert held["balance_payments_minor"] == 1_000
    assert await reported(till.app.owner) == []


@pytest.mark.covers("P-97")
async def test_captured_in_part(till: Till) -> None:
    reserved = await till.reserve()
    captured = (await till.act(reserved, "capture", "4.00")).ok().body
    assert (captured["status"], captured["captured"], captured["released"], captured["version"]) == (
        "captured",
        "4.00",
        "6.00",
        2,
    )
    assert await till.purses() == (9_600, 0, 400)
    again = (await till.act(reserved, "capture")).refused("invalid_state", 409)
    assert again.body["details"] == {"status": "captured"}
    assert [one["status"] for one in await reported(till.payer)] == ["succeeded", "reserved", "captured"]


@pytest.mark.covers("P-98")
async def test_no_more_than_was_reserved(till: Till) -> None:
    reserved = await till.reserve()
    refused = (await till.act(reserved, "capture", "10.01")).refused("amount_above_maximum", 422)
    assert refused.body["details"] == {"reserved_minor": 1_000, "currency": "EUR"}
    assert (await till.act(reserved, "capture", "1.001")).field_errors() == {"amount": "invalid_amount"}
    assert (await till.act(reserved, "capture", "0")).field_errors() == {"amount": "invalid_amount"}
    assert await till.purses() == (9_000, 1_000, 0)


@pytest.mark.covers("P-99")
async def test_released(till: Till) -> None:
    reserved = await till.reserve()
    released = (await till.act(reserved, "release")).ok().body
    assert (released["status"], released["released"]) == ("released", "10.00")
    assert await till.purses() == (10_000, 0, 0)
    for action in ("capture", "release", "refund"):
        assert (await till.act(reserved, action)).refused("invalid_state", 409).body["details"] == {"status": "released"}


@pytest.mark.covers("P-104")
async def test_expired(till: Till) -> None:
    reserved = await till.reserve(expires_in=3_600)
    await let_expire(till.payer, reserved)
    expired = await until(till.payer, f"/balance-payments/{reserved['id']}", "expired")
    for action in ("capture", "release"):
        assert (await till.act(reserved, action)).refused("invalid_state", 409).body["details"] == {"status": "expired"}
    for _ in range(600):
        if (await till.purses())[0] == 10_000:
            break
        await asyncio.sleep(0.05)
    assert await till.purses() == (10_000, 0, 0)
    assert expired["expires_at"] is not None
    assert (await reported(till.payer))[-1]["status"] == "expired"


async def test_expired_by_the_test_clock(till: Till) -> None:
    reserved = await till.reserve(expires_in=3_600)
    (await till.payer.post("/test/clock/advance", {"seconds": 3_599})).ok()
    assert (await till.read(reserved)).ok().body["status"] == "reserved"
    (await till.payer.post("/test/clock/advance", {"seconds": 3_600})).ok()
    assert (await till.read(reserved)).ok().body["status"] == "expired"
    later = await till.reserve(expires_in=3_600)
    assert (await till.read(later)).ok().body["status"] == "reserved"


@pytest.mark.covers("P-105")
async def test_refunded_in_parts(till: Till) -> None:
    paid = (await till.pay()).ok(201).body
    part = (await till.act(paid, "refund", "3.00")).ok().body
    assert (part["status"], part["refunded"], part["version"]) == ("partially_refunded", "3.00", 2)
    assert await till.purses() == (9_300, 0, 700)
    too_much = (await till.act(paid, "refund", "7.01")).refused("refund_amount_exceeds_remaining", 422)
    assert too_much.body["details"] == {"remaining_minor": 700, "currency": "EUR"}
    assert (await till.act(paid, "refund")).ok().body["status"] == "refunded"
    assert await till.purses() == (10_000, 0, 0)
    (await till.act(paid, "refund")).refused("invalid_state", 409)
    assert [one["status"] for one in await reported(till.app.owner)] == ["captured", "partially_refunded", "refunded"]


@pytest.mark.covers("P-106")
async def test_the_owner_must_have_what_it_refunds(till: Till, carol: Actor) -> None:
    paid = (await till.pay()).ok(201).body
    other = await open_till(till.app.owner, carol, "1.00")
    (await other.pay("9.00")).ok(201)
    refused = (await till.act(paid, "refund", "3.00")).refused("insufficient_funds", 422)
    assert "details" not in refused.body
    assert (await till.act(paid, "refund", "2.00")).ok().body["refunded"] == "2.00"


@pytest.mark.covers("P-107")
async def test_nobody_pays_itself(bob: Actor) -> None:
    own = await open_till(bob, bob)
    (await own.pay()).refused("self_payment_not_allowed", 422)
    (await own.pay(capture=False)).refused("self_payment_not_allowed", 422)


@pytest.mark.covers("P-108")
async def test_not_in_every_currency(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = msgspec.structs.replace(CATALOGUE.currencies["EUR"], balance_payment_supported=False)
    with monkeypatch.context() as patch:
        patch.setitem(CATALOGUE.currencies, "EUR", changed)
        refused = (await till.pay()).refused("currency_not_supported", 422)
    assert refused.body["errors"][0]["field"] == "currency"
    (await till.pay(currency="XXX")).refused("currency_not_supported", 422)


async def test_what_is_not_there_is_not_paid(till: Till) -> None:
    for capture in (True, False):
        refused = (await till.pay("100.01", capture=capture)).refused("insufficient_funds", 422)
        assert refused.body["details"] == {"available_minor": 10_000, "required_minor": 10_001, "currency": "EUR"}


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"amount": 10}, {"amount": "invalid_amount"}),
    ({"amount": "-1"}, {"amount": "invalid_amount"}),
    ({"amount": "1.001"}, {"amount": "invalid_amount"}),
    ({"amount_minor": 100}, {"amount_minor": "unknown_field"}),
    ({"webhook_url": "https://shop.example/hook"}, {"webhook_url": "unknown_field"}),
    ({"capture": False, "expires_in": 3_599}, {"expires_in": "invalid_value"}),
    ({"capture": False, "expires_in": 2_592_001}, {"expires_in": "invalid_value"}),
    ({"expires_in": 3_600}, {"expires_in": "not_applicable"}),
    ({"description": "x" * 256}, {"description": "invalid_value"}),
    ({"external_id": ""}, {"external_id": "invalid_value"}),
    ({"metadata": {"a b": "c"}}, {"metadata": "invalid_key"}),
    ({"oauth_client_id": "thc_0000000000000000000000"}, {"oauth_client_id": "invalid_value"}),
    ({"amount": "0", "external_id": "\n"}, {"amount": "invalid_amount", "external_id": "invalid_value"}),
]


async def test_refused_bodies(till: Till) -> None:
    for changes, problems in REFUSED:
        assert (await till.pay(**changes)).field_errors() == problems, changes


async def test_an_external_id_is_used_once(till: Till, carol: Actor) -> None:
    first = (await till.pay("1.00", external_id="o-1")).ok(201).body
    again = (await till.pay("2.00", external_id="o-1", capture=False)).refused("duplicate_external_id", 409)
    assert again.body["details"] == {"existing_id": first["id"]}
    stranger = await open_till(till.payer, carol, "1.00")
    assert "details" not in (await stranger.pay("1.00", external_id="o-1")).refused("duplicate_external_id", 409).body
    (await till.pay("1.00", external_id="o-2")).ok(201)


async def test_keys(till: Till) -> None:
    body = {"amount": "1.00", "currency": "EUR"}
    (await till.app.api(till.token, "POST", "/balance-payments", body)).refused("idempotency_key_required", 400)
    first = (await till.post("", body, key="once")).ok(201)
    again = (await till.post("", body, key="once")).ok(201)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (first.raw, "true")
    (await till.post("", {**body, "capture": False}, key="once")).refused("idempotency_key_reused", 422)
    reserved = await till.reserve()
    for action in ("capture", "refund"):
        path = f"/balance-payments/{reserved['id']}/{action}"
        (await till.app.api(till.token, "POST", path, {})).refused("idempotency_key_required", 400)
    captured = (await till.act(reserved, "capture", "4.00", key="c")).ok()
    assert (await till.act(reserved, "capture", "4.00", key="c")).raw == captured.raw
    refunded = (await till.act(reserved, "refund", "1.00", key="r")).ok()
    assert (await till.act(reserved, "refund", "1.00", key="r")).raw == refunded.raw
    assert await till.purses() == (9_600, 0, 400)


async def test_a_release_needs_no_key(till: Till) -> None:
    reserved = await till.reserve()
    path = f"/balance-payments/{reserved['id']}/release"
    assert (await till.app.api(till.token, "POST", path)).ok().body["status"] == "released"


@pytest.mark.covers("P-110")
async def test_reading_is_not_paying(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "balance-payments:read"))["access_token"]
    body = {"amount": "1.00", "currency": "EUR"}
    (await app.api(token, "POST", "/balance-payments", body, "k")).refused("missing_scope", 403)
    (await app.api(token, "GET", "/balance-payments")).ok()


async def test_listed(till: Till) -> None:
    first = (await till.pay("1.00", external_id="a")).ok(201).body
    second = await till.reserve("2.00")
    third = await till.reserve("3.00")
    (await till.act(third, "release")).ok()

    async def found(query: str = "") -> list[str]:
        listed = (await till.app.api(till.token, "GET", f"/balance-payments{query}")).ok().body
        return [payment["id"] for payment in listed["balance_payments"]]

    assert await found() == [third["id"], second["id"], first["id"]]
    assert await found("?status=reserved") == [second["id"]]
    assert await found("?external_id=a&currency=EUR") == [first["id"]]
    assert await found("?currency=USD") == []
    assert await found("?limit=1&page=2") == [second["id"]]
    assert await found(f"?created_from={third['created_at']}") == [third["id"]]
    await let_expire(till.payer, second)
    assert await found("?status=expired") == [second["id"]]
    assert await found("?status=reserved") == []
    empty = f"/balance-payments?created_from={first['created_at']}&created_to={first['created_at']}"
    assert (await till.app.api(till.token, "GET", empty)).field_errors() == {"created_to": "invalid_value"}


async def test_in_the_financial_summary(till: Till) -> None:
    reserved = await till.reserve()
    (await till.act(reserved, "capture", "4.00")).ok()
    (await till.act(reserved, "refund", "1.00")).ok()
    for actor, line, moved in ((till.payer, "out", -300), (till.app.owner, "in", 300)):
        report = (await actor.get("/reports/financial-summary?currency=EUR")).ok().body
        [row] = report["financial_summaries"]
        assert row[f"balance_payments_{line}_minor"] == moved
