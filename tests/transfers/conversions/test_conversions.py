"""Pairs, quotes and conversions: two balances change together, at a price that is kept to and never old."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor, application, sign_up
from tests.pages.console.commands import operator
from tests.payments.killing import FusedPool, every_row, kill_everywhere
from tests.payments.test_crashes import TABLES
from tests.running import CATALOGUE
from tests.transfers.conversions.steps import EURO_TO_DOLLAR, available, convert, fund, quote, reported
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.transfers.conversions import actions, prices
from tollhouse.transfers.conversions.actions import NewConversion


def terms(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """The pair from EUR to USD, as an operator's catalogue changes it."""
    monkeypatch.setitem(CATALOGUE.conversion_pairs, "EUR:USD", ConversionPair(pair_id="EUR:USD", **changes))


async def test_pairs(shop: Actor) -> None:
    test = (await shop.get("/conversion-pairs?limit=100")).ok().body["conversion_pairs"]
    assert len(test) == 12
    assert all(one["available"] and one["unavailable_reason"] is None for one in test)
    [shown] = [one for one in test if (one["from_currency"], one["to_currency"]) == ("EUR", "USD")]
    assert (shown["indicative_rate"], shown["fee_bps"], shown["minimum_minor"], shown["maximum_minor"]) == (
        "1.0842",
        0,
        1,
        None,
    )
    live = (await shop.get("/conversion-pairs", mode="live")).ok().body["conversion_pairs"]
    assert {(one["available"], one["unavailable_reason"], one["livemode"]) for one in live} == {(False, "rate_stale", True)}


