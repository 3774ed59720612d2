"""The dashboard's pages about fulfillments, as a browser without scripts gets and posts them."""

import asyncio
import re

import msgspec
import pytest

from tests.cast import Actor, Answer, sign_up
from tests.forms import forms, hidden, post, read, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.running import CATALOGUE
from tests.transfers.fulfillments.depot import Depot
from tollhouse.kernel.catalogue.products import BUILT_IN

NEW = "/test/fulfillments/new/sandbox:gems"
FOR_ANNA = {"quantity": "5", "recipient.player_id": "anna"}
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/fulfillments/([0-9a-f-]{36})">')
STATISTICS = "/test/fulfillments/statistics"


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the fulfillments that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/fulfillments{query}"))


async def reviewed(actor: Actor, **changes: str) -> Answer:
    """The page that shows what it costs."""
    return await post(actor, NEW, 200, **FOR_ANNA | changes)


async def test_a_fulfillment_step_by_step(depot: Depot) -> None:
    shop = depot.actor
    assert "No fulfillments in test mode yet" in await seen(shop, "/test/fulfillments")
    assert f'<a class="hit" href="{NEW}">Gems</a>' in await seen(shop, "/test/fulfillments/new")
    form = await seen(shop, NEW)
    assert 'id="recipient.player_id"' in form
    assert '<option value="eu">eu</option>' in form
    page = await reviewed(shop, **{"recipient.server": "eu", "external_id": "gems-1"})
    assert "Deliver for €0.50" in page.text
    assert await depot.purse() == (1_000, 0)
    at = (await post(shop, f"{NEW}/confirm", **hidden(page))).location
    [made] = await rows(shop)
    assert at == f"/test/fulfillments/{made}"
    one = await seen(shop, at)
    for words in ("5 of Gems, Sandbox Quest", "anna", "gems-1", "is about to be requested from the game server", "€0.50"):
        assert words in one
    assert (await shop.get(f"/fulfillments/{made}")).ok().body["recipient"] == {"player_id": "anna", "server": "eu"}
    await depot.work()
    assert "The order was delivered in full." in await seen(shop, at)
    assert await depot.purse() == (950, 0)


async def test_posted_twice_it_is_ordered_once(depot: Depot) -> None:
    shop = depot.actor
    confirmed = hidden(await reviewed(shop, quantity="60"))
    responses = await asyncio.gather(*(post(shop, f"{NEW}/confirm", **confirmed) for _ in range(4)))
    responses.append(await post(shop, f"{NEW}/confirm", **confirmed))
    [made] = await rows(shop)
    assert {answer.location for answer in responses} == {f"/test/fulfillments/{made}"}
    assert await depot.purse() == (400, 600)
    refused = await post(shop, f"{NEW}/confirm", 422, **confirmed | {"quantity": "1"})
    assert "was used for a different request" in refused.text
    assert await rows(shop) == [made]


async def test_without_a_key_or_price_nothing_is_ordered(depot: Depot) -> None:
    shop = depot.actor
    confirmed = hidden(await reviewed(shop))
    for left_out in ("key", "max_cost"):
        fields = {name: value for name, value in confirmed.items() if name != left_out}
        assert "Confirm fulfillment" in (await post(shop, f"{NEW}/confirm", 200, **fields)).text
    assert await rows(shop) == []


