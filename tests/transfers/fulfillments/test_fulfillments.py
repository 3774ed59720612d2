"""Deliveries into games: ordered, paid from the balance, and delivered, refused or canceled. Test mode, by the sandbox."""

import asyncio
from typing import Any

import pytest

from tests.cast import INTEGRATION, Actor
from tests.payments.bank import until
from tests.running import CATALOGUE
from tests.transfers.fulfillments.depot import GEMS, GOLD, Depot


@pytest.mark.covers("P-142")
async def test_delivered(depot: Depot) -> None:
    ordered = (await depot.order(external_id="f-1", metadata={"by": "me"})).ok(201).body
    assert (ordered["object"], ordered["status"], ordered["cost"], ordered["charged_minor"], ordered["version"]) == (
        "fulfillment",
        "pending",
        "0.50",
        0,
        1,
    )
    assert await depot.purse() == (950, 50)
    held = (await depot.actor.get("/balances/EUR")).ok().body["reserved_breakdown"]
    assert held["fulfillments_minor"] == 50
    done = await depot.done(ordered)
    assert (done["status"], done["delivered_quantity"], done["charged"], done["version"]) == ("completed", 5, "0.50", 3)
    assert done["provider_reference"]
    assert done["completed_at"]
    assert await depot.purse() == (950, 0)
    assert await depot.reported() == [("pending", 1), ("completed", 3)]
    totals = (await depot.actor.get("/fulfillments/statistics")).ok().body["totals"]
    assert (totals["count"], totals["completed"], totals["quantity_delivered"]) == (1, 1, 5)
    [row] = (await depot.actor.get("/reports/financial-summary?currency=EUR")).ok().body["financial_summaries"]
    assert (row["fulfillments_minor"], row["counts"]["fulfillments"]) == (-50, 1)


@pytest.mark.long
async def test_left_to_itself_test_mode_ends_well(alice: Actor) -> None:
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "1.00"})).ok(201)
    ordered = (await alice.post("/fulfillments", GEMS, key="k")).ok(201).body
    assert (await until(alice, f"/fulfillments/{ordered['id']}", "completed"))["delivered_quantity"] == 5


@pytest.mark.covers("P-143")
@pytest.mark.parametrize(
    ("player", "code"), [("unknown", "unknown_player"), ("banned", "player_banned"), ("out-of-stock", "out_of_stock")]
)
async def test_refused(depot: Depot, player: str, code: str) -> None:
    failed = await depot.done(await depot.order_for(player))
    assert (failed["status"], failed["failure_code"], failed["completed_at"]) == ("failed", code, None)
    assert await depot.purse() == (1_000, 0)
    assert (await depot.reported())[-1] == ("failed", 3)


@pytest.mark.covers("P-144")
async def test_delivered_in_part(depot: Depot) -> None:
    part = await depot.done(await depot.order_for("partial"))
    assert (part["status"], part["delivered_quantity"], part["charged"], part["cost"]) == (
        "partially_completed",
        3,
        "0.30",
        "0.50",
    )
    assert await depot.purse() == (970, 0)


async def test_nothing_is_heard(depot: Depot) -> None:
    ordered = await depot.order_for("stuck")
    for attempts in (1, 2):
        stuck = await depot.done(ordered)
        assert (stuck["status"], stuck["attempts"], stuck["version"]) == ("processing", attempts, 2)
    assert await depot.purse() == (950, 50)
    (await depot.cancel(ordered)).refused("invalid_state", 409)
    assert (await depot.simulate(ordered, "complete")).ok().body["status"] == "completed"


@pytest.mark.parametrize(
    ("outcome", "status", "left"),
    [("complete", "completed", 950), ("partial", "partially_completed", 970), ("fail", "failed", 1_000)],
)
async def test_simulated(depot: Depot, outcome: str, status: str, left: int) -> None:
    ordered = (await depot.order()).ok(201).body
    assert (await depot.simulate(ordered, outcome)).ok().body["status"] == status
    assert await depot.purse() == (left, 0)
    again = (await depot.simulate(ordered, outcome)).refused("invalid_state", 409)
    assert again.body["details"] == {"status": status}
    assert (await depot.done(ordered))["status"] == status


