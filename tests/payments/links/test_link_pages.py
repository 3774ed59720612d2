"""The dashboard's pages about payment links, as a browser without scripts gets and posts them."""

import asyncio
import re
from datetime import datetime, timedelta
from uuid import uuid4

from tests.cast import Actor
from tests.forms import forms, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.payments.bank import attempt
from tests.payments.shop import approve_project, let_expire, open_link, pay, visit

NEW = "/test/payment-links/new"
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/payment-links/([0-9a-f-]{36})">')
KEY = re.compile(r'name="key" value="([^"]+)"')
TEA = {"display_name": "Tea", "amount": "3.50", "currency": "EUR", "max_payments": "1"}


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the links that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/payment-links{query}"))


async def key(actor: Actor) -> str:
    """That of a form that was just opened."""
    return KEY.findall(await seen(actor, NEW))[0]


async def test_one_is_made_looked_at_and_paid(alice: Actor) -> None:
    assert "No payment links in test mode yet" in await seen(alice, "/test/payment-links")
    more = {"description": "With milk", "external_id": "tea-1", "customer_email": "nina@example.com", "expires": "7d"}
    at = (await post(alice, NEW, **TEA | more | {"key": await key(alice)})).location
    [made] = await rows(alice)
    assert at == f"/test/payment-links/{made}"
    kept = (await alice.get(f"/payment-links/{made}")).ok().body
    assert (kept["amount"], kept["max_payments"], kept["created_by"]["type"]) == ("3.50", 1, "dashboard")
    assert (kept["description"], kept["external_id"], kept["customer_email"]) == (
        "With milk",
        "tea-1",
        "nina@example.com",
    )
    lives = datetime.fromisoformat(kept["expires_at"]) - datetime.fromisoformat(kept["created_at"])
    assert lives == timedelta(days=7)
    one = await seen(alice, at)
    for words in (
        "Active. Customers can pay it.",
        f'value="{kept["url"]}"',
        "data:image/png",
        "Cancel payment link",
        "tea-1",
    ):
        assert words in one
    assert "Tea" in (await visit(kept, alice)).ok().text
    await pay(kept)
    paid = await seen(alice, at)
    assert "Completed. The maximum number of payments was reached." in paid
    assert "1 of 1" in paid
    assert "data:image/png" not in paid


async def test_posted_twice_it_is_one_link(alice: Actor) -> None:
    fields = TEA | {"key": await key(alice)}
    responses = await asyncio.gather(*(post(alice, NEW, **fields) for _ in range(3)))
    [made] = await rows(alice)
    assert {answer.location for answer in responses} == {f"/test/payment-links/{made}"}
    other = await post(alice, NEW, 422, **fields | {"amount": "4.00"})
    assert "This form has already created a payment link." in other.text
    await post(alice, NEW, **fields | {"amount": "4.00", "key": KEY.findall(other.text)[0]})
    assert len(await rows(alice)) == 2
    await post(alice, NEW, 200, **TEA)
    assert len(await rows(alice)) == 2


async def test_what_is_wrong_is_said_at_its_field(alice: Actor) -> None:
    for changes, fields in (
        ({"display_name": ""}, {"display_name"}),
        ({"amount": "3,500", "max_payments": "0"}, {"amount", "max_payments"}),
        ({"max_payments": "often"}, {"max_payments"}),
        ({"customer_email": "nina"}, {"customer_email"}),
        ({"success_url": "ftp://host/"}, {"success_url"}),
        ({"cancel_url": "host"}, {"cancel_url"}),
        ({"webhook_url": "ftp://host/", "external_id": "x" * 129}, {"webhook_url", "external_id"}),
        ({"payment_method_ids": "sandbox:USD"}, {"payment_method_ids"}),
        ({"description": "x" * 1001}, {"description"}),
        ({"currency": "XXX"}, {"currency"}),
    ):
        page = await post(alice, NEW, 422, **TEA | {"description": "Kept", "key": await key(alice)} | changes)
        assert wrong(page).keys() == fields, changes
        assert "Check the highlighted fields and try again." in page.text
        assert "description" in changes or ">Kept</textarea>" in page.text
    await approve_project(alice, "test")
    page = await post(alice, NEW, 422, **TEA | {"key": await key(alice)})
    assert wrong(page).keys() == {"project_id"}
    for changes in ({"expires": "never"}, {"project_id": "mine"}):
        (await alice.form(NEW, TEA | changes)).refused("validation_failed", 422)
    assert await rows(alice) == []