async def test_a_price_that_has_risen_is_shown_first(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = depot.actor
    confirmed = hidden(await reviewed(shop))
    dearer = msgspec.structs.replace(BUILT_IN["sandbox:gems"], unit_price_minor=11)
    monkeypatch.setitem(CATALOGUE.products, "sandbox:gems", dearer)
    again = await post(shop, f"{NEW}/confirm", 409, **confirmed)
    assert "The price has increased." in again.text
    assert await rows(shop) == []
    await post(shop, f"{NEW}/confirm", **hidden(again))
    assert await depot.purse() == (945, 55)


async def test_what_is_wrong_is_said_at_its_field(depot: Depot) -> None:
    shop = depot.actor
    (await depot.order(external_id="used")).ok(201)
    for changes, at in (
        ({"quantity": "0"}, {"quantity"}),
        ({"quantity": "1.5"}, {"quantity"}),
        ({"quantity": "\u0665"}, {"quantity"}),
        ({"quantity": "1000001"}, {"quantity"}),
        ({"quantity": "1000"}, {"quantity"}),
        ({"recipient.player_id": "", "quantity": ""}, {"quantity", "recipient.player_id"}),
        ({"recipient.server": "moon"}, {"recipient.server"}),
        ({"external_id": "used"}, {"external_id"}),
        ({"webhook_url": "ftp://host/"}, {"webhook_url"}),
    ):
        page = await post(shop, NEW, 409 if at == {"external_id"} else 422, **FOR_ANNA | changes)
        assert wrong(page).keys() == at, changes
        assert "Check the highlighted fields and try again." in page.text
    form = (await post(shop, NEW, 200, **hidden(await reviewed(shop)) | {"change": "yes"})).text
    assert 'value="anna"' in form


async def test_fields_of_any_kind(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = depot.actor
    kinds = {
        "level": {"type": "integer", "title": "Her level", "description": "As the game shows it."},
        "gift": {"type": "boolean"},
        "slot": {"enum": [1, 2]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "region": {"type": "string", "enum": ["EU", "na_west"]},
    }
    schema = {"type": "object", "additionalProperties": False, "required": ["level"], "properties": kinds}
    monkeypatch.setitem(
        CATALOGUE.products, "sandbox:gems", msgspec.structs.replace(BUILT_IN["sandbox:gems"], recipient_schema=schema)
    )
    form = await seen(shop, NEW)
    for words in (
        "Her level",
        "As the game shows it.",
        '<option value="true">Yes</option>',
        '<option value="2">2</option>',
        '<option value="EU">EU</option>',
        '<option value="na_west">na_west</option>',
    ):
        assert words in form
    typed = {
        f"recipient.{name}": value for name, value in {"level": "7", "gift": "true", "slot": "2", "tags": '["a"]'}.items()
    }
    review = await post(shop, NEW, 200, quantity="1", **typed | {"recipient.region": "na_west"})
    assert "<dt>Region</dt><dd>na_west</dd>" in read(review.text)
    await post(shop, f"{NEW}/confirm", **hidden(await post(shop, NEW, 200, quantity="1", **typed)))
    [made] = await rows(shop)
    kept = (await shop.get(f"/fulfillments/{made}")).ok().body["recipient"]
    assert kept == {"level": 7, "gift": True, "slot": 2, "tags": ["a"]}
    for name, value in (
        ("level", "seven"),
        ("gift", "maybe"),
        ("slot", "3"),
        ("tags", "[1]"),
        ("tags", "[" * 9_000),
        ("level", ""),
    ):
        page = await post(shop, NEW, 422, quantity="1", **typed | {f"recipient.{name}": value})
        assert wrong(page).keys() == {f"recipient.{name}"}


async def test_canceling(depot: Depot) -> None:
    shop = depot.actor
    made = await depot.order_for("anna")
    at = f"/test/fulfillments/{made['id']}"
    for _ in range(2):
        assert (await post(shop, f"{at}/cancel")).location == at
    assert "The fulfillment was canceled." in await seen(shop, at)
    assert await depot.purse() == (1_000, 0)
    other = await depot.order_for("anna")
    await depot.done(other)
    assert "can no longer be canceled" in (await post(shop, f"/test/fulfillments/{other['id']}/cancel", 409)).text


async def test_they_are_listed_filtered_and_paged(depot: Depot) -> None:
    shop = depot.actor
    ids = [(await depot.order_for("anna"))["id"] for _ in range(3)][::-1]
    await post(shop, f"/test/fulfillments/{ids[1]}/cancel")
    assert await rows(shop) == ids
    assert await rows(shop, "?limit=2&page=2") == ids[2:]
    assert await rows(shop, "?status=canceled&product_id=sandbox%3Agems") == [ids[1]]
    assert "No fulfillments match these filters." in await seen(shop, "/test/fulfillments?product_id=nonsense")
    assert "Page 9 has no entries." in await seen(shop, "/test/fulfillments?page=9")
    await seen(shop, "/test/fulfillments?status=lost", 422)
    assert await rows(shop, mode="live") == []
    assert "No products are available in live mode." in await seen(shop, "/live/fulfillments/new")


async def test_statistics(depot: Depot) -> None:
    shop = depot.actor
    assert "No fulfillments were ordered in this period." in await seen(shop, STATISTICS)
    for outcome in ("complete", "partial", "fail"):
        (await depot.simulate(await depot.order_for("anna"), outcome)).ok()
    shown = await seen(shop, STATISTICS)
    assert "66.67%" in shown
    assert "€0.80" in shown
    assert shown.count('<path class="now"') == 1
    by_product = await seen(shop, f"{STATISTICS}?group_by=product&from=&to=")
    assert "Gems, Sandbox Quest</th>" in by_product
    assert by_product.count('<svg class="bar"') == 1
    assert "Sandbox Quest</th>" in await seen(shop, f"{STATISTICS}?group_by=game")
    assert '<th role="rowheader" scope="row" class="lead b r1">partially completed</th>' in await seen(
        shop, f"{STATISTICS}?group_by=status"
    )
    assert "No fulfillments were ordered in this period." in await seen(shop, f"{STATISTICS}?from=2025-01-01&to=2025-02-01")
    refused = await shop.send("GET", f"{STATISTICS}?from=yesterday&to=2025-02-01")
    assert wrong(refused.ok(422)).keys() == {"from"}
    await seen(shop, f"{STATISTICS}?group_by=planet", 422)


async def test_nobody_elses(depot: Depot) -> None:
    made = await depot.order_for("anna")
    at = f"/test/fulfillments/{made['id']}"
    async with sign_up(depot.actor.service, "neighbour", "The Other Shop") as neighbour:
        await refuses_strangers(depot.actor, neighbour, at)
        await post(neighbour, f"{at}/cancel", 404)
        confirmed = hidden(await reviewed(depot.actor))
        assert "does not cover" in wrong(await post(neighbour, f"{NEW}/confirm", 422, **confirmed))["quantity"]
    for path in ("/live/fulfillments/new/sandbox:gems", "/test/fulfillments/new/nothing:gold"):
        await seen(depot.actor, path, 404)


async def test_who_may_post(depot: Depot) -> None:
    shop = depot.actor
    made = await depot.order_for("anna")
    at = f"/test/fulfillments/{made['id']}"
    await refuses_foreign_forms(shop, NEW, f"{NEW}/confirm", f"{at}/cancel")
    for path in ("/test/fulfillments", "/test/fulfillments/new", NEW, at):
        shown = await seen(shop, path)
        assert "This account is suspended." in shown
        assert forms(shown) == ["/signout"]
