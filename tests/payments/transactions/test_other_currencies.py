"""A link in euros that is paid in ether: the rate, the verdict, the conversion, and what comes too late."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.shop import choose, open_link, simulate, visit
from tests.payments.test_invariants import PAST_ALL_RULES
from tests.transfers.conversions.steps import available, conversions, fund, rule
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.transactions.invariants_store import INVARIANTS
from tollhouse.platform.database import invariants
from tollhouse.transfers.conversions import rules

ETHER = "sandbox:ETH"
COFFEE_IN_ETHER = 143_229
"""4.20 EUR at 0.00034102 ETH for a euro, which is 0.001432284, rounded up to 8 decimals."""
READ_ONLY = ("object", "updated_at", "supported_payment_methods", "webhook_signing_secret_configured", "mode", "livemode")
A_QUARTER_OF_AN_HOUR = {"seconds": 900}


async def accept_currencies(actor: Actor, *codes: str, **changes: Any) -> None:
    """Let customers pay links of other currencies in these."""
    current = (await actor.get("/settings")).ok().body
    new = {name: value for name, value in current.items() if name not in READ_ONLY}
    (await actor.call("PUT", "/settings", new | {"additional_currencies": list(codes)} | changes)).ok()


async def transactions(actor: Actor, link: dict[str, Any]) -> list[dict[str, Any]]:
    """The transactions of a link, newest first."""
    return (await actor.get(f"/transactions?payment_link_id={link['id']}")).ok().body["transactions"]


async def state(actor: Actor, link: dict[str, Any]) -> dict[str, Any]:
    """What the checkout page polls."""
    path = link["url"].removeprefix(actor.service.url)
    return (await actor.anonymously("GET", f"{path}/status")).ok().body


async def pay_in_ether(actor: Actor, link: dict[str, Any], outcome: str = "succeed", **fields: str) -> dict[str, Any]:
    """Choose ether and simulate."""
    (await choose(link, ETHER)).ok(303)
    (await simulate(link, outcome, **fields)).ok(303)
    return (await transactions(actor, link))[0]


async def test_a_link_is_paid_in_another_currency(alice: Actor) -> None:
    since, link = last_id(), await open_link(alice)
    assert ETHER not in (await visit(link, alice)).text
    assert (await choose(link, ETHER)).status == 422
    await accept_currencies(alice, "ETH", "USD")
    assert ETHER in (await visit(link, alice)).text
    made = await pay_in_ether(alice, link)
    assert (made["status"], made["amount_minor"], made["currency"]) == ("succeeded", COFFEE_IN_ETHER, "ETH")
    assert made["amount_received_minor"] == COFFEE_IN_ETHER
    price = made["price"]
    assert (price["amount"], price["currency"], price["margin_bps"], price["settlement"]) == ("4.20", "EUR", 0, "convert")
    assert (price["rate_source"], price["rate"][:8]) == ("sandbox", "2932.379")
    assert (made["payment_details"]["pay_amount"], made["payment_details"]["rate"]) == ("0.00143229", price["rate"])
    [converted] = await conversions(alice)
    assert (converted["from_amount_minor"], converted["to_amount"], converted["rate"]) == (
        COFFEE_IN_ETHER,
        "4.20",
        price["rate"],
    )
    assert (converted["transaction_id"], converted["reversal_id"]) == (made["id"], None)
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (420, 0)
    paid = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (paid["status"], paid["amount_paid"], paid["payments_count"]) == ("completed", "4.20", 1)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_amounts_are_judged_in_the_currency_that_is_paid(alice: Actor) -> None:
    since = last_id()
    await accept_currencies(alice, "ETH")
    partly = await open_link(alice)
    assert (await pay_in_ether(alice, partly, "underpay", amount="0.001"))["status"] == "pending"
    waiting = await state(alice, partly)
    assert (waiting["status"], waiting["currency"], waiting["amount_due"]) == ("underpaid", "ETH", "0.00043229")
    (await alice.post("/test/clock/advance", {"seconds": 14 * 60})).ok()
    (await simulate(partly, "succeed")).ok(303)  # the rest comes before the rate expires
    [whole] = await transactions(alice, partly)
    assert (whole["status"], await available(alice, "EUR")) == ("succeeded", 420)
    more = await open_link(alice)
    over = await pay_in_ether(alice, more, "overpay", amount="0.00286458")
    assert (over["status"], over["overpaid_minor"]) == ("succeeded", COFFEE_IN_ETHER)
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (3 * 420, 0)
    link = (await alice.get(f"/payment-links/{more['id']}")).ok().body
    assert (link["status"], link["amount_paid"]) == ("completed", "8.40")
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_a_part_extends_no_rate(alice: Actor) -> None:
    """The rest is judged by the moment at which it is seen itself, whether the part was credited or only seen."""
    since = last_id()
    await accept_currencies(alice, "ETH")
    link = await open_link(alice)
    assert (await pay_in_ether(alice, link, "underpay", amount="0.001"))["status"] == "pending"
    (await alice.post("/test/clock/advance", {"seconds": 15 * 60 - 60})).ok()
    assert (await state(alice, link))["status"] == "underpaid"
    (await alice.post("/test/clock/advance", {"seconds": 60})).ok()
    assert (await state(alice, link))["status"] == "rate_expired"
    shown = (await visit(link, alice, Accept="text/html")).ok().text
    assert "0.001" in shown
    assert "but not the rest" in shown
    [partly] = await transactions(alice, link)
    (await simulate(link, "succeed", payment=partly["id"])).ok(303)
    [late] = await transactions(alice, link)
    assert (late["status"], late["refund_required_reason"]) == ("refund_required", "late")
    assert (late["refund_required_amount_minor"], await available(alice, "EUR")) == (COFFEE_IN_ETHER, 0)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_an_expired_rate_is_replaced_and_money_for_it_is_late(alice: Actor) -> None:
    since, link = last_id(), await open_link(alice)
    await accept_currencies(alice, "ETH")
    (await choose(link, ETHER)).ok(303)
    [first] = await transactions(alice, link)
    (await choose(link, ETHER)).ok(303)
    assert len(await transactions(alice, link)) == 1
    (await alice.post("/test/clock/advance", A_QUARTER_OF_AN_HOUR)).ok()
    assert (await state(alice, link))["status"] == "rate_expired"
    (await choose(link, ETHER)).ok(303)
    assert [transaction["id"] for transaction in await transactions(alice, link)][1] == first["id"]
    assert (await state(alice, link))["status"] == "pending"
    (await simulate(link, payment=first["id"])).ok(303)
    late = (await alice.get(f"/transactions/{first['id']}")).ok().body
    assert (late["status"], late["refund_required_reason"], late["late"]) == ("refund_required", "late", True)
    accepted = (await alice.post(f"/transactions/{first['id']}/accept")).ok().body
    assert (accepted["status"], await available(alice, "EUR")) == ("succeeded", 420)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_late_money_can_be_accepted_and_what_is_seen_in_time_is_in_time(alice: Actor) -> None:
    since = last_id()
    await accept_currencies(alice, "ETH", late_payments="accept")
    link, seen = await open_link(alice), await open_link(alice)
    (await choose(link, ETHER)).ok(303)
    assert (await pay_in_ether(alice, seen, "processing"))["status"] == "processing"
    (await alice.post("/test/clock/advance", A_QUARTER_OF_AN_HOUR)).ok()
    (await simulate(link)).ok(303)
    (await simulate(seen)).ok(303)
    [late], [in_time] = await transactions(alice, link), await transactions(alice, seen)
    assert [(one["status"], one["late"]) for one in (late, in_time)] == [("succeeded", True), ("succeeded", False)]
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (840, 0)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_the_currency_can_be_kept(alice: Actor) -> None:
    since, link = last_id(), await open_link(alice)
    await accept_currencies(alice, "ETH", settlement="keep")
    kept = await pay_in_ether(alice, link)
    assert (kept["status"], kept["price"]["settlement"]) == ("succeeded", "keep")
    assert (await available(alice, "ETH"), await conversions(alice)) == (COFFEE_IN_ETHER, [])
    paid = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (paid["status"], paid["amount_paid"]) == ("completed", "4.20")
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_refunds_and_chargebacks_cost_the_price_of_now(alice: Actor) -> None:
    since = last_id()
    await accept_currencies(alice, "ETH")
    link, disputed = await open_link(alice), await open_link(alice)
    paid, other = await pay_in_ether(alice, link), await pay_in_ether(alice, disputed)
    refunds = f"/transactions/{paid['id']}/refunds"
    half = (await alice.post(refunds, {"amount": "0.0007", "reason": "other"}, key="half")).ok(201).body
    assert (half["currency"], await available(alice, "EUR")) == ("ETH", 840 - 206)
    back = (await conversions(alice))[0]
    assert (back["from_amount_minor"], back["to_amount_minor"], back["reversal_id"]) == (206, 70_000, half["id"])
    (await alice.post(f"/test/refunds/{half['id']}/simulate", {"outcome": "fail"})).ok()
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (839, 0)  # each exchange is rounded
    (await simulate(disputed, "chargeback", payment=other["id"])).ok(303)
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (418, 0)
    assert (await alice.post(refunds, {"reason": "other"}, key="all")).body["error"] == "insufficient_funds"
    (await alice.post(refunds, {"amount": "0.0014", "reason": "other"}, key="most")).ok(201)
    assert await available(alice, "EUR") == 418 - 411
    (await simulate(disputed, "chargeback_won", payment=other["id"])).ok(303)
    assert (await available(alice, "EUR"), await available(alice, "ETH")) == (7 + 420, 0)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_the_countdown_is_as_long_as_its_link(alice: Actor) -> None:
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, expires_at=(clock.now() + timedelta(minutes=10)).isoformat())
    (await choose(link, ETHER)).ok(303)
    [begun] = await transactions(alice, link)
    assert f'<time datetime="{link["expires_at"]}" data-rate="{begun["created_at"]}"' in (await visit(link, alice)).ok().text


async def test_the_receipt_has_the_price_with_its_taxes(alice: Actor) -> None:
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, tax_lines=[{"name": "VAT 19%", "amount": "0.67"}])
    paid = await pay_in_ether(alice, link, "overpay", amount="0.0015")
    shown = (await visit(link, alice)).ok().text
    for line in ("€3.53", "€0.67", "€4.20", "0.00143229 ETH", "0.00006771 ETH", "0.0015 ETH"):
        assert line in shown, line
    page = (await alice.send("GET", f"/test/payments/{paid['id']}")).ok().text
    for text in ("€4.20", "€2,932.37</data> per ETH", "Conversions", "€4.39"):
        assert text in page, text


@pytest.mark.parametrize(
    ("expected", "spoil"),
    [
        ("I30 payments", "UPDATE conversions SET to_amount_minor = to_amount_minor - 1 WHERE merchant_id = $1"),
        ("I30 payments", "UPDATE conversions SET to_currency = 'USD' WHERE merchant_id = $1"),
        ("I30 no more", "UPDATE transactions SET settlement = 'keep' WHERE merchant_id = $1"),
        ("I30 refunds", "UPDATE conversions SET to_amount_minor = 1 WHERE reversal_id IS NOT NULL AND merchant_id = $1"),
        ("I7 a link is paid", "UPDATE payment_links SET amount_paid_minor = 419 WHERE merchant_id = $1"),
    ],
)
async def test_a_spoilt_conversion_is_noticed(alice: Actor, services: Services, expected: str, spoil: str) -> None:
    await accept_currencies(alice, "ETH")
    paid = await pay_in_ether(alice, await open_link(alice))
    (await alice.post(f"/transactions/{paid['id']}/refunds", {"amount": "0.0007"}, key="half")).ok(201)
    async with services.db.connection() as tx:
        work = tx.raw.transaction()
        await work.start()
        try:
            await tx.run(PAST_ALL_RULES)
            await tx.execute(spoil, UUID(alice.merchant_id))
            found = await invariants.find_all_violations(tx, INVARIANTS)
        finally:
            await work.rollback()
    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE transactions SET rate = NULL WHERE id = $1",
        "UPDATE transactions SET price_currency = currency WHERE id = $1",
        "UPDATE transactions SET rate_margin_bps = 5001 WHERE id = $1",
        "UPDATE transactions SET settlement = 'give_away' WHERE id = $1",
    ],
)
async def test_the_database_keeps_prices_whole(alice: Actor, spoil: str) -> None:
    await accept_currencies(alice, "ETH")
    paid = await pay_in_ether(alice, await open_link(alice))
    with pytest.raises(asyncpg.CheckViolationError, match="transactions_price"):
        await alice.sql(spoil, UUID(paid["id"]))


async def test_a_rule_does_not_convert_what_a_payment_converted(alice: Actor, services: Services) -> None:
    await accept_currencies(alice, "USD")
    (await rule(alice, from_currency="USD", to_currency="GBP")).ok(201)
    link = await open_link(alice)
    (await choose(link, "sandbox:USD")).ok(303)
    (await simulate(link)).ok(303)
    await fund(alice, "50.00", "USD")
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
    [made] = (await alice.get("/conversion-rules")).ok().body["conversion_rules"]
    await services.transact(lambda work: rules.apply(work, env, UUID(made["id"])), clock.now())
    assert [conversion["to_currency"] for conversion in await conversions(alice)] == ["EUR"]
    assert (await available(alice, "EUR"), await available(alice, "USD")) == (420, 5_000)
