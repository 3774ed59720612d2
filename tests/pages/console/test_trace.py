"""`tollhouse trace` tells what happened to an object of any merchant, or by a request, in order of time."""

import asyncio
import time
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.cast import INTEGRATION, Actor
from tests.command import tollhouse
from tests.payments.shop import choose, open_link, simulate
from tests.receiver import Receiver
from tests.transfers.withdrawals.steps import asked, fund
from tests.webhooks.request_log.reading import all_written
from tollhouse.http.services import Services
from tollhouse.instance.trace import history_store as trace_history_store
from tollhouse.instance.trace import store as trace_store
from tollhouse.kernel.ids import new_id, new_id_text
from tollhouse.platform.database.pool import Tx

WITHIN_S = 30
SECRETS = ("th_test_", "whsec_", "Nina", "order")


async def trace(actor: Actor, named: str) -> list[dict[str, Any]]:
    """The entries of the story."""
    outcome = await tollhouse(actor.service, "trace", named, "--json")
    assert outcome.status == 0, outcome.talk
    return outcome.json["entries"]


async def activate_secret(actor: Actor) -> None:
    """Have webhooks signed and sent."""
    for step in ("generate", "activate"):
        (await actor.dashboard("POST", f"/webhook-secret/{step}", {"mode": "test"})).ok()


async def sent(actor: Actor, attempts: int) -> None:
    """As soon as so many attempts are recorded."""
    until = time.monotonic() + WITHIN_S
    statement = """
        SELECT count(*) AS count FROM webhook_attempts a JOIN webhook_events e ON e.id = a.event_id
        WHERE e.merchant_id = $1::uuid
    """
    while (await actor.sql(statement, actor.merchant_id))[0]["count"] < attempts:
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


async def request(actor: Actor, method: str, path: str, body: Any = None, **headers: str) -> tuple[Any, str]:
    """The body of a response, and the ID of its request."""
    answer = await actor.anonymously(method, f"{INTEGRATION}{path}", body, {"X-API-Key": await actor.key()} | headers)
    assert answer.status < 300, answer.text
    return answer.body, answer.headers["X-Request-Id"]


async def sold(actor: Actor, receiver: Receiver) -> dict[str, str]:
    """A payment, refunded in part, whose first delivery failed: the IDs of its objects and requests."""
    answers = iter([500])

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=next(answers, 200), text="Nina's order")

    receiver.answer = answer
    await activate_secret(actor)
    link, made = await request(
        actor, "POST", "/payment-links",
        {"display_name": "For Nina", "amount": "4.20", "currency": "EUR", "webhook_url": receiver.url},
    )  # fmt: skip
    payment, paid = await request(actor, "POST", f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})
    refund, refunded = await request(
        actor, "POST", f"/transactions/{payment['id']}/refunds", {"amount": "1.20"}, **{"Idempotency-Key": new_id_text()}
    )
    return {
        "link": link["id"], "made": made, "payment": payment["id"], "paid": paid, "refund": refund["id"],
        "refunded": refunded,
    }  # fmt: skip


def of_kind(entries: list[dict[str, Any]], kind: str) -> list[str]:
    """What entries of a kind say."""
    return [entry["summary"] for entry in entries if entry["kind"] == kind]


