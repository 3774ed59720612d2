"""Conversion rules: followed once for everything that comes in, never by what conversions did, and never in a circle."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor, application, sign_up
from tests.payments.bank import sell
from tests.payments.killing import FusedPool, every_row, kill_everywhere
from tests.payments.test_crashes import TABLES
from tests.running import CATALOGUE
from tests.transfers.conversions.steps import PAID_INTO_DOLLARS, available, conversions, convert, fund, reported, rule
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.transfers.conversions import rules


async def change(actor: Actor, made: dict[str, Any], **changes: Any) -> Any:
    """PUT the whole rule, changed so."""
    body = {name: made[name] for name in ("from_currency", "to_currency", "trigger", "percent", "enabled", "version")}
    return await actor.call("PUT", f"/conversion-rules/{made['id']}", body | changes)


@pytest.mark.covers("P-139")
async def test_each_payment_is_converted_once(shop: Actor, services: Services) -> None:
    await sell(shop)
    hook = "http://127.0.0.1:9999/hook"
    made = (await rule(shop, webhook_url=hook)).ok(201).body
    assert (made["percent"], made["enabled"], made["threshold"], made["created_by"]) == (
        100,
        True,
        None,
        {"type": "api_key", "oauth_client_id": None},
    )
    await rules.apply_rules(services)
    assert await conversions(shop) == []  # what came before the rule is no reason
    await sell(shop)
    for _ in range(3):
        await rules.apply_rules(services)
    [done] = await conversions(shop, rule_id=made["id"])
    assert (done["rule_id"], done["from_amount"], done["to_amount"], done["webhook_url"]) == (
        made["id"],
        "10.00",
        "10.84",
        hook,
    )
    assert (await available(shop, "EUR"), await available(shop, "USD")) == (1_000, 1_084)
    assert await reported(shop, "conversion.completed") == 1
    await fund(shop)
    await rules.apply_rules(services)
    assert len(await conversions(shop)) == 1  # test money is no payment


async def test_many_workers_follow_once(shop: Actor, services: Services) -> None:
    (await rule(shop, percent=50)).ok(201)
    for _ in range(3):
        await sell(shop)
        await asyncio.gather(*(rules.apply_rules(services) for _ in range(4)))
    assert [conversion["from_amount"] for conversion in await conversions(shop)] == ["5.00"] * 3
    assert await available(shop, "EUR") == 1_500


async def test_small_amounts_wait_until_they_are_enough(
    shop: Actor, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        CATALOGUE.conversion_pairs, "EUR:USD", ConversionPair(pair_id="EUR:USD", minimum_minor=2_500, maximum_minor=3_000)
    )
    (await rule(shop)).ok(201)
    for expected in (0, 0, 1):
        await sell(shop)
        await rules.apply_rules(services)
        assert len(await conversions(shop)) == expected
    assert await available(shop, "EUR") == 0
    await sell(shop, amount="70.00")
    for _ in range(4):
        await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop)] == ["30.00"] * 3
    assert await available(shop, "EUR") == 1_000


async def test_without_room_for_what_it_brings_it_waits(shop: Actor, services: Services) -> None:
    made = (await rule(shop)).ok(201).body
    await fund(shop, "90071992547409.91", "USD")
    await sell(shop)
    for _ in range(2):
        await rules.apply_rules(services)
    assert await conversions(shop) == []
    [row] = await shop.sql("SELECT retry_at, runs FROM conversion_rules WHERE id = $1::uuid", made["id"])
    assert (row["retry_at"] is not None, row["runs"]) == (True, 0)
    (await convert(shop, {"from_currency": "USD", "to_currency": "EUR", "amount": "20.00"})).ok(201)
    await shop.sql("UPDATE conversion_rules SET retry_at = now() - interval '1 s' WHERE id = $1::uuid", made["id"])
    await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop, rule_id=made["id"])] == ["10.00"]


async def test_without_a_price_it_waits(shop: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE.conversion_pairs, "EUR:USD", ConversionPair(pair_id="EUR:USD", enabled=False))
    made = (await rule(shop)).ok(201).body
    await sell(shop)
    await rules.apply_rules(services)
    assert await conversions(shop) == []
    monkeypatch.delitem(CATALOGUE.conversion_pairs, "EUR:USD")
    await rules.apply_rules(services)
    assert await conversions(shop) == []
    await shop.sql("UPDATE conversion_rules SET retry_at = now() - interval '1 s' WHERE id = $1::uuid", made["id"])
    await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop)] == ["10.00"]


async def test_what_was_spent_is_not_converted(shop: Actor, services: Services) -> None:
    (await rule(shop)).ok(201)
    await sell(shop)
    (await convert(shop, {"from_currency": "EUR", "to_currency": "GBP", "amount": "7.00"})).ok(201)
    await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop, currency="USD")] == ["3.00"]


async def test_a_threshold(shop: Actor, services: Services) -> None:
    (await rule(shop, trigger="on_threshold", threshold="25.00", percent=50)).ok(201)
    await fund(shop, "24.99")
    await rules.apply_rules(services)
    assert await conversions(shop) == []
    await fund(shop, "75.01")
    for _ in range(3):
        await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop)] == [
        "50.00"
    ]  # its own conversion is no reason
    (await rule(shop, from_currency="USD", to_currency="GBP", trigger="on_threshold", threshold="1.00")).ok(201)
    await rules.apply_rules(services)
    (await convert(shop)).ok(201)
    await rules.apply_rules(services)
    assert await conversions(shop, currency="GBP") == []


@pytest.mark.covers("P-140")
async def test_no_circle_and_one_rule_for_a_currency(shop: Actor) -> None:
    first = (await rule(shop)).ok(201).body
    conflict = (await rule(shop, to_currency="GBP")).refused("conversion_rule_conflict", 409)
    assert conflict.body["details"] == {"conflicting_id": first["id"]}
    (await rule(shop, from_currency="USD", to_currency="EUR")).refused("conversion_rule_conflict", 409)
    (await rule(shop, from_currency="USD", to_currency="GBP")).ok(201)
    (await rule(shop, from_currency="GBP", to_currency="EUR")).refused("conversion_rule_conflict", 409)
    last = (await rule(shop, from_currency="GBP", to_currency="JPY")).ok(201).body
    (await change(shop, last, to_currency="EUR")).refused("conversion_rule_conflict", 409)
    (await change(shop, last, from_currency="EUR", to_currency="JPY")).refused("conversion_rule_conflict", 409)


async def test_no_circle_is_closed_by_two_at_once(shop: Actor) -> None:
    circle = [("EUR", "USD"), ("USD", "GBP"), ("GBP", "EUR")]
    responses = await asyncio.gather(*(rule(shop, from_currency=one, to_currency=other) for one, other in circle * 2))
    assert sorted(answer.status for answer in responses) == [201, 201, 409, 409, 409, 409]


@pytest.mark.covers("P-141")
async def test_changing_and_ending(shop: Actor, services: Services) -> None:
    made = (await rule(shop)).ok(201).body
    changed = (await change(shop, made, percent=10)).ok().body
    assert (changed["version"], changed["percent"]) == (2, 10)
    stale = (await change(shop, made, percent=20)).refused("conversion_rule_changed", 409)
    assert stale.body["details"] == {"version": 2}
    off = (await change(shop, changed, enabled=False)).ok().body
    await sell(shop)
    await rules.apply_rules(services)
    on = (await change(shop, off, enabled=True)).ok().body
    await rules.apply_rules(services)
    assert await conversions(shop) == []  # it counts from when it was switched on
    await sell(shop)
    await rules.apply_rules(services)
    assert [conversion["from_amount"] for conversion in await conversions(shop)] == ["1.00"]
    assert (await shop.get("/conversion-rules")).ok().body == {
        "conversion_rules": [on],
        "has_more": False,
        "next_cursor": None,
    }
    assert (await shop.get(f"/conversion-rules/{made['id']}")).ok().body == on
    assert (await shop.call("DELETE", f"/conversion-rules/{made['id']}")).ok().body == on
    for method, body in (("GET", None), ("DELETE", None)):
        (await shop.call(method, f"/conversion-rules/{made['id']}", body)).refused("not_found", 404)
    (await change(shop, on)).refused("not_found", 404)
    assert len(await conversions(shop, rule_id=made["id"])) == 1


async def test_everything_that_is_wrong_with_a_rule(shop: Actor) -> None:
    wrong = {"from_currency": "EUR", "to_currency": "EUR", "trigger": "on_threshold", "webhook_url": "x"}
    assert set((await rule(shop, **wrong)).field_errors()) == {"to_currency", "threshold", "webhook_url"}
    assert (await rule(shop, threshold="1.00")).field_errors() == {"threshold": "invalid_value"}
    assert set((await rule(shop, percent=0, trigger="on_sunday")).field_errors()) == {"percent", "trigger"}
    (await rule(shop, to_currency="BTC")).refused("currency_not_supported", 422)


async def test_whose_rule_it_is(shop: Actor) -> None:
    app = await application(shop)
    token = (await app.connect(shop, "conversions:read conversions:write"))["access_token"]
    made = (await app.api(token, "POST", "/conversion-rules", PAID_INTO_DOLLARS)).ok(201).body
    assert made["created_by"] == {"type": "oauth", "oauth_client_id": app.client_id}
    (await app.revoke(token)).ok()
    assert (await shop.get(f"/conversion-rules/{made['id']}")).ok().body == made
    async with sign_up(shop.service, "mallory", "Mallory's Mischief") as mallory:
        (await mallory.get(f"/conversion-rules/{made['id']}")).refused("not_found", 404)
        (await mallory.call("DELETE", f"/conversion-rules/{made['id']}")).refused("not_found", 404)
        (await change(mallory, made)).refused("not_found", 404)
    (await shop.get(f"/conversion-rules/{uuid4()}")).refused("not_found", 404)


@pytest.mark.long
async def test_a_crash_at_every_step(shop: Actor, services: Services) -> None:
    made = (await rule(shop)).ok(201).body
    await sell(shop)
    env = MerchantEnv(MerchantId(UUID(shop.merchant_id)), "test")
    assert isinstance(services.db, FusedPool)

    async def look_at_all() -> list[Any]:
        return await every_row(shop, (*TABLES, "conversions", "conversion_rules"))

    steps, _ = await kill_everywhere(
        services.db,
        lambda: services.transact(lambda work: rules.apply(work, env, UUID(made["id"])), clock.now()),
        look_at_all,
    )
    assert steps >= 9
    assert len(await conversions(shop)) == 1
