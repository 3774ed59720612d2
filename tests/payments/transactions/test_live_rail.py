"""Live money over a rail that is not the sandbox: taken, settled, and given back only to where it can be brought."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.payments.bank import until
from tests.payments.courier import COURIER, Courier
from tests.payments.shop import COFFEE, approve_project, choose, visit
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import Observation
from tollhouse.pages.console import reviews
from tollhouse.payments.refunds import reversals


@pytest.fixture
async def services(service: Service, services: Services) -> AsyncIterator[Services]:
    """Services on the same database, to report to as a rail's job would."""
    yield services
    assert await broken_invariants(service.dsn) == []


@pytest.mark.long
@pytest.mark.covers("P-80")
async def test_a_refund_needs_its_receiver(alice: Actor, courier: Courier, services: Services) -> None:
    await approve_project(alice, "live")
    link = (await alice.post("/payment-links", COFFEE, mode="live")).ok(201).body
    (await choose(link, COURIER.method_id)).ok(303)
    page = (await visit(link, alice)).ok().text
    assert "Leave it at the kiosk." in page
    assert 'data-copy-value="Kiosk 7, Quay Street"' in page
    assert "Test simulator" not in page
    [paid] = (await alice.get("/transactions", mode="live")).ok().body["transactions"]
    seen = Observation(
        reference=f"ticket-{paid['id']}", outcome="confirmed", external_ref=str(uuid4()), amount_minor=420, currency="EUR"
    )
    assert (await alice.send("GET", "/")).ok(303).location == "/test/home"
    assert await reversals.observe(services, courier.name, courier.mode, seen, clock.now()) is not None
    assert (await alice.send("GET", "/")).ok(303).location == "/live/home", "a merchant with live payments opens live"
    assert 'href="/live/home"' in (await alice.send("GET", "/settings/business")).ok().text

    path = f"/transactions/{paid['id']}/refunds"
    missing = (await alice.post(path, {}, key="r", mode="live")).refused("receiver_required", 422)
    assert [problem["field"] for problem in missing.body["errors"]] == ["receiver"]
    assert (await alice.post(path, {"receiver": "Window 3"}, key="r", mode="live")).field_errors() == {
        "receiver": "invalid_value"
    }
    assert (await alice.get("/refunds", mode="live")).ok().body["refunds"] == []
    assert (await alice.get("/balances/EUR", mode="live")).ok().body["available"] == "4.20"

    back = (await alice.post(path, {"receiver": "Door 3"}, key="r", mode="live")).ok(201).body
    assert (back["receiver"], back["review"]) == ("Door 3", "required")
    context = OperatorContext("olga@house.example", clock.now())
    await reviews.approve(services, reviews.REFUNDS, UUID(back["id"]), context)
    done = await until(alice, f"/refunds/{back['id']}", "succeeded", mode="live")
    assert done["provider_reference"] == f"trip-{back['id']}"
    assert courier.carried[back["id"]].receiver == "Door 3"
    assert (await alice.get("/balances/EUR", mode="live")).ok().body["total"] == "0.00"
