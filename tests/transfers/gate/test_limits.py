"""Limits of API keys and connections: what they let pass, what they refuse, and what is given back."""

from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import INTEGRATION, Actor, Answer, Application, application
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse, sell
from tests.transfers.balance_payments.till import SCOPES
from tests.transfers.withdrawals.steps import TO_NINA, fund
from tollhouse.accounts.spending.model import Limit, Limits

GEMS = {"product_id": "sandbox:gems", "quantity": 10, "recipient": {"player_id": "p-1"}}
EUROS = {"currency": "EUR"}


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


class Key:
    """An API key of a merchant with limits."""

    def __init__(self, actor: Actor, made: dict[str, Any]) -> None:
        self.actor, self.made = actor, made

    async def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Answer:
        """A POST with this key."""
        headers = {"X-API-Key": self.made["api_key"], "Idempotency-Key": key or str(uuid4())}
        return await self.actor.anonymously("POST", INTEGRATION + path, body, headers)

    async def account(self) -> dict[str, Any]:
        """GET /account with this key."""
        headers = {"X-API-Key": self.made["api_key"]}
        return (await self.actor.anonymously("GET", f"{INTEGRATION}/account", headers=headers)).ok().body

    async def remaining(self) -> dict[str, Any]:
        """The one limit with what is left of it."""
        [limit] = (await self.account())["limits"]
        return limit


async def new_key(actor: Actor, *limits: dict[str, Any], **members: Any) -> Key:
    """A test key with these limits."""
    body = {"name": "Till", "mode": "test", "limits": list(limits), **members}
    return Key(actor, (await actor.dashboard("POST", "/api-keys", body)).ok(201).body)


def beyond(answer: Answer) -> dict[str, Any]:
    """The details of the refusal."""
    return answer.refused("connection_limit_exceeded", 403).body["details"]


def withdrawals(**amounts: str) -> dict[str, Any]:
    """A limit of withdrawals in euros."""
    return {"kind": "withdrawals", "currency": "EUR", **amounts}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"limits": [withdrawals(per_day="0.00")]}, {"limits.0.per_day": "invalid_amount"}),
        ({"limits": [withdrawals(per_month="1.005")]}, {"limits.0.per_month": "invalid_amount"}),
        ({"limits": [{"kind": "refunds", "currency": "XXX"}]}, {"limits.0.currency": "invalid_currency"}),
        ({"limits": [withdrawals(), withdrawals()]}, {"limits.1.currency": "duplicate"}),
        ({"limits": [{"kind": "payouts", "currency": "EUR"}]}, {"limits.0.kind": "invalid_value"}),
        ({"limits": [withdrawals(per_week="1.00")]}, {"limits.0.per_week": "unknown_field"}),
        ({"limits": [withdrawals()] * 51}, {"limits": "too_many"}),
        ({"recipients": [str(uuid4())]}, {"recipients": "invalid_value"}),
        ({"allowed_networks": ["10.0.0.1/8"]}, {"allowed_networks.0": "invalid_network"}),
        ({"allowed_networks": ["203.0.113.0/24", "fe80::1%eth0"]}, {"allowed_networks.1": "invalid_network"}),
        ({"allowed_networks": ["::/0"] * 21}, {"allowed_networks": "too_many"}),
    ],
)
async def test_a_limit_that_is_none_is_refused(alice: Actor, members: dict[str, Any], expected: dict[str, str]) -> None:
    answer = await alice.dashboard("POST", "/api-keys", {"name": "Till", "mode": "test", **members})
    assert answer.field_errors().items() >= expected.items()


