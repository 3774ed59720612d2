"""The dashboard's pages about conversions and their rules, as a browser without scripts gets and posts them."""

import asyncio
import re
from uuid import uuid4

from tests.cast import Actor, Answer, sign_up
from tests.forms import forms, hidden, left_s, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.transfers.conversions.steps import available, convert, fund, rule

NEW = "/test/conversions/new"
RULES = "/test/conversions/rules"
TEN_EUROS = {"from_currency": "EUR", "to_currency": "USD", "amount": "10.00"}
ALL_INTO_DOLLARS = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment", "percent": "100"}
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/conversions/([0-9a-f-]{36})">')


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the conversions that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/conversions{query}"))


async def reviewed(actor: Actor, **changes: str) -> Answer:
    """The page that shows what it brings."""
    return await post(actor, NEW, 200, **TEN_EUROS | changes)


async def rule_as_it_is(actor: Actor) -> dict[str, object]:
    """The merchant's only rule."""
    [found] = (await actor.get("/conversion-rules")).ok().body["conversion_rules"]
    return found


async def test_a_conversion_step_by_step(shop: Actor) -> None:
    assert "No conversions in test mode yet" in await seen(shop, "/test/conversions")
    assert "No balance" in await seen(shop, NEW)
    await fund(shop)
    assert "<dt>EUR</dt><dd>€100.00</dd>" in await seen(shop, NEW)
    page = await reviewed(shop, external_id="dollars-1")
    assert "$10.84" in page.text
    assert await available(shop, "EUR") == 10_000
    at = (await post(shop, f"{NEW}/confirm", **hidden(page))).location
    [made] = await rows(shop)
    assert at == f"/test/conversions/{made}"
    one = await seen(shop, at)
    for words in ("€10.00", "$10.84", "1 EUR = $1.0842", "dollars-1"):
        assert words in one
    assert (await available(shop, "EUR"), await available(shop, "USD")) == (9_000, 1_084)


async def test_the_summary_has_the_amounts_of_a_quote(shop: Actor) -> None:
    await fund(shop)
    quotes = await shop.sql("SELECT count(*) FROM conversion_quotes")
    query = "from_currency=EUR&to_currency=USD"
    assert "enter an amount to see the rate" in await seen(shop, f"{NEW}?{query}")
    for typed in ("amount=10,00", "to_amount=10.84"):
        page = await seen(shop, f"{NEW}?{query}&{typed}")
        for text in ("$10.84", "€10.00", "1 EUR = $1.0842", "€90.00"):
            assert text in page
    assert "Your balance is too low." in await seen(shop, f"{NEW}?{query}&amount=100.01")
    live = await seen(shop, f"/live/conversions/new?{query}&amount=1")
    assert "This currency pair is currently unavailable." in live
    assert await shop.sql("SELECT count(*) FROM conversion_quotes") == quotes


async def test_by_what_is_wanted(shop: Actor) -> None:
    await fund(shop)
    page = await reviewed(shop, amount="", to_amount="10.84")
    assert "Convert €10.00" in page.text
    await post(shop, f"{NEW}/confirm", **hidden(page))
    assert await available(shop, "USD") == 1_084


async def test_posted_twice_it_is_one_conversion(shop: Actor) -> None:
    await fund(shop, "15.00")
    confirmed = hidden(await reviewed(shop))
    responses = await asyncio.gather(*(post(shop, f"{NEW}/confirm", **confirmed) for _ in range(4)))
    responses.append(await post(shop, f"{NEW}/confirm", **confirmed))
    [made] = await rows(shop)
    assert {answer.location for answer in responses} == {f"/test/conversions/{made}"}
    assert await available(shop, "EUR") == 500


async def test_a_quote_that_is_over_is_made_anew(shop: Actor) -> None:
    await fund(shop)
    first = hidden(await reviewed(shop))
    await shop.sql(
        "UPDATE conversion_quotes SET created_at = now() - interval '2 m', expires_at = now() - interval '1 m'"
        " WHERE id = $1::uuid",
        first["quote_id"],
    )
    for quote_id in (first["quote_id"], str(uuid4())):
        again = await post(shop, f"{NEW}/confirm", 409, **first | {"quote_id": quote_id})
        assert "The quote has expired." in again.text
    review = (await post(shop, f"{NEW}/confirm", 200, **TEN_EUROS)).text
    assert "Confirm conversion" in review
    assert left_s(review) == 30
    assert await rows(shop) == []
    await post(shop, f"{NEW}/confirm", **hidden(again))
    assert len(await rows(shop)) == 1


async def test_what_is_wrong_is_said_at_its_field(shop: Actor) -> None:
    await fund(shop)
    for changes, at in (
        ({"amount": "ten"}, {"amount"}),
        ({"amount": ""}, {"amount"}),
        ({"to_amount": "1.00"}, {"amount"}),
        ({"amount": "100.01"}, {"amount"}),
        ({"amount": "", "to_amount": "1000.00"}, {"to_amount"}),
        ({"amount": "0.00"}, {"amount"}),
        ({"to_currency": "EUR"}, {"to_currency"}),
        ({"from_currency": "", "to_currency": "XXX"}, {"from_currency", "to_currency"}),
        ({"to_currency": "BTC"}, {"to_currency"}),
    ):
        page = await post(shop, NEW, 422, **TEN_EUROS | {"external_id": "Kept"} | changes)
        assert wrong(page).keys() == at, changes
        assert "Check the highlighted fields and try again." in page.text
        assert 'value="Kept"' in page.text
    confirmed = hidden(await reviewed(shop, webhook_url="ftp://host/"))
    assert wrong(await post(shop, f"{NEW}/confirm", 422, **confirmed)).keys() == {"webhook_url"}
    form = (await post(shop, NEW, 200, **confirmed | {"change": "yes"})).text
    assert 'value="10.00"' in form
    assert '<option value="USD" selected>' in form