async def test_an_amount_may_have_a_decimal_comma(alice: Actor) -> None:
    at = (await post(alice, NEW, **TEA | {"amount": "24,90", "key": await key(alice)})).location
    assert (await alice.get(f"/payment-links/{at.rpartition('/')[2]}")).ok().body["amount"] == "24.90"


async def test_without_a_limit_in_one_way(alice: Actor) -> None:
    fields = {"max_payments": "", "payment_method_ids": "sandbox:EUR", "key": await key(alice)}
    at = (await post(alice, NEW, **TEA | fields)).location
    kept = (await alice.get(f"/payment-links/{at.rpartition('/')[2]}")).ok().body
    assert (kept["max_payments"], kept["payment_method_ids"]) == (None, ["sandbox:EUR"])
    assert "0, no limit" in await seen(alice, at)


async def test_time_goes_by_the_clock_of_the_environment(alice: Actor) -> None:
    (await alice.post("/test/clock/advance", {"seconds": 90 * 86_400})).ok()
    at = (await post(alice, NEW, **TEA | {"expires": "1h", "key": await key(alice)})).location
    assert "Active. Customers can pay it." in await seen(alice, at)


async def test_canceling_needs_a_confirmation(alice: Actor) -> None:
    link = await open_link(alice, display_name="Fish & <chips>")
    at = f"/test/payment-links/{link['id']}"
    assert "Cancel payment link “Fish & <chips>”?" in await seen(alice, f"{at}/cancel")
    for _ in range(2):
        assert (await post(alice, f"{at}/cancel")).location == at
    assert "Canceled. Customers can no longer pay it." in await seen(alice, at)
    assert (await alice.send("GET", f"{at}/cancel")).ok(303).location == at
    over = await open_link(alice)
    await let_expire(alice, over)
    late = await post(alice, f"/test/payment-links/{over['id']}/cancel", 409)
    assert "so it was not canceled." in late.text


async def test_they_are_listed_filtered_and_turned(alice: Actor) -> None:
    made = [await open_link(alice, external_id=f"n-{n}", max_payments=None) for n in range(3)][::-1]
    ids = [link["id"] for link in made]
    first = await seen(alice, "/test/payment-links?limit=2")
    assert ROW.findall(first) == ids[:2]
    assert f'href="/test/payment-links?limit=2&before={ids[1]}"' in first
    assert await rows(alice, f"?limit=2&before={ids[1]}") == ids[2:]
    await post(alice, f"/test/payment-links/{ids[0]}/cancel")
    await let_expire(alice, made[1])
    assert await rows(alice, "?status=expired") == [ids[1]]
    assert await rows(alice, "?status=active") == [ids[2]]
    assert await rows(alice, "?reference=n-0") == [ids[2]]
    assert await rows(alice, f"?project_id={made[0]['project_id']}&currency=EUR") == [ids[0], ids[2], ids[1]]
    assert "No payment links match these filters." in await seen(alice, "/test/payment-links?project_id=mine")
    assert "There are no more entries." in await seen(alice, f"/test/payment-links?before={ids[1]}")
    for query in ("?status=lost", "?page=1", "?before=x"):
        await seen(alice, f"/test/payment-links{query}", 422)
    assert await rows(alice, mode="live") == []
    for _ in range(11):
        await attempt(alice, made[2], "fail")
    one = await seen(alice, f"/test/payment-links/{ids[2]}")
    assert f'href="/test/payments?payment_link_id={ids[2]}"' in one
    assert one.count('<a class="hit" href="/test/payments/') == 10


async def test_nobody_elses(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice)
    at = f"/test/payment-links/{link['id']}"
    await refuses_strangers(alice, carol, at, f"{at}/cancel")
    await post(carol, f"{at}/cancel", 404)
    assert await rows(carol) == []
    page = await seen(alice, "/live/payment-links/new")
    assert "Live payments require an approved project." in page
    fields = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR", "max_payments": "1", "key": str(uuid4())}
    assert "Live payments require an approved project." in (await post(alice, "/live/payment-links/new", 422, **fields)).text
    assert await rows(alice, mode="live") == []


async def test_who_may_post(alice: Actor) -> None:
    link = await open_link(alice)
    at = f"/test/payment-links/{link['id']}"
    await refuses_foreign_forms(alice, NEW, f"{at}/cancel")
    for path in ("/test/payment-links", NEW, at, f"{at}/cancel"):
        shown = await seen(alice, path)
        assert "This account is suspended." in shown
        assert {*forms(shown)} <= {"/signout", f"{at}/cancel"}