@pytest.mark.covers("P-133")
async def test_a_quote_and_its_conversion(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    terms(monkeypatch, fee_basis_points=50)
    await fund(shop)
    quoted = (await quote(shop)).ok(201).body
    assert (quoted["rate"], quoted["fee"], quoted["from_amount"], quoted["to_amount"], quoted["status"]) == (
        "1.0842",
        "0.05",
        "10.00",
        "10.78",
        "active",
    )
    hook = "http://127.0.0.1:9999/hook"
    said: dict[str, Any] = {"webhook_url": hook, "external_id": "c-1", "metadata": {"by": "me"}}
    made = (await convert(shop, {"quote_id": quoted["id"]} | said)).ok(201).body
    assert (made["object"], made["status"], made["rule_id"], made["version"]) == ("conversion", "completed", None, 1)
    assert {name: made[name] for name in said} == said
    assert {name: made[name] for name in ("rate", "fee", "to_amount")} == {
        name: quoted[name] for name in ("rate", "fee", "to_amount")
    }
    assert (made["quote_id"], made["completed_at"]) == (quoted["id"], made["created_at"])
    assert (await available(shop, "EUR"), await available(shop, "USD")) == (9_000, 1_078)
    assert (await shop.get(f"/conversions/{made['id']}")).ok().body == made
    for wanted in ("external_id=c-1", "currency=USD", "currency=EUR&status=completed"):
        assert (await shop.get(f"/conversions?{wanted}")).ok().body == {
            "conversions": [made],
            "has_more": False,
            "next_cursor": None,
        }
    assert (await shop.get("/conversions?currency=GBP")).ok().body["conversions"] == []
    assert (await reported(shop, "conversion.completed"), await reported(shop, "balance.updated")) == (1, 3)
    entries = (await shop.get(f"/ledger?source_id={made['id']}")).ok().body["ledger"]
    assert sorted((entry["type"], entry["signed_amount_minor"], entry["currency"]) for entry in entries) == [
        ("conversion_fee", -5, "EUR"),
        ("conversion_in", 1_078, "USD"),
        ("conversion_out", -995, "EUR"),
    ]
    [report] = [
        financial_summary
        for financial_summary in (await shop.get("/reports/financial-summary")).ok().body["financial_summaries"]
        if financial_summary["currency"] == "EUR"
    ]
    assert (report["conversions_out_minor"], report["conversion_fees_minor"], report["closing_minor"]) == (-995, -5, 9_000)


async def test_the_amount_that_is_to_be_got(shop: Actor) -> None:
    await fund(shop)
    quoted = (await quote(shop, {"from_currency": "EUR", "to_currency": "USD", "to_amount": "10.00"})).ok(201).body
    assert (quoted["from_amount"], quoted["to_amount"]) == ("9.23", "10.00")
    (await convert(shop, {"quote_id": quoted["id"]})).ok(201)
    assert (await available(shop, "EUR"), await available(shop, "USD")) == (9_077, 1_000)


@pytest.mark.covers("P-134")
async def test_a_quote_is_for_half_a_minute_and_once(shop: Actor) -> None:
    await fund(shop)
    quoted = (await quote(shop)).ok(201).body
    responses = await asyncio.gather(*(convert(shop, {"quote_id": quoted["id"]}) for _ in range(5)))
    won, *lost = sorted(responses, key=lambda answer: answer.status)
    won.ok(201)
    for answer in [*lost, await convert(shop, {"quote_id": quoted["id"]})]:
        answer.refused("quote_already_used", 409)
    late = (await quote(shop)).ok(201).body
    (await shop.post("/test/clock/advance", {"seconds": 30})).ok()
    (await convert(shop, {"quote_id": late["id"]})).refused("quote_expired", 409)
    quoted = (await quote(shop)).ok(201).body
    (await convert(shop, {"quote_id": quoted["id"]})).ok(201)
    assert await available(shop, "EUR") == 8_000


@pytest.mark.covers("P-135")
async def test_less_than_is_wanted(shop: Actor) -> None:
    await fund(shop)
    refused = (await convert(shop, EURO_TO_DOLLAR | {"min_to_amount": "10.85"})).refused("price_changed", 422)
    assert refused.body["details"] == {"to_amount_minor": 1_084}
    assert await available(shop, "EUR") == 10_000
    (await convert(shop, EURO_TO_DOLLAR | {"min_to_amount": "10.84"})).ok(201)


@pytest.mark.covers("P-136")
async def test_pairs_that_cannot_be_converted(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await convert(shop, EURO_TO_DOLLAR | {"to_currency": "EUR"})).field_errors() == {"to_currency": "same_currency"}
    assert (await convert(shop, EURO_TO_DOLLAR | {"to_currency": "usd"})).field_errors() == {
        "to_currency": "invalid_currency"
    }
    (await convert(shop, EURO_TO_DOLLAR | {"to_currency": "BTC"})).refused("currency_not_supported", 422)
    stale = (await convert(shop, mode="live")).refused("method_unavailable", 422)
    assert stale.body["details"] == {"unavailable_reason": "rate_stale"}
    terms(monkeypatch, enabled=False)
    disabled = (await quote(shop)).refused("method_unavailable", 422)
    assert disabled.body["details"] == {"unavailable_reason": "disabled"}


@pytest.mark.covers("P-137")
async def test_amounts_that_do_not_fit(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    await fund(shop, "100", "JPY")
    yen = {"from_currency": "JPY", "to_currency": "EUR", "amount": "1"}
    tiny = (await convert(shop, yen)).refused("amount_below_minimum", 422)
    assert tiny.body["details"] == {"minimum_minor": 2}
    (await convert(shop, yen | {"amount": "2"})).ok(201)
    terms(monkeypatch, minimum_minor=500, maximum_minor=2_000)
    (await convert(shop, EURO_TO_DOLLAR | {"amount": "4.99"})).refused("amount_below_minimum", 422)
    (await convert(shop, EURO_TO_DOLLAR | {"amount": "20.01"})).refused("amount_above_maximum", 422)
    (await convert(shop, EURO_TO_DOLLAR | {"amount": "20.00"})).ok(201)
    short = (await convert(shop, {"from_currency": "EUR", "to_currency": "GBP", "amount": "80.02"})).refused(
        "insufficient_funds", 422
    )
    assert short.body["details"] == {"available_minor": 8_001, "required_minor": 8_002, "currency": "EUR"}


async def test_what_is_wrong_is_reported_at_once(shop: Actor) -> None:
    wrong = {
        "from_currency": "EUR",
        "to_currency": "XXX",
        "amount": 10,
        "min_to_amount": "0",
        "external_id": "",
        "webhook_url": "x",
    }
    assert set((await convert(shop, wrong)).field_errors()) == {
        "to_currency",
        "amount",
        "min_to_amount",
        "external_id",
        "webhook_url",
    }
    assert set((await convert(shop, {})).field_errors()) == {"from_currency", "to_currency", "amount"}
    assert set((await convert(shop, EURO_TO_DOLLAR | {"quote_id": str(uuid4())})).field_errors()) == {
        "from_currency", "to_currency", "amount",
    }  # fmt: skip
    (await convert(shop, {"quote_id": str(uuid4())})).refused("not_found", 404)
    assert set((await quote(shop, EURO_TO_DOLLAR | {"to_amount": "1.00"})).field_errors()) == {"amount"}
    assert set((await quote(shop, {"from_currency": "EUR", "to_currency": "USD"})).field_errors()) == {"amount"}
    assert set((await quote(shop, {"from_currency": "EUR", "to_currency": "USD", "to_amount": "1.001"})).field_errors()) == {
        "to_amount"
    }
    (await shop.post("/conversions", EURO_TO_DOLLAR)).refused("idempotency_key_required", 400)


async def test_whose_it_is(shop: Actor) -> None:
    await fund(shop)
    made, quoted = (await convert(shop)).ok(201).body, (await quote(shop)).ok(201).body
    async with sign_up(shop.service, "mallory", "Mallory's Mischief") as mallory:
        (await mallory.get(f"/conversions/{made['id']}")).refused("not_found", 404)
        (await convert(mallory, {"quote_id": quoted["id"]})).refused("not_found", 404)
    (await shop.get(f"/conversions/{made['id']}", mode="live")).refused("not_found", 404)
    app = await application(shop)
    token = (await app.connect(shop, "conversions:read"))["access_token"]
    (await app.api(token, "POST", "/conversion-quotes", EURO_TO_DOLLAR)).ok(201)
    (await app.api(token, "POST", "/conversions", EURO_TO_DOLLAR, key="k")).refused("missing_scope", 403)


async def test_a_whole_balance_at_once(shop: Actor) -> None:
    await fund(shop)
    responses = await asyncio.gather(*(convert(shop, EURO_TO_DOLLAR | {"amount": "30.00"}) for _ in range(8)))
    assert sorted(answer.status for answer in responses) == [201] * 3 + [422] * 5
    assert (await available(shop, "EUR"), await available(shop, "USD")) == (1_000, 3 * 3_252)


async def test_to_and_fro_at_once_does_not_deadlock(shop: Actor) -> None:
    await fund(shop)
    await fund(shop, "100.00", "USD")
    back = {"from_currency": "USD", "to_currency": "EUR", "amount": "1.00"}
    both = [back, EURO_TO_DOLLAR | {"amount": "1.00"}] * 6
    responses = await asyncio.gather(*(convert(shop, body) for body in both))
    assert [answer.status for answer in responses] == [201] * 12


@pytest.mark.long
async def test_a_crash_at_every_step(shop: Actor, services: Services) -> None:
    await fund(shop)
    quoted = (await quote(shop)).ok(201).body
    env = MerchantEnv(MerchantId(UUID(shop.merchant_id)), "test")
    new = NewConversion(quote_id=UUID(quoted["id"]))
    assert isinstance(services.db, FusedPool)

    async def look_at_all() -> list[Any]:
        return await every_row(shop, (*TABLES, "conversions", "conversion_quotes"))

    steps, _ = await kill_everywhere(
        services.db,
        lambda: services.transact(lambda work: actions.convert(work, env, new), clock.now()),
        look_at_all,
    )
    assert steps >= 9


async def test_prices_of_live_mode(shop: Actor, services: Services) -> None:
    service = shop.service
    assert (await operator(service, "prices", "post", "EUR", "1")).status == 2
    assert (await operator(service, "prices", "post", "USD", "1e3")).status == 2
    assert (await operator(service, "prices", "post", "USD", "1.10")).status == 0
    await services.db.transact(lambda tx: prices.post(tx, {"GBP": "0.85"}, "olga", clock.now()))
    assert [prices.is_price(text) for text in ("0.85", "0", "0.0", "-1", "1e3", "1.", " 1")] == [True] + [False] * 6
    listed = (await operator(service, "prices", "list", "--json")).json["prices"]
    assert {price["currency"]: price["per_euro"].rstrip("0") for price in listed} == {"USD": "1.1", "GBP": "0.85"}
    live = (await shop.get("/conversion-pairs", mode="live")).ok().body["conversion_pairs"]
    rates = {(one["from_currency"], one["to_currency"]): one["indicative_rate"] for one in live if one["available"]}
    assert set(rates) == {(one, other) for one in ("EUR", "USD", "GBP") for other in ("EUR", "USD", "GBP") if one != other}
    assert (rates["EUR", "USD"], rates["USD", "EUR"]) == ("1.1", "0.90909090909090909")
    await shop.sql("ALTER TABLE conversion_prices DISABLE TRIGGER append_only")
    await shop.sql("UPDATE conversion_prices SET at = now() - interval '1 h 1 s' WHERE currency = 'USD'")
    await shop.sql("ALTER TABLE conversion_prices ENABLE TRIGGER append_only")
    stale = (await convert(shop, mode="live")).refused("method_unavailable", 422)
    assert stale.body["details"] == {"unavailable_reason": "rate_stale"}
    (await convert(shop, EURO_TO_DOLLAR | {"to_currency": "GBP"}, mode="live")).refused("insufficient_funds", 422)
