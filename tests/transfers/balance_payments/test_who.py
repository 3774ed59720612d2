"""Who may do what to a balance payment, and that the end of a connection does nothing to it."""

from uuid import uuid4

import asyncpg
import pytest

from tests.cast import INTEGRATION, Actor, application, suspend
from tests.forms import post
from tests.transfers.balance_payments.till import SCOPES, Till, let_expire, open_till


@pytest.mark.covers("P-103")
async def test_another_applications_payment_is_not_there(till: Till, carol: Actor) -> None:
    reserved = await till.reserve()
    stranger = await open_till(till.payer, carol, "1.00")
    (await stranger.read(reserved)).refused("not_found", 404)
    for action in ("capture", "release", "refund"):
        (await stranger.act(reserved, action)).refused("not_found", 404)
    listed = (await stranger.app.api(stranger.token, "GET", "/balance-payments")).ok().body
    assert listed == {"balance_payments": [], "has_more": False, "next_cursor": None}


async def test_another_merchants_or_modes_payment_is_not_there(till: Till, carol: Actor) -> None:
    reserved = await till.reserve()
    path = f"/balance-payments/{reserved['id']}"
    (await carol.get(path)).refused("not_found", 404)
    (await till.app.owner.get(path)).refused("not_found", 404)
    (await till.payer.get(path, mode="live")).refused("not_found", 404)
    assert (await till.payer.get(path)).ok().body == reserved
    live = (await till.app.connect(till.payer, SCOPES, mode="live"))["access_token"]
    (await till.app.api(live, "GET", path)).refused("not_found", 404)
    (await till.app.api(live, "POST", f"{path}/capture", {}, "k")).refused("not_found", 404)


@pytest.mark.covers("P-111")
async def test_an_api_key_names_a_connected_application(till: Till, carol: Actor) -> None:
    body = {"amount": "1.00", "currency": "EUR"}
    pay = "/balance-payments"
    assert (await till.payer.post(pay, body, key="1")).field_errors() == {"oauth_client_id": "missing"}
    stranger = await application(carol)
    for name in (stranger.client_id, "thc_nobody", ""):
        (await till.payer.post(pay, {**body, "oauth_client_id": name}, key="2")).refused("not_found", 404)
    await stranger.connect(till.payer, "balance-payments:read")
    (await till.payer.post(pay, {**body, "oauth_client_id": stranger.client_id}, key="3")).refused("not_found", 404)
    own = {**body, "oauth_client_id": till.app.client_id}
    (await till.payer.post(pay, own, key="4", mode="live")).refused("not_found", 404)
    paid = (await till.payer.post(pay, own, key="5")).ok(201).body
    assert (paid["oauth_client_id"], await till.purses()) == (till.app.client_id, (9_900, 0, 100))
    assert (await till.read(paid)).ok().body == paid
    await disconnect(till)
    (await till.payer.post(pay, own, key="6")).refused("not_found", 404)