@pytest.mark.covers("P-149")
async def test_canceled(depot: Depot) -> None:
    ordered = (await depot.order()).ok(201).body
    canceled = (await depot.cancel(ordered)).ok().body
    assert (canceled["status"], await depot.purse()) == ("canceled", (1_000, 0))
    assert (await depot.cancel(ordered)).refused("invalid_state", 409).body["details"] == {"status": "canceled"}
    assert (await depot.simulate(ordered, "complete")).refused("invalid_state", 409)
    assert (await depot.done(ordered))["status"] == "canceled"
    done = (await depot.order()).ok(201).body
    await depot.work()
    assert (await depot.cancel(done)).refused("invalid_state", 409).body["details"] == {"status": "completed"}


@pytest.mark.covers("P-146")
async def test_no_more_than_it_may_cost(depot: Depot) -> None:
    refused = (await depot.order(max_cost="0.49")).refused("price_changed", 422)
    assert refused.body["details"] == {"cost_minor": 50, "max_cost_minor": 49, "currency": "EUR"}
    (await depot.order(max_cost="0.50")).ok(201)
    assert (await depot.order(max_cost="0.505")).field_errors() == {"max_cost": "invalid_amount"}


async def test_what_is_not_there_is_not_spent(depot: Depot) -> None:
    refused = (await depot.order(quantity=101)).refused("insufficient_funds", 422)
    assert refused.body["details"] == {"available_minor": 1_000, "required_minor": 1_010, "currency": "EUR"}
    (await depot.order(quantity=100)).ok(201)


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"quantity": 0}, {"quantity": "invalid_value"}),
    ({"quantity": 1.5}, {"quantity": "invalid_type"}),
    ({"quantity": "2"}, {"quantity": "invalid_type"}),
    ({"quantity": 1_000_001}, {"quantity": "out_of_range"}),
    ({"recipient": "p-1"}, {"recipient": "invalid_type"}),
    ({"recipient": {}}, {"recipient.player_id": "missing"}),
    ({"recipient": {"player_id": 7}}, {"recipient.player_id": "invalid_type"}),
    ({"recipient": {"player_id": "p", "server": "moon"}}, {"recipient.server": "invalid_value"}),
    ({"recipient": {"player_id": "p", "name": "x"}}, {"recipient.name": "unknown_field"}),
    ({"max_cost_minor": 50}, {"max_cost_minor": "unknown_field"}),
    ({"max_cost": 5}, {"max_cost": "invalid_amount"}),
    ({"webhook_url": "ftp://shop.example"}, {"webhook_url": "invalid_url"}),
    ({"webhook_url": ""}, {"webhook_url": "invalid_url"}),
    ({"external_id": "x" * 129}, {"external_id": "invalid_value"}),
    ({"project_id": "none"}, {"project_id": "invalid_value"}),
]


@pytest.mark.covers("P-147")
async def test_refused_bodies(depot: Depot) -> None:
    for changes, problems in REFUSED:
        assert (await depot.order(**changes)).field_errors() == problems, changes
        assert await depot.purse() == (1_000, 0)


async def test_products(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE.products, "quest:gold", GOLD)
    gems, gold = (await depot.actor.get("/fulfillment-products")).ok().body["fulfillment_products"]
    assert (gems["product_id"], gems["price"], gems["unit"], gems["available"]) == ("sandbox:gems", "0.10", "gems", True)
    assert gems["recipient_schema"]["required"] == ["player_id"]
    assert (gold["available"], gold["unavailable_reason"]) == (False, "not_in_environment")
    [gold] = (await depot.actor.get("/fulfillment-products", mode="live")).ok().body["fulfillment_products"]
    assert (gold["product_id"], gold["unavailable_reason"], gold["livemode"]) == (
        "quest:gold",
        "provider_not_configured",
        True,
    )
    refused = (await depot.order(mode="live", product_id="quest:gold")).refused("product_unavailable", 422)
    assert refused.body["details"] == {"unavailable_reason": "provider_not_configured"}
    (await depot.order(mode="live")).refused("product_unavailable", 422)
    (await depot.order(product_id="sandbox:nothing")).refused("product_unavailable", 422)