async def test_a_withdrawal_counts_from_its_hold_and_is_given_back(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, withdrawals(per_transaction="15.00", per_day="20.00"))
    assert key.made["limits"][0]["per_day_minor"] == 2_000
    too_much = await key.post("/withdrawals", TO_NINA | {"amount": "15.01"})
    assert beyond(too_much) == {
        "kind": "withdrawals",
        "currency": "EUR",
        "period": "transaction",
        "limit_minor": 1_500,
        "remaining_minor": 1_500,
        "resets_at": None,
        "reason": "amount",
    }
    assert await purse(alice) == (10_000, 0, 0)
    first = (await key.post("/withdrawals", TO_NINA | {"amount": "15.00"})).ok(201).body
    assert (await key.remaining())["per_day_remaining"] == "5.00"
    refused = beyond(await key.post("/withdrawals", TO_NINA | {"amount": "5.01"}))
    assert (refused["period"], refused["limit_minor"], refused["remaining_minor"]) == ("day", 2_000, 500)
    assert refused["resets_at"] > first["created_at"]
    (await key.post("/withdrawals", TO_NINA | {"amount": "5.00"})).ok(201)
    (await key.post(f"/withdrawals/{first['id']}/cancel", {})).ok()
    assert (await key.remaining())["per_day_remaining_minor"] == 1_500
    assert await purse(alice) == (9_500, 500, 0)


async def test_a_refused_key_is_released_and_a_repetition_counts_once(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, withdrawals(per_day="10.00"))
    (await key.post("/withdrawals", TO_NINA, "once")).ok(201)
    assert (await key.post("/withdrawals", TO_NINA, "once")).ok(201).headers["Idempotency-Replayed"] == "true"
    assert (await key.remaining())["per_day_remaining_minor"] == 0
    beyond(await key.post("/withdrawals", TO_NINA, "again"))
    await alice.sql(
        "UPDATE limit_uses SET used_at = used_at - interval '24 hours' WHERE spender = $1", key.made["api_key_id"]
    )
    (await key.post("/withdrawals", TO_NINA, "again")).ok(201)


async def test_days_and_months_slide(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, withdrawals(per_day="10.00", per_month="25.00"))
    for advance in (0, 24 * 3_600):
        (await alice.post("/test/clock/advance", {"seconds": advance})).ok() if advance else None
        (await key.post("/withdrawals", TO_NINA)).ok(201)
    assert beyond(await key.post("/withdrawals", TO_NINA | {"amount": "0.01"}))["period"] == "day"
    (await alice.post("/test/clock/advance", {"seconds": 24 * 3_600})).ok()
    assert beyond(await key.post("/withdrawals", TO_NINA))["period"] == "month"
    (await key.post("/withdrawals", TO_NINA | {"amount": "5.00"})).ok(201)
    (await alice.post("/test/clock/advance", {"seconds": 28 * 24 * 3_600})).ok()
    (await key.post("/withdrawals", TO_NINA)).ok(201)


async def test_a_listed_kind_forbids_other_currencies_and_others_stay_free(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, {"kind": "withdrawals", "currency": "USD"})
    refused = beyond(await key.post("/withdrawals", TO_NINA))
    assert (refused["reason"], refused["limit_minor"], refused["resets_at"]) == ("currency", 0, None)
    (await key.post("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"})).ok(201)
    (await key.post("/fulfillments", GEMS)).ok(201)


async def test_conversions_count_in_what_is_given(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, {"kind": "conversions", "currency": "EUR", "per_day": "10.00"})
    body = {"from_currency": "EUR", "to_currency": "USD"}
    quoted = (await key.post("/conversion-quotes", body | {"amount": "6.00"})).ok(201).body
    (await key.post("/conversions", {"quote_id": quoted["id"]})).ok(201)
    assert beyond(await key.post("/conversions", body | {"amount": "4.01"}))["remaining_minor"] == 400
    (await key.post("/conversions", body | {"amount": "4.00"})).ok(201)
    rule = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"}
    assert beyond(await key.post("/conversion-rules", rule))["reason"] == "standing_order"


async def test_fulfillments_give_back_what_was_not_delivered(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, {"kind": "fulfillments", "currency": "EUR", "per_day": "100.00"})
    ordered = (await key.post("/fulfillments", GEMS)).ok(201).body
    assert (await key.remaining())["per_day_remaining_minor"] == 10_000 - ordered["cost_minor"]
    done = (await key.post(f"/test/fulfillments/{ordered['id']}/simulate", {"outcome": "partial"})).ok().body
    assert 0 < done["charged_minor"] < ordered["cost_minor"]
    assert (await key.remaining())["per_day_remaining_minor"] == 10_000 - done["charged_minor"]
    canceled = (await key.post("/fulfillments", GEMS)).ok(201).body
    (await key.post(f"/fulfillments/{canceled['id']}/cancel", {})).ok()
    assert (await key.remaining())["per_day_remaining_minor"] == 10_000 - done["charged_minor"]


