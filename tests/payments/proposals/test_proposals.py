"""Proposals by API: what is proposed, decided and run, once."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor, application, suspend
from tests.payments.bank import purse, sell
from tests.payments.proposals.desk import BODIES, SCOPES, WITHDRAWAL, Desk
from tests.payments.shop import balance
from tollhouse.http.services import Services
from tollhouse.payments.proposals import jobs

COPY = """
    INSERT INTO proposals
        (id, merchant_id, mode, grant_id, api_key_id, operation, body, amount_minor, currency, created_at, expires_at)
    SELECT gen_random_uuid(), merchant_id, mode, grant_id, api_key_id, operation, body, amount_minor, currency,
           created_at - $2::interval, expires_at - $2::interval
    FROM proposals, generate_series(1, $3) WHERE id = $1::uuid RETURNING id::text
"""
"""The same, made so long before."""


@pytest.mark.parametrize("operation", [*BODIES, "refunds"])
async def test_an_approved_proposal_runs_once(desk: Desk, operation: str) -> None:
    body = BODIES.get(operation)
    if body is None:
        sold = await sell(desk.merchant)
        body = {"transaction_id": sold["id"], "amount": "4.00"}
    before = (await balance(desk.merchant))["available_minor"]
    proposal = await desk.propose(operation, body)
    assert (proposal["object"], proposal["status"], proposal["operation"]) == ("proposal", "waiting", operation)
    assert (proposal["body"], proposal["result"], proposal["error"]) == (body, None, None)
    assert (await balance(desk.merchant))["available_minor"] == before
    approved = (await desk.decide(proposal)).ok().body
    assert approved["status"] == "approved"
    assert approved["proposed_by"]["name"] == "Stall manager"
    assert approved["decided_by"] == desk.merchant.email
    assert (await balance(desk.merchant))["available_minor"] < before
    seen = await desk.read(proposal)
    assert (seen["status"], seen["error"], seen["result"]) == ("approved", None, approved["result"])
    paths = {"balance_payments": "balance-payments"}
    made = (await desk.merchant.get(f"/{paths.get(operation, operation)}/{seen['result']['id']}")).ok().body
    assert made["object"] == seen["result"]["object"]
    after = (await balance(desk.merchant))["available_minor"]
    (await desk.decide(proposal)).refused("invalid_state", 409)
    (await desk.decide(proposal, "reject")).refused("invalid_state", 409)
    (await desk.cancel(proposal)).refused("invalid_state", 409)
    assert (await balance(desk.merchant))["available_minor"] == after


async def test_a_rejected_or_canceled_proposal_never_runs(desk: Desk) -> None:
    rejected, canceled = await desk.propose(), await desk.propose()
    assert (await desk.decide(rejected, "reject")).ok().body["status"] == "rejected"
    assert (await desk.cancel(canceled)).ok().body["status"] == "canceled"
    for proposal, status in ((rejected, "rejected"), (canceled, "canceled")):
        refused = (await desk.decide(proposal)).refused("invalid_state", 409)
        assert refused.body["details"] == {"status": status}
    assert await purse(desk.merchant) == (10_000, 0, 0)


async def test_an_expired_proposal_does_not_wait_for_a_job(desk: Desk, services: Services) -> None:
    [proposal] = await desk.merchant.sql(COPY, (await desk.propose())["id"], timedelta(days=8), 1)
    assert (await desk.read(proposal))["status"] == "expired"
    (await desk.decide(proposal)).refused("invalid_state", 409)
    (await desk.cancel(proposal)).refused("invalid_state", 409)
    await jobs.store_ended(services)
    find = "SELECT status, ended_at = expires_at AS on_time FROM proposals WHERE id = $1::uuid"
    [row] = await desk.merchant.sql(find, proposal["id"])
    assert (row["status"], row["on_time"]) == ("expired", True)


async def test_what_the_operation_refuses_fails_and_moves_nothing(desk: Desk) -> None:
    proposal = await desk.propose(amount="60.00")
    (await desk.decide(await desk.propose(amount="60.00"))).ok()
    failed = (await desk.decide(proposal)).ok().body
    assert (failed["status"], failed["error"]["code"]) == ("failed", "insufficient_funds")
    assert failed["error"]["details"]["required_minor"] == 6_000
    assert (await desk.read(proposal))["error"] == failed["error"]
    available, reserved, _ = await purse(desk.merchant)
    assert (available, reserved) == (4_000, 6_000) or available == 4_000
    (await desk.decide(proposal)).refused("invalid_state", 409)


async def test_a_price_that_moved_beyond_the_bound_fails(desk: Desk) -> None:
    proposal = await desk.propose("conversions", min_to_amount="9999.00")
    failed = (await desk.decide(proposal)).ok().body
    assert (failed["status"], failed["error"]["code"]) == ("failed", "price_changed")
    assert await purse(desk.merchant) == (10_000, 0, 0)


async def test_what_costs_something_else_than_was_shown_fails(desk: Desk) -> None:
    another_price = COPY.replace(
        "body, amount_minor, currency,\n           created_at", "body, amount_minor - 1, currency,\n           created_at"
    )
    assert another_price != COPY
    [proposal] = await desk.merchant.sql(another_price, (await desk.propose("fulfillments"))["id"], timedelta(), 1)
    failed = (await desk.decide(proposal)).ok().body
    assert (failed["status"], failed["error"]["code"]) == ("failed", "price_changed")
    assert failed["error"]["details"]["currency"] == "EUR"
    assert await purse(desk.merchant) == (10_000, 0, 0)


async def test_what_moved_nothing_is_deleted_90_days_after_its_end(desk: Desk, services: Services) -> None:
    approved, rejected, waiting = await desk.propose(), await desk.propose(), await desk.propose()
    (await desk.decide(approved)).ok()
    (await desk.decide(rejected, "reject")).ok()
    move = "SET session_replication_role = replica; UPDATE proposals SET ended_at = ended_at - interval '{} days'"
    for days, left in ((89, [approved, rejected, waiting]), (2, [approved, waiting])):
        await aged(desk, move.format(days))
        await jobs.delete_old(services)
        listed = (await desk.api("GET", "/proposals")).ok().body["proposals"]
        assert {row["id"] for row in listed} == {row["id"] for row in left}


async def aged(desk: Desk, statements: str) -> None:
    """Run statements past all triggers."""
    raw = await asyncpg.connect(desk.merchant.service.dsn)
    await raw.execute(f"{statements} WHERE merchant_id = '{desk.merchant.merchant_id}' AND ended_at IS NOT NULL")
    await raw.close()


async def test_nonsense_is_refused_at_once(desk: Desk) -> None:
    nonsense: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        ("withdrawals", {"amount": "ten"}, {"body.amount": "invalid_amount"}),
        ("withdrawals", {"amout": "1.00"}, {"body.amout": "unknown_field"}),
        ("withdrawals", {"quote_id": str(uuid4())}, {"body.quote_id": "not_applicable"}),
        ("withdrawals", {"receiver": None, "recipient_id": str(uuid4())}, {"body.recipient_id": "unknown"}),
        ("withdrawals", {"description": "a\u202eb"}, {"body.description": "invalid_value"}),
        ("withdrawals", {"webhook_url": "ftp://x"}, {"body.webhook_url": "invalid_url"}),
        ("balance_payments", {"oauth_client_id": "thc_other"}, {"body.oauth_client_id": "invalid_value"}),
        ("conversions", {"to_currency": "EUR"}, {"body.to_currency": "same_currency"}),
        ("fulfillments", {"quantity": 0}, {"body.quantity": "invalid_value"}),
        ("refunds", {"transaction_id": str(uuid4())}, {"body.transaction_id": "unknown"}),
        ("refunds", {"transaction_id": "x"}, {"body.transaction_id": "invalid_value"}),
    ]
    for operation, changes, fields in nonsense:
        body = {} if operation == "refunds" else BODIES[operation]
        assert (await desk.request(operation, body, **changes)).field_errors() == fields, operation
    (await desk.request(method_id="moon:EUR")).refused("method_unavailable", 422)
    (await desk.request(amount="0.000001")).refused("validation_failed", 422)
    wholes: list[Any] = [{}, {"operation": "payouts", "body": {}}, {"operation": "withdrawals", "body": []}]
    for whole in [*wholes, {"operation": "refunds"}]:
        (await desk.api("POST", "/proposals", whole, str(uuid4()))).refused("validation_failed", 422)
    (await desk.api("POST", "/proposals", {"operation": "withdrawals", "body": WITHDRAWAL})).refused(
        "idempotency_key_required", 400
    )
    assert (await desk.api("GET", "/proposals")).ok().body["proposals"] == []


async def test_a_repeated_request_proposes_once(desk: Desk) -> None:
    first, again = await desk.request(key="one"), await desk.request(key="one")
    assert first.raw == again.raw
    (await desk.request(key="one", amount="11.00")).refused("idempotency_key_reused", 422)
    assert len((await desk.api("GET", "/proposals")).ok().body["proposals"]) == 1


async def test_each_operation_needs_its_write_scope(desk: Desk) -> None:
    tokens = await desk.app.connect(desk.merchant, "account:read conversions:write")
    narrow = Desk(desk.app, desk.merchant, tokens)
    needed = {"withdrawals": "withdrawals:write", "fulfillments": "fulfillments:write", "refunds": "payments:write"}
    for operation, scope in {**needed, "balance_payments": "balance-payments:write"}.items():
        refused = (await narrow.request(operation, BODIES.get(operation, {}))).refused("missing_scope", 403)
        assert refused.body["scope"] == scope
    await narrow.propose("conversions")


async def test_only_its_own_connection_or_key_sees_a_proposal(desk: Desk, carol: Actor) -> None:
    proposal = await desk.propose()
    twin = Desk(desk.app, desk.merchant, await desk.app.connect(desk.merchant, SCOPES))
    stranger = await application(carol)
    other = Desk(stranger, desk.merchant, await stranger.connect(desk.merchant, SCOPES))
    path = f"/proposals/{proposal['id']}"
    for outsider in (twin, other):
        (await outsider.api("GET", path)).refused("not_found", 404)
        (await outsider.cancel(proposal)).refused("not_found", 404)
        assert (await outsider.api("GET", "/proposals")).ok().body["proposals"] == []
    for actor, mode in ((desk.merchant, "test"), (desk.merchant, "live"), (carol, "test")):
        (await actor.get(path, mode=mode)).refused("not_found", 404)
        (await actor.call("POST", f"{path}/cancel", {}, mode=mode)).refused("not_found", 404)
    for decision in ("approve", "reject"):
        (await carol.dashboard("POST", f"{path}/{decision}", {})).refused("not_found", 404)
    assert (await carol.dashboard("GET", "/proposals")).ok().body["proposals"] == []
    by_key = (await desk.merchant.post("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL}, key="k")).ok(201).body
    (await desk.api("GET", f"/proposals/{by_key['id']}")).refused("not_found", 404)
    assert (await desk.seen(by_key))["proposed_by"]["object"] == "api_key"
    assert (await desk.read(proposal))["status"] == "waiting"


async def test_a_credential_cannot_decide(desk: Desk) -> None:
    proposal = await desk.propose()
    for headers in ({"Authorization": f"Bearer {desk.tokens['access_token']}"}, {"X-API-Key": await desk.merchant.key()}):
        for decision in ("approve", "reject"):
            path = f"/api/v2/merchant/proposals/{proposal['id']}/{decision}"
            (await desk.merchant.anonymously("POST", path, {}, headers)).refused("authentication_required", 401)


async def test_at_most_100_wait(desk: Desk) -> None:
    await desk.merchant.sql(COPY, (await desk.propose())["id"], timedelta(), 98)
    await desk.merchant.sql(COPY, (await desk.propose())["id"], timedelta(days=8), 5)
    (await desk.request()).refused("too_many_proposals", 409)
    (await desk.merchant.post("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL}, key="k")).ok(201)
    (await desk.cancel((await desk.api("GET", "/proposals?status=waiting")).ok().body["proposals"][0])).ok()
    await desk.propose()


async def test_what_was_canceled_with_its_permission_waits_no_more(desk: Desk) -> None:
    await desk.merchant.sql(COPY, (await desk.propose())["id"], timedelta(), 99)
    path = f"/oauth/grants/{(await desk.grant())['grant_id']}"
    scopes = [scope for scope in (await desk.grant())["scopes"] if scope != "withdrawals:write"]
    (await desk.merchant.dashboard("PATCH", path, {"scopes": scopes})).ok()
    await desk.propose("conversions")


async def test_a_recipient_of_another_method_is_refused_at_once(desk: Desk) -> None:
    body = {"name": "Nina", "method_id": "sandbox:USD", "receiver": "Nina's account"}
    nina = (await desk.merchant.post("/withdrawal-recipients", body, key="nina")).ok(201).body
    refused = await desk.request(receiver=None, recipient_id=nina["id"])
    assert refused.field_errors() == {"body.method_id": "recipient_mismatch"}


async def test_the_merchants_list_is_filtered(desk: Desk) -> None:
    waiting, canceled = await desk.propose(), await desk.propose()
    (await desk.cancel(canceled)).ok()

    async def listed(query: str) -> list[str]:
        found = (await desk.merchant.dashboard("GET", f"/proposals?{query}")).ok().body["proposals"]
        return [row["id"] for row in found]

    assert await listed("") == [canceled["id"], waiting["id"]]
    assert await listed("status=waiting") == [waiting["id"]]
    assert await listed("status=canceled&mode=test") == [canceled["id"]]
    assert await listed("mode=live") == []
    assert [row["id"] for row in (await desk.api("GET", "/proposals?status=canceled")).ok().body["proposals"]] == [
        canceled["id"]
    ]


async def test_a_suspended_merchant_decides_nothing(desk: Desk) -> None:
    proposal = await desk.propose()
    await suspend(desk.merchant)
    (await desk.decide(proposal)).refused("account_suspended", 403)
    (await desk.request()).refused("account_suspended", 403)
    await suspend(desk.merchant, suspended=False)
    assert (await desk.read(proposal))["status"] == "canceled"
