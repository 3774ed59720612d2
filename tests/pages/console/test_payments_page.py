"""Operators find a payment of any merchant by what a customer or merchant can say about it."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.shop import choose
from tests.running import Service


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga runs the house."""
    async with signed_in_operator(service, "olga") as actor:
        yield actor


async def is_listed(olga: Actor, payment_id: str) -> bool:
    """Whether the list shows the payment. Other tests leave payments of a later time, which stand before it."""
    for page in range(1, 51):
        shown = (await olga.send("GET", f"/operator/payments?limit=100&page={page}")).ok().text
        if payment_id in shown or "No payments" in shown:
            return payment_id in shown
    return False


async def test_a_payment_is_found_by_what_is_known_of_it(alice: Actor, carol: Actor, olga: Actor) -> None:
    mark = uuid4().hex[:12]
    found: dict[str, tuple[str, str, str]] = {}
    for actor in (alice, carol):
        body = {
            "display_name": f"Tea {mark} 100%",
            "amount": "10.00",
            "currency": "EUR",
            "external_id": f"{actor.email[:5]}-{mark}",
            "customer_email": f"{actor.email[:5]}-{mark}@customer.example",
        }
        link = (await actor.post("/payment-links", body)).ok(201).body
        payment_id = (await choose(link, "sandbox:EUR")).ok(303).query["payment"]
        [row] = await actor.sql("SELECT rail_reference FROM transactions WHERE id = $1::uuid", payment_id)
        found[actor.email] = (payment_id, link["id"], row["rail_reference"])
    mine, other = found[alice.email], found[carol.email]

    async def search(text: str) -> str:
        return (await olga.send("GET", "/operator/payments", params={"search": text, "limit": "100"})).ok().text

    for text in (*mine, f"{alice.email[:5]}-{mark}", f"{alice.email[:5]}-{mark}@cust"):
        shown = await search(text)
        assert mine[0] in shown, text
        assert other[0] not in shown, text
    both = await search(f"tea {mark} 100%")
    assert mine[0] in both
    assert other[0] in both
    assert "No payments match this search." in await search("100_" + mark)
    assert await is_listed(olga, mine[0])
    assert "Times are in UTC." in both
