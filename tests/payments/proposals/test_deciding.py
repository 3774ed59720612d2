"""Credentials that may only propose; the sign-in, the audit log and the emails of decisions."""

from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import INTEGRATION, Actor, Answer
from tests.payments.bank import purse, sell
from tests.payments.proposals.desk import BODIES, WITHDRAWAL, Desk

CONVERSION = {"operation": "conversions", "body": BODIES["conversions"]}


async def key_that_proposes(actor: Actor) -> dict[str, str]:
    """The header of a key of the test environment that may only propose."""
    body = {"name": "Agent", "mode": "test", "proposals_only": True}
    made = (await actor.dashboard("POST", "/api-keys", body)).ok(201).body
    return {"X-API-Key": made["api_key"]}


async def test_a_key_that_may_only_propose_moves_nothing(desk: Desk) -> None:
    alice, sold = desk.merchant, await sell(desk.merchant)
    headers = await key_that_proposes(alice)
    before = await purse(alice)

    async def send(path: str, body: Any, method: str = "POST") -> Answer:
        return await alice.anonymously(method, INTEGRATION + path, body, headers | {"Idempotency-Key": str(uuid4())})

    direct: dict[str, Any] = {
        "/withdrawals": WITHDRAWAL,
        "/withdrawal-batches": {"items": [WITHDRAWAL]},
        "/withdrawal-schedules": {},
        f"/transactions/{sold['id']}/refunds": {"amount": "1.00"},
        "/balance-payments": {"amount": "1.00", "currency": "EUR", "oauth_client_id": desk.app.client_id},
        "/conversions": BODIES["conversions"],
        "/conversion-rules": {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"},
        "/fulfillments": BODIES["fulfillments"],
    }
    for path, body in direct.items():
        (await send(path, body)).refused("proposal_required", 403)
    (await send(f"/conversion-rules/{uuid4()}", {}, "PUT")).refused("proposal_required", 403)
    assert await purse(alice) == before
    proposed = (await send("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL})).ok(201).body
    assert (await desk.decide(proposed)).ok().body["status"] == "approved"
    assert (await purse(alice))[0] == before[0] - 1_000


@pytest.mark.parametrize("operation", BODIES)
async def test_a_connection_that_may_only_propose_runs_what_is_approved(desk: Desk, operation: str) -> None:
    await desk.merchant.sql("UPDATE oauth_grants SET proposals_only = true WHERE client_id = $1", desk.app.client_id)
    path = f"/{operation.replace('_', '-')}"
    (await desk.api("POST", path, BODIES[operation], "k")).refused("proposal_required", 403)
    proposed = await desk.propose(operation)
    assert (await desk.decide(proposed)).ok().body["status"] == "approved"


async def test_an_approval_counts_toward_no_limit_of_the_connection(desk: Desk) -> None:
    limit = '{"kind": "withdrawals", "currency": "EUR", "per_day_minor": 500}'
    limits = f'{{"limits": [{limit}], "recipients": null, "expires_at": null}}'
    await desk.merchant.sql("UPDATE oauth_grants SET limits = $2::jsonb WHERE client_id = $1", desk.app.client_id, limits)
    (await desk.api("POST", "/withdrawals", WITHDRAWAL, "a")).refused("connection_limit_exceeded", 403)
    assert (await desk.decide(await desk.propose())).ok().body["status"] == "approved"
    (await desk.api("POST", "/withdrawals", WITHDRAWAL | {"amount": "5.00"}, "b")).ok(201)
    (await desk.api("POST", "/withdrawals", WITHDRAWAL | {"amount": "1.00"}, "c")).refused("connection_limit_exceeded", 403)


async def test_the_database_refuses_what_only_proposes(desk: Desk) -> None:
    made = (await desk.api("POST", "/conversions", BODIES["conversions"], "k")).ok(201).body
    await desk.merchant.sql("UPDATE oauth_grants SET proposals_only = true WHERE client_id = $1", desk.app.client_id)
    [names] = await desk.merchant.sql(
        "SELECT string_agg(column_name, ', ') AS all FROM information_schema.columns"
        " WHERE table_name = 'conversions' AND column_name NOT IN ('id', 'external_id')"
    )
    copy = f"INSERT INTO conversions (id, {names['all']}) SELECT gen_random_uuid(), {names['all']} FROM conversions WHERE id = $1::uuid"  # noqa: S608, E501
    with pytest.raises(asyncpg.CheckViolationError, match="may only propose"):
        await desk.merchant.sql(copy, made["id"])


async def test_deciding_in_live_mode_needs_a_recent_sign_in(alice: Actor) -> None:
    first, second = [(await alice.post("/proposals", CONVERSION, key=str(n), mode="live")).ok(201).body for n in range(2)]
    in_test = (await alice.post("/proposals", CONVERSION, key="t")).ok(201).body
    await grow_old(alice)
    for decision in ("approve", "reject"):
        path = f"/proposals/{first['id']}/{decision}"
        (await alice.dashboard("POST", path, {})).refused("recent_authentication_required", 403)
        answer = await alice.form(f"/live/proposals/{first['id']}/{decision}", {})
        answer.refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", f"/proposals/{in_test['id']}/reject", {})).ok()
    for proposal in (first, second):
        [row] = await alice.sql("SELECT status FROM proposals WHERE id = $1::uuid", proposal["id"])
        assert row["status"] == "waiting"


async def test_one_email_while_proposals_wait(alice: Actor) -> None:
    find = "SELECT facts::text AS facts FROM mails WHERE about = 'proposal_waiting' AND recipient = $1"
    first = (await alice.post("/proposals", CONVERSION, key="1", mode="live")).ok(201).body
    (await alice.post("/proposals", CONVERSION, key="2", mode="live")).ok(201)
    (await alice.post("/proposals", CONVERSION, key="3")).ok(201)
    [mail] = await alice.sql(find, alice.email)
    assert f'"subject": "{first["id"]}"' in mail["facts"]
    assert "10.00" in mail["facts"]
    for n in range(5):
        made = (await alice.post("/proposals", CONVERSION, key=f"more-{n}", mode="live")).ok(201).body
        (await alice.call("POST", f"/proposals/{made['id']}/cancel", {}, mode="live")).ok()
    assert len(await alice.sql(find, alice.email)) == 1


async def test_the_audit_log_has_proposer_decision_and_result(desk: Desk) -> None:
    approved = (await desk.decide(await desk.propose())).ok().body
    (await desk.decide(await desk.propose(), "reject")).ok()
    rows = await desk.merchant.sql(
        "SELECT deed, author_kind, changed::text AS changed FROM audit_lines WHERE merchant_id = $1::uuid"
        " AND (deed LIKE 'proposal.%' OR deed = 'withdrawal.requested') ORDER BY created_at, id",
        desk.merchant.merchant_id,
    )
    assert sorted((row["deed"], row["author_kind"]) for row in rows) == [
        ("proposal.approved", "person"),
        ("proposal.made", "application"),
        ("proposal.made", "application"),
        ("proposal.rejected", "person"),
        ("withdrawal.requested", "person"),
    ]
    [decided] = [row["changed"] for row in rows if row["deed"] == "proposal.approved"]
    assert approved["result"]["id"] in decided
    assert approved["proposed_by"]["id"] in decided