async def test_a_live_pair_without_a_price(shop: Actor) -> None:
    page = await post(shop, "/live/conversions/new", 422, **TEN_EUROS)
    assert wrong(page) == {"to_currency": "This currency pair is currently unavailable."}


async def test_they_are_listed_filtered_and_paged(shop: Actor) -> None:
    await fund(shop)
    into_yen = TEN_EUROS | {"to_currency": "JPY"}
    ids = [(await convert(shop, body)).ok(201).body["id"] for body in (TEN_EUROS, into_yen, TEN_EUROS)][::-1]
    assert await rows(shop) == ids
    assert await rows(shop, "?currency=JPY") == [ids[1]]
    assert await rows(shop, "?currency=EUR&limit=1&page=3") == [ids[2]]
    assert 'href="?limit=2&currency=EUR&page=2"' in await seen(shop, "/test/conversions?currency=EUR&limit=2")
    assert "No conversions match these filters." in await seen(shop, "/test/conversions?currency=XXX")
    assert "Page 9 has no entries." in await seen(shop, "/test/conversions?page=9")
    assert await rows(shop, mode="live") == []


async def test_a_rule_is_made_paused_resumed_and_deleted(shop: Actor) -> None:
    assert "No rules in test mode yet" in await seen(shop, RULES)
    asked = ALL_INTO_DOLLARS | {"trigger": "on_threshold", "threshold": "50.00", "percent": "40"}
    assert (await post(shop, RULES, **asked)).location == f"{RULES}?done=made"
    made = await rule_as_it_is(shop)
    assert (made["threshold"], made["percent"], made["enabled"]) == ("50.00", 40, True)
    assert made["created_by"] == {"type": "dashboard", "oauth_client_id": None}
    page = await seen(shop, f"{RULES}?done=made")
    assert "Rule created." in page
    assert "40% of the balance when it reaches €50.00" in page
    at = f"{RULES}/{made['id']}"
    for _ in range(2):
        assert (await post(shop, f"{at}/pause", seen="1")).location == f"{RULES}?done=paused"
    assert (await rule_as_it_is(shop))["enabled"] is False
    assert "The rule has changed" in (await post(shop, f"{at}/resume", 409, seen="1")).text
    await post(shop, f"{at}/resume", 400)
    await post(shop, f"{at}/resume", seen="2")
    resumed = await rule_as_it_is(shop)
    assert (resumed["threshold"], resumed["percent"], resumed["enabled"]) == ("50.00", 40, True)
    for _ in range(2):
        assert (await post(shop, f"{at}/delete")).location == f"{RULES}?done=deleted"
    assert (await shop.get("/conversion-rules")).ok().body["conversion_rules"] == []


async def test_what_is_wrong_with_a_rule(shop: Actor) -> None:
    for changes, at in (
        ({"percent": "0"}, {"percent"}),
        ({"percent": "101"}, {"percent"}),
        ({"percent": ""}, {"percent"}),
        ({"trigger": "on_threshold"}, {"threshold"}),
        ({"threshold": "5.00"}, {"threshold"}),
        ({"trigger": "always"}, {"trigger"}),
        ({"from_currency": "", "to_currency": ""}, {"from_currency", "to_currency"}),
        ({"to_currency": "BTC"}, {"to_currency"}),
        ({"webhook_url": "ftp://host/"}, {"webhook_url"}),
    ):
        assert wrong(await post(shop, RULES, 422, **ALL_INTO_DOLLARS | changes)).keys() == at, changes
    await post(shop, RULES, **ALL_INTO_DOLLARS)
    again = await post(shop, RULES, 409, **ALL_INTO_DOLLARS | {"to_currency": "GBP"})
    assert wrong(again) == {"from_currency": "The rule conflicts with another rule."}
    assert len((await shop.get("/conversion-rules")).ok().body["conversion_rules"]) == 1


async def test_nobody_elses(shop: Actor) -> None:
    await fund(shop)
    made = (await convert(shop)).ok(201).body
    made_rule = (await rule(shop)).ok(201).body
    confirmed = hidden(await reviewed(shop))
    async with sign_up(shop.service, "neighbour", "The Other Shop") as neighbour:
        await refuses_strangers(shop, neighbour, f"/test/conversions/{made['id']}")
        await fund(neighbour)
        assert "The quote has expired." in (await post(neighbour, f"{NEW}/confirm", 409, **confirmed)).text
        await post(neighbour, f"{RULES}/{made_rule['id']}/pause", 404, seen="1")
        await post(neighbour, f"{RULES}/{made_rule['id']}/delete")
        assert "No rules" in await seen(neighbour, RULES)
    assert (await rule_as_it_is(shop))["version"] == 1


async def test_who_may_post(shop: Actor) -> None:
    made_rule = (await rule(shop)).ok(201).body
    at = f"{RULES}/{made_rule['id']}"
    await refuses_foreign_forms(shop, NEW, f"{NEW}/confirm", RULES, f"{at}/pause", f"{at}/resume", f"{at}/delete")
    for path in ("/test/conversions", NEW, RULES):
        shown = await seen(shop, path)
        assert "This account is suspended." in shown
        assert forms(shown) == ["/signout"]
    assert (await shop.sql("SELECT enabled FROM conversion_rules WHERE id = $1::uuid", made_rule["id"]))[0]["enabled"]