async def test_a_refund_counts_and_to_another_receiver_it_is_a_withdrawal_too(alice: Actor) -> None:
    sold = await sell(alice)
    path = f"/transactions/{sold['id']}/refunds"
    refunds = {"kind": "refunds", "currency": "EUR", "per_day": "5.00"}
    key = await new_key(alice, refunds, withdrawals(per_day="1.00"))
    assert beyond(await key.post(path, {"amount": "5.01"}))["kind"] == "refunds"
    refused = beyond(await key.post(path, {"amount": "1.01", "receiver": "Nina's account"}))
    assert (refused["kind"], refused["remaining_minor"]) == ("withdrawals", 100)
    made = (await key.post(path, {"amount": "1.00", "receiver": "Nina's account"})).ok(201).body
    [first, second] = (await key.account())["limits"]
    assert (first["per_day_remaining_minor"], second["per_day_remaining_minor"]) == (400, 0)
    (await key.post(f"/test/refunds/{made['id']}/simulate", {"outcome": "fail"})).ok()
    [first, second] = (await key.account())["limits"]
    assert (first["per_day_remaining_minor"], second["per_day_remaining_minor"]) == (500, 100)


async def test_only_to_the_recipients_that_are_listed(alice: Actor) -> None:
    await fund(alice)
    body = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Nina's account"}
    nina = (await alice.post("/withdrawal-recipients", body, key="nina")).ok(201).body
    key = await new_key(alice, recipients=[nina["id"]])
    assert key.made["recipients"] == [nina["id"]]
    (await key.post("/withdrawals", TO_NINA)).ok(201)
    assert beyond(await key.post("/withdrawals", TO_NINA | {"receiver": "Mallory's account"}))["reason"] == "recipient"
    other = {"name": "Mallory", "method_id": "sandbox:EUR", "receiver": "Mallory's account"}
    (await key.post("/withdrawal-recipients", other)).ok(201)
    assert beyond(await key.post("/withdrawals", TO_NINA | {"receiver": "Mallory's account"}))["reason"] == "recipient"
    weekly = {"recipient_id": nina["id"], "frequency": "weekly", "day": 1, "amount": "1.00"}
    assert beyond(await key.post("/withdrawal-schedules", weekly))["reason"] == "standing_order"
    batch = {"items": [TO_NINA, TO_NINA | {"receiver": "Mallory's account"}]}
    before = await purse(alice)
    beyond(await key.post("/withdrawal-batches", batch))
    assert await purse(alice) == before


async def test_a_batch_counts_each_withdrawal(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, withdrawals(per_day="20.00"))
    refused = await key.post("/withdrawal-batches", {"items": [TO_NINA] * 3})
    assert beyond(refused)["remaining_minor"] == 0
    assert refused.body["error_description"] == "This exceeds what is left in 24 hours: 0.00 of 20.00 EUR."
    assert (await key.remaining())["per_day_remaining_minor"] == 2_000
    (await key.post("/withdrawal-batches", {"items": [TO_NINA] * 2})).ok(201)
    assert (await key.remaining())["per_day_remaining_minor"] == 0


async def test_nothing_moves_after_the_limits_expire(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, expires_at="2999-01-01T00:00:00Z")
    made = (await key.post("/withdrawals", TO_NINA)).ok(201).body
    await alice.sql(
        """UPDATE api_keys SET limits = jsonb_set(limits, '{expires_at}', '"2026-01-01T00:00:00Z"') WHERE id = $1::uuid""",
        key.made["api_key_id"],
    )
    for path, body in (
        ("/withdrawals", TO_NINA),
        ("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"}),
        ("/fulfillments", GEMS),
    ):
        assert beyond(await key.post(path, body))["reason"] == "expired"
    assert (await key.account())["limits_expire_at"] == "2026-01-01T00:00:00.000Z"
    (await key.post(f"/withdrawals/{made['id']}/cancel", {})).ok()