async def test_the_story_of_a_payment(alice: Actor, receiver: Receiver) -> None:
    ids = await sold(alice, receiver)
    too_much = await alice.post(f"/transactions/{ids['payment']}/refunds", {"amount": "100.00"}, key="too-much")
    assert too_much.status == 422
    await all_written(alice, 4)
    await sent(alice, 3)
    entries = await trace(alice, ids["payment"])
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    requests = {entry["id"]: entry["summary"] for entry in entries if entry["kind"] == "request"}
    assert list(requests)[:3] == [ids["made"], ids["paid"], ids["refunded"]]
    made, paid, refunded, refused = requests.values()
    assert made.startswith("POST /payment-links 201, ")
    assert paid.startswith(f"POST /test/payment-links/{ids['link']}/simulate 200, ")
    assert refunded.startswith(f"POST /transactions/{ids['payment']}/refunds 201, ")
    assert refused.startswith(f"POST /transactions/{ids['payment']}/refunds 422 {too_much.body['error']}, ")
    objects = {entry["id"]: entry["summary"] for entry in entries if entry["kind"] == "object"}
    assert list(objects) == [ids["link"], ids["payment"], ids["refund"]]
    assert objects[ids["refund"]].startswith("refund 1.20 EUR created")
    assert f"test, merchant {alice.merchant_id}" in objects[ids["payment"]]
    assert {"transaction pending", "transaction succeeded"} <= set(of_kind(entries, "status"))
    assert any(entry.startswith("sandbox confirmed 4.20 EUR: ") for entry in of_kind(entries, "rail"))
    assert "payment 4.20 EUR: debit rail:sandbox, credit available" in of_kind(entries, "ledger")
    assert "hold 1.20 EUR: debit available, credit reserved" in of_kind(entries, "ledger")
    events = {(entry["summary"].split(",")[0], entry["request_id"]) for entry in entries if entry["kind"] == "event"}
    assert {
        ("payment.succeeded", ids["paid"]),
        ("balance.updated", ids["paid"]),
        ("balance.updated", ids["refunded"]),
    } <= events
    assert len([entry for entry in of_kind(entries, "attempt") if entry.startswith("attempt 1 failed, http_500, ")]) == 1
    assert any(entry.startswith("refund.requested by api_key ") for entry in of_kind(entries, "audit"))
    text = msgspec.json.encode(entries).decode()
    assert [secret for secret in SECRETS if secret in text] == []


@pytest.mark.long
async def test_every_part_of_a_story_leads_to_it(alice: Actor, receiver: Receiver) -> None:
    ids = await sold(alice, receiver)
    await all_written(alice, 3)
    await sent(alice, 3)
    [event] = await alice.sql(
        "SELECT id FROM webhook_events WHERE merchant_id = $1::uuid AND type = 'balance.updated' ORDER BY id LIMIT 1",
        alice.merchant_id,
    )
    [entry] = await alice.sql(
        "SELECT id, transaction_id FROM ledger_entries WHERE merchant_id = $1::uuid ORDER BY created_at LIMIT 1",
        alice.merchant_id,
    )
    for named in (*ids.values(), str(event["id"]), str(entry["id"]), str(entry["transaction_id"])):
        entries = await trace(alice, named)
        assert ids["payment"] in {entry["id"] for entry in entries} or named == ids["made"]
        assert ids["link"] in {entry["id"] for entry in entries}
        assert any(entry["kind"] == "attempt" for entry in entries)


@pytest.mark.long
async def test_a_request_is_found_by_the_id_that_its_caller_chose(alice: Actor) -> None:
    chosen = new_id_text()
    link = await open_link(alice)
    headers = {"X-Request-Id": chosen}
    payment, answered = await request(
        alice, "POST", f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"}, **headers
    )
    assert answered == chosen
    await all_written(alice, 2)
    entries = await trace(alice, chosen)
    assert payment["id"] in {entry["id"] for entry in entries}
    [described] = [entry for entry in of_kind(entries, "request") if chosen in entry]
    assert described.endswith(f", X-Request-Id {chosen}")
    _, answered = await request(alice, "GET", "/balances")
    await all_written(alice, 3)
    assert [entry.split(",")[0] for entry in of_kind(await trace(alice, answered), "request")] == ["GET /balances 200"]


async def test_a_customers_request_is_part_of_the_story(alice: Actor) -> None:
    link = await open_link(alice, webhook_url="https://shop.example/hook")
    (await choose(link)).ok(303)
    answered = (await simulate(link)).ok(303).headers["X-Request-Id"]
    entries = await trace(alice, answered)
    assert "a page, or no longer in the request log" in of_kind(entries, "request")
    assert {entry["request_id"] for entry in entries if entry["kind"] == "event"} == {answered}
    assert link["id"] in {entry["id"] for entry in entries}


async def test_other_objects_have_a_story(alice: Actor) -> None:
    await fund(alice)
    withdrawal = await asked(alice)
    conversion = (
        (await alice.post("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"}, key="c"))
        .ok(201)
        .body
    )
    for made, kind in ((withdrawal, "withdrawal"), (conversion, "conversion")):
        entries = await trace(alice, made["id"])
        assert [entry.split(" ")[0] for entry in of_kind(entries, "object")] == [kind]
        assert of_kind(entries, "ledger")