async def test_an_external_id_is_used_once(depot: Depot) -> None:
    first = (await depot.order(external_id="f-1")).ok(201).body
    again = (await depot.order(external_id="f-1", quantity=6)).refused("duplicate_external_id", 409)
    assert again.body["details"] == {"existing_id": first["id"]}


async def test_keys(depot: Depot) -> None:
    (await depot.actor.post("/fulfillments", GEMS)).refused("idempotency_key_required", 400)
    first = (await depot.order(key="once")).ok(201)
    again = (await depot.order(key="once")).ok(201)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (first.raw, "true")
    (await depot.order(key="once", quantity=6)).refused("idempotency_key_reused", 422)
    assert await depot.purse() == (950, 50)


async def test_for_a_project(depot: Depot) -> None:
    [project] = (await depot.actor.get("/projects")).ok().body["projects"]
    ordered = (await depot.order(project_id=project["id"])).ok(201).body
    assert ordered["project_id"] == project["id"]
    (await depot.order(project_id=ordered["id"])).refused("invalid_project", 422)


async def test_the_requests_own_address_is_reported(depot: Depot) -> None:
    await depot.work()
    url = "http://127.0.0.1:9999/hook"
    ordered = (await depot.order(webhook_url=url)).ok(201).body
    await depot.work()
    assert (await depot.read(ordered))["webhook_url"] == url
    events = (await depot.actor.get("/webhook-events")).ok().body["webhook_events"]
    assert [(event["type"], event["destination_url"]) for event in events] == [("balance.updated", url)] * 2


async def test_who_may(depot: Depot) -> None:
    ordered = (await depot.order()).ok(201).body
    key = await depot.actor.key(scopes=["fulfillments:read"])
    headers = {"X-API-Key": key, "Idempotency-Key": "k"}
    for path in ("/fulfillments", f"/fulfillments/{ordered['id']}/cancel", f"/test/fulfillments/{ordered['id']}/simulate"):
        (await depot.actor.anonymously("POST", INTEGRATION + path, GEMS, headers)).refused("missing_scope", 403)
    (await depot.actor.get(f"/fulfillments/{ordered['id']}", mode="live")).refused("not_found", 404)
    (await depot.actor.post(f"/fulfillments/{ordered['id']}/cancel", mode="live")).refused("not_found", 404)
    (await depot.actor.post("/test/fulfillments/x/simulate", {}, mode="live")).refused("test_mode_only", 403)


async def test_listed(depot: Depot) -> None:
    first = (await depot.order(external_id="a")).ok(201).body
    await depot.work()
    second = (await depot.order()).ok(201).body

    async def found(query: str = "") -> list[str]:
        return [
            fulfillment["id"] for fulfillment in (await depot.actor.get(f"/fulfillments{query}")).ok().body["fulfillments"]
        ]

    assert await found() == [second["id"], first["id"]]
    assert await found("?status=completed&product_id=sandbox:gems&currency=EUR") == [first["id"]]
    assert await found("?external_id=a") == [first["id"]]
    assert await found("?limit=1&page=2") == [first["id"]]
    assert await found(f"?created_from={second['created_at']}") == [second["id"]]
    assert await found(f"?project_id={first['id']}") == []


async def test_canceling_races_the_worker(depot: Depot) -> None:
    for _ in range(5):
        before = await depot.purse()
        ordered = (await depot.order()).ok(201).body
        canceled, *_ = await asyncio.gather(depot.cancel(ordered), depot.work(), depot.cancel(ordered))
        now = await depot.read(ordered)
        assert now["status"] in {"canceled", "completed"}
        assert (await depot.purse()) == (before[0] - now["charged_minor"], 0)
        assert canceled.status in {200, 409}


async def test_two_workers_charge_once(depot: Depot) -> None:
    ordered = (await depot.order()).ok(201).body
    await asyncio.gather(*(depot.work() for _ in range(6)), *(depot.simulate(ordered, "complete") for _ in range(3)))
    assert await depot.purse() == (950, 0)
    assert (await depot.reported())[-1][0] == "completed"


async def test_thirty_orders_over_one_balance(depot: Depot) -> None:
    responses = await asyncio.gather(*(depot.order(quantity=11) for _ in range(30)))
    assert sorted(answer.status for answer in responses) == [201] * 9 + [422] * 21
    assert await depot.purse() == (10, 990)