async def connect(bob: Actor, alice: Actor, count: int, *limits: Limit) -> tuple[Application, list[str]]:
    """Tokens of so many connections of an application with these limits."""
    app = await application(bob)
    tokens = [(await app.connect(alice, f"{SCOPES} withdrawals:write account:read"))["access_token"] for _ in range(count)]
    await alice.sql(
        "UPDATE oauth_grants SET limits = $2::jsonb WHERE client_id = $1", app.client_id, Limits(limits=limits).stored
    )
    return app, tokens


async def test_all_connections_of_an_application_share_its_limits(alice: Actor, bob: Actor) -> None:
    await fund(alice)
    limit = Limit(kind="balance_payments", currency="EUR", per_day_minor=1_500)
    app, [one, other] = await connect(bob, alice, 2, limit)
    body = {"amount": "10.00", "currency": "EUR"}
    reserved = (await app.api(one, "POST", "/balance-payments", body | {"capture": False}, "1")).ok(201).body
    assert beyond(await app.api(other, "POST", "/balance-payments", body, "2"))["remaining_minor"] == 500
    path = f"/balance-payments/{reserved['id']}"
    (await app.api(one, "POST", f"{path}/capture", {"amount": "4.00"}, "3")).ok()
    account = (await app.api(other, "GET", "/account")).ok().body
    assert account["limits"][0]["per_day_remaining"] == "11.00"
    (await app.api(one, "POST", f"{path}/refund", {}, "4")).ok()
    account = (await app.api(other, "GET", "/account")).ok().body
    assert account["limits"][0]["per_day_remaining"] == "11.00"
    await alice.sql("UPDATE oauth_grants SET limits = NULL WHERE id = $1::uuid", account["oauth_grant_id"])
    (await app.api(other, "POST", "/balance-payments", body, "5")).ok(201)
    assert beyond(await app.api(one, "POST", "/balance-payments", body, "6"))["remaining_minor"] == 100


async def test_the_database_refuses_what_was_not_counted(alice: Actor) -> None:
    await fund(alice)
    key = await new_key(alice, {"kind": "conversions", "currency": "EUR", "per_day": "10.00"})
    body = {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"}
    made = (await alice.post("/conversions", body, key="free")).ok(201).body
    copy = """
        INSERT INTO conversions SELECT (jsonb_populate_record(c, jsonb_build_object(
            'id', gen_random_uuid(), 'credential_id', $2::text))).* FROM conversions c WHERE id = $1::uuid
    """
    with pytest.raises(asyncpg.SerializationError, match="counts towards its limits"):
        await alice.sql(copy, made["id"], key.made["api_key_id"])
    with pytest.raises(asyncpg.CheckViolationError, match="of its merchant and mode"):
        await alice.sql(copy, made["id"], str(uuid4()))
    for wrong in (
        '{"limits": [], "recipients": null, "expires_at": null}',
        '{"limits": [{"kind": "tips", "currency": "EUR"}], "recipients": null, "expires_at": null}',
        '{"limits": [{"kind": "refunds", "currency": "EUR", "per_day_minor": 0}], "recipients": null, "expires_at": null}',
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="api_keys_limits"):
            await alice.sql("UPDATE api_keys SET limits = $2::jsonb WHERE id = $1::uuid", key.made["api_key_id"], wrong)


@pytest.mark.parametrize(("networks", "allowed"), [(["127.0.0.0/8"], True), (["203.0.113.0/24", "::/0"], False)])
async def test_a_key_is_refused_from_other_networks(alice: Actor, networks: list[str], *, allowed: bool) -> None:
    key = await new_key(alice, allowed_networks=networks)
    assert key.made["allowed_networks"] == networks
    answer = await alice.anonymously("GET", f"{INTEGRATION}/account", headers={"X-API-Key": key.made["api_key"]})
    answer.ok() if allowed else answer.refused("network_not_allowed", 403)