async def disconnect(till: Till) -> None:
    """The merchant ends all its connections."""
    for grant in (await till.payer.dashboard("GET", "/oauth/grants")).ok().body["grants"]:
        (await till.payer.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()


async def test_an_api_key_pays_and_settles_nothing(till: Till) -> None:
    """Else a merchant could undo what it has promised, and help itself from the owner's balance."""
    reserved, paid = await till.reserve(), (await till.pay()).ok(201).body
    asked: tuple[tuple[str, str, dict[str, str]], ...] = (
        (reserved["id"], "release", {}),
        (reserved["id"], "capture", {}),
        (reserved["id"], "capture", {"amount": "0.01"}),
        (paid["id"], "refund", {}),
    )
    for payment_id, action, body in asked:
        path = f"/balance-payments/{payment_id}/{action}"
        (await till.payer.post(path, body, key=action)).refused("application_required", 403)
    assert await till.purses() == (8_000, 1_000, 1_000)


@pytest.mark.parametrize("action", ["capture", "release", "refund"])
async def test_an_api_key_is_refused_before_anything_is_looked_at(till: Till, carol: Actor, action: str) -> None:
    """The scope comes first; then it does not matter whether there is such a payment, nor what else is wrong."""
    path = f"/balance-payments/{(await till.reserve())['id']}/{action}"
    for named in (path, f"/balance-payments/{uuid4()}/{action}", f"/balance-payments/none/{action}"):
        (await till.payer.post(named, {"amount": 5, "x": 1})).refused("application_required", 403)
    (await carol.post(path, key="k")).refused("application_required", 403)
    (await till.payer.post(path, key="k", mode="live")).refused("application_required", 403)
    reading = {"name": "Reader", "mode": "test", "scopes": ["balance-payments:read"]}
    key = (await till.payer.dashboard("POST", "/api-keys", reading)).ok(201).body["api_key"]
    headers = {"X-API-Key": key, "Idempotency-Key": "k"}
    refused = await till.payer.anonymously("POST", INTEGRATION + path, {}, headers)
    refused.refused("missing_scope", 403)


async def test_a_public_client_captures_in_full_alone(alice: Actor, bob: Actor) -> None:
    """Its token is in the payer's hands, who must not get back what it has reserved or paid."""
    till = await open_till(alice, bob, client_type="public")
    paid, reserved = (await till.pay()).ok(201).body, await till.reserve()
    for action, payment in (("release", reserved), ("refund", paid)):
        (await till.act(payment, action)).refused("confidential_client_required", 403)
        (await till.post(f"/{uuid4()}/{action}")).refused("confidential_client_required", 403)
    for amount in ("0.01", "9.99"):
        (await till.act(reserved, "capture", amount)).refused("confidential_client_required", 403)
    (await till.act(reserved, "capture", "10.01")).refused("amount_above_maximum", 422)
    assert await till.purses() == (8_000, 1_000, 1_000)
    assert (await till.act(reserved, "capture", "10.00")).ok().body["status"] == "captured"
    for amount in (None, "10.00", "5.00"):
        (await till.act(reserved, "capture", amount)).refused("invalid_state", 409)
    assert (await till.act(await till.reserve(), "capture")).ok().body["captured_minor"] == 1_000
    assert await till.purses() == (7_000, 0, 3_000)


async def test_the_owner_of_a_public_client_settles_at_the_dashboard(alice: Actor, bob: Actor) -> None:
    till = await open_till(alice, bob, client_type="public")
    first, second, paid = await till.reserve(), await till.reserve(), (await till.pay()).ok(201).body
    assert (await till.as_owner(first, "capture", {"amount": "4.00"})).ok().body["captured_minor"] == 400
    assert (await till.as_owner(second, "release")).ok().body["status"] == "released"
    assert (await till.as_owner(paid, "refund")).ok().body["status"] == "refunded"
    (await till.as_owner(paid, "refund")).refused("invalid_state", 409)
    assert await till.purses() == (9_600, 0, 400)


async def test_the_owner_refunds_what_is_left(till: Till, mallory: Actor) -> None:
    paid = (await till.pay()).ok(201).body
    (await till.act(paid, "refund", "4.00")).ok()
    for somebody in (mallory, till.payer):
        (await till.as_owner(paid, "refund", by=somebody)).refused("not_found", 404)
    assert (await till.as_owner(paid, "refund")).ok().body["refunded_minor"] == 1_000
    assert await till.purses() == (10_000, 0, 0)
    spent = (await till.pay()).ok(201).body
    (await till.app.owner.dashboard("DELETE", f"/oauth/clients/{till.app.client_id}")).ok()
    await till.app.owner.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", till.app.owner.merchant_id)
    (await till.as_owner(spent, "refund")).refused("account_suspended", 403)
    await till.app.owner.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", till.app.owner.merchant_id)
    assert (await till.as_owner(spent, "refund")).ok().body["status"] == "refunded"


@pytest.mark.covers("P-100", "P-102")
async def test_a_reservation_outlives_the_connection(till: Till) -> None:
    reserved = await till.reserve()
    await disconnect(till)
    (await till.act(reserved, "capture")).refused("invalid_token", 401)
    assert await till.purses() == (9_000, 1_000, 0)
    till.token = (await till.app.connect(till.payer, SCOPES))["access_token"]
    assert (await till.act(reserved, "capture", "4.00")).ok().body["status"] == "captured"
    assert await till.purses() == (9_600, 0, 400)


@pytest.mark.covers("P-101")
@pytest.mark.parametrize("end", ["pause", "rotate", "expire", "disconnect", "disconnect all", "revoke token"])
async def test_no_end_of_a_connection_touches_it(till: Till, end: str) -> None:
    reserved = await till.reserve()
    owner, path = till.app.owner, f"/oauth/clients/{till.app.client_id}"
    version = (await owner.dashboard("GET", path)).ok().body["client"]["version"]
    [grant] = (await owner.dashboard("GET", f"{path}/connections")).ok().body["connections"]
    match end:
        case "pause":
            (await owner.dashboard("POST", f"{path}/status", {"enabled": False, "version": version})).ok()
        case "rotate":
            (await owner.dashboard("POST", f"{path}/rotate-secret", {"revoke_grants": True, "version": version})).ok()
        case "expire":
            await owner.sql("UPDATE oauth_grants SET expires_at = created_at WHERE id = $1::uuid", grant["grant_id"])
        case "disconnect":
            (await owner.dashboard("DELETE", f"{path}/connections/{grant['grant_id']}")).ok()
        case "disconnect all":
            (await owner.dashboard("DELETE", f"{path}/connections")).ok()
        case _:
            (await till.app.revoke(till.token)).ok()
    (await till.read(reserved)).refused("invalid_token", 401)
    assert (await till.payer.get(f"/balance-payments/{reserved['id']}")).ok().body == reserved
    assert await till.purses() == (9_000, 1_000, 0)
    captured = (await till.as_owner(reserved, "capture", {"amount": "4.00"})).ok().body
    assert (captured["status"], await till.purses()) == ("captured", (9_600, 0, 400))


@pytest.mark.covers("P-101")
async def test_a_revoked_application_can_only_release(till: Till) -> None:
    reserved = await till.reserve()
    (await till.app.owner.dashboard("DELETE", f"/oauth/clients/{till.app.client_id}")).ok()
    (await till.as_owner(reserved, "capture")).refused("application_revoked", 409)
    assert (await till.as_owner(reserved)).ok().body == reserved
    assert (await till.as_owner(reserved, "release")).ok().body["status"] == "released"
    assert await till.purses() == (10_000, 0, 0)


async def test_only_the_owner_is_the_owner(till: Till, mallory: Actor) -> None:
    reserved = await till.reserve()
    for somebody in (mallory, till.payer):
        (await till.as_owner(reserved, by=somebody)).refused("not_found", 404)
        for action in ("capture", "release"):
            (await till.as_owner(reserved, action, by=somebody)).refused("not_found", 404)
        listed = await somebody.dashboard("GET", f"/oauth/clients/{till.app.client_id}/balance-payments")
        listed.refused("not_found", 404)
    other = await application(till.app.owner)
    path = f"/oauth/clients/{other.client_id}/balance-payments"
    (await till.app.owner.dashboard("POST", f"{path}/{reserved['id']}/release", {})).refused("not_found", 404)
    for strange in ("thc_nobody", "%00"):
        path = f"/oauth/clients/{strange}/balance-payments"
        (await mallory.dashboard("GET", path)).refused("not_found", 404)
        (await mallory.dashboard("POST", f"{path}/{reserved['id']}/release", {})).refused("not_found", 404)
    assert await till.purses() == (9_000, 1_000, 0)


async def test_the_owners_list(till: Till, carol: Actor) -> None:
    first = await till.reserve()
    token = (await till.app.connect(carol, SCOPES))["access_token"]
    (await carol.post("/test/balances/fund", {"currency": "EUR", "amount": "5.00"})).ok(201)
    body = {"amount": "5.00", "currency": "EUR"}
    second = (await till.app.api(token, "POST", "/balance-payments", body, "k")).ok(201).body
    path = f"/oauth/clients/{till.app.client_id}/balance-payments"

    async def found(query: str = "") -> list[str]:
        return [
            balance_payment["id"]
            for balance_payment in (await till.app.owner.dashboard("GET", path + query)).ok().body["balance_payments"]
        ]

    assert await found() == [second["id"], first["id"]]
    assert await found("?status=reserved&mode=test") == [first["id"]]
    assert await found("?mode=live") == []
    assert await found("?limit=1&page=2") == [first["id"]]
    (await till.as_owner(first, "capture", {"amount": "0"})).field_errors()
    (await till.as_owner(first, "capture", {"amount": "10.01"})).refused("amount_above_maximum", 422)


async def test_nobody_captures_from_a_suspended_payer(till: Till) -> None:
    """Neither the application nor its owner. What is reserved can be released, and expires."""
    kept, freed, over = [await till.reserve() for _ in range(3)]
    await suspend(till.payer)
    (await till.act(kept, "capture")).refused("account_suspended", 403)
    (await till.as_owner(kept, "capture")).refused("payer_suspended", 409)
    page = f"/test/balance-payments/received/{till.app.client_id}/{kept['id']}"
    shown = await post(till.app.owner, f"{page}/capture", 409, amount="10.00")
    assert "The paying merchant is suspended." in shown.text
    with pytest.raises(asyncpg.CheckViolationError, match="suspended merchant"):
        await till.payer.sql(
            "UPDATE balance_payments SET status = 'captured', captured_minor = amount_minor, resolved_at = now()"
            " WHERE id = $1::uuid",
            kept["id"],
        )
    (await till.as_owner(freed, "release")).ok()
    await suspend(till.payer, suspended=False)
    assert (await till.act(kept, "capture")).ok().body["status"] == "captured"
    assert await till.purses() == (8_000, 1_000, 1_000)
    await let_expire(till.payer, over)
    assert (await till.read(over)).ok().body["status"] == "expired"


async def test_a_suspended_owner_only_reads(till: Till) -> None:
    reserved = await till.reserve()
    await till.app.owner.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", till.app.owner.merchant_id)
    for action in ("capture", "release"):
        (await till.as_owner(reserved, action)).refused("account_suspended", 403)
    assert (await till.as_owner(reserved)).ok().body == reserved