async def test_a_person_reads_lines_and_an_unknown_id_is_an_error(alice: Actor) -> None:
    link = await open_link(alice)
    outcome = await tollhouse(alice.service, "trace", link["id"])
    head, line, *_ = outcome.out.splitlines()
    assert (outcome.status, head.split()) == (0, ["AT", "KIND", "SUMMARY", "ID"])
    assert "payment_link 4.20 EUR created" in outcome.out
    assert line.startswith("20")
    for named in (new_id(), "0b5ae1f4-6a37-4e0c-9d3c-5f6f0b7a9c11"):
        outcome = await tollhouse(alice.service, "trace", str(named))
        assert (outcome.status, outcome.out) == (1, "")
        assert outcome.talk.startswith(f"Nothing has the ID {named}: ")
    assert (await tollhouse(alice.service, "trace", "coffee")).status == 2


IDS, TEXTS, TIMES = "ARRAY[gen_random_uuid()]", "ARRAY['a']", "ARRAY[now()]"
STATEMENTS = [
    (trace_store.NAMED, IDS),
    (trace_store.PAYMENTS, f"{IDS}, {IDS}, 20"),
    (trace_store.OBJECTS, f"{IDS}, {IDS}, {IDS}"),
    (trace_store.CALL_BY_ID, "gen_random_uuid()"),
    (trace_store.CALLS_BY_CALLERS_ID, "gen_random_uuid(), 20"),
    (trace_store.CALLS, f"{IDS}, {IDS}"),
    (trace_store.CALLS_BY_PATH, f"{IDS}, gen_random_uuid(), {TEXTS}, 10"),
    (trace_store.CALLS_AT, f"{IDS}, {TIMES}, {IDS}, {IDS}, 20"),
    (trace_store.CAUSED_EVENTS, "gen_random_uuid(), gen_random_uuid(), gen_random_uuid()"),
    (trace_store.CAUSED_AUDIT_EVENTS, "gen_random_uuid(), now(), now()"),
    (trace_history_store.STEPS, IDS),
    (trace_history_store.OBSERVATIONS, IDS),
    (trace_history_store.TRANSFERS, IDS),
    (trace_history_store.PAYOUTS, IDS),
    (trace_history_store.BANK_TRANSFERS, f"{TEXTS}, {IDS}"),
    (trace_history_store.LEDGER, f"{TEXTS}, {IDS}"),
    (trace_history_store.ENTRIES, IDS),
    (trace_history_store.EVENTS, f"{IDS}, {IDS}, {IDS}"),
    (trace_history_store.ATTEMPTS, IDS),
    (trace_history_store.ACTIONS, f"{IDS}, now(), {IDS}"),
    (trace_history_store.AUDIT_EVENTS, f"{IDS}, now(), {TEXTS}, {IDS}, 10"),
]


async def test_no_statement_reads_a_table_from_end_to_end(services: Services) -> None:
    stores = (trace_store, trace_history_store)
    assert {statement for statement, _ in STATEMENTS} == {
        value
        for store in stores
        for name, value in vars(store).items()
        if name.isupper() and isinstance(value, str) and "SELECT" in value
    }
    async with trace_store.connection(services.db) as tx:
        for statement, values in STATEMENTS:
            assert await unindexed(tx, statement, values) == [], statement


async def unindexed(tx: Tx, statement: str, values: str) -> list[str]:
    """The tables that a statement reads without a condition for an index. Merchants are few."""
    await tx.run(f"PREPARE traced AS {statement}")
    plan = msgspec.json.decode(await tx.raw.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE traced({values})"))
    await tx.run("DEALLOCATE traced")
    return [
        node["Relation Name"]
        for node in nodes(plan[0]["Plan"])
        if "Relation Name" in node and node["Relation Name"] != "merchants"
        if not any("Index Cond" in one for one in nodes(node))
    ]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A node and those below it."""
    return [plan, *(node for below in plan.get("Plans", []) for node in nodes(below))]
