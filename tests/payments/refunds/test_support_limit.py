"""The role Support refunds at most what an owner allows of a payment, by the page and by approving a proposal."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cast import Actor, Answer, application, member
from tests.forms import hidden
from tests.payments.bank import fresh, sell
from tests.payments.proposals.desk import Desk

FORM = {"amount": "4.00", "reason": "duplicate"}


@pytest.fixture
async def sam(alice: Actor) -> AsyncIterator[Actor]:
    """Sam answers customers of Alice."""
    async with member(alice, "support", "sam") as actor:
        yield actor


async def allow(owner: Actor, **amounts: str) -> None:
    """Let Support refund so much."""
    limits = [{"currency": currency, "amount": amount} for currency, amount in amounts.items()]
    (await owner.dashboard("PUT", "/team", {"support_refunds": limits})).ok()


async def refund(actor: Actor, payment: dict[str, Any], **changes: str) -> Answer:
    """Review a refund and confirm it."""
    path = f"/test/payments/{payment['id']}/refund"
    shown = await actor.form(path, FORM | changes)
    return shown if shown.status != 200 else await actor.form(path + "/confirm", hidden(shown))


async def test_by_the_page(alice: Actor, sam: Actor) -> None:
    paid = await sell(alice)
    (await refund(sam, paid)).refused("role_forbidden", 403)
    await allow(alice, USD="100.00")
    (await refund(sam, paid)).refused("role_forbidden", 403)
    await allow(alice, EUR="5.00")
    (await refund(sam, paid, amount="5.01")).refused("role_forbidden", 403)
    (await refund(sam, paid, receiver="Mallory")).refused("role_forbidden", 403)
    assert (await fresh(alice, paid))["refunds"] == []
    (await refund(sam, paid)).ok(303)
    (await refund(sam, paid, amount="1.01")).refused("role_forbidden", 403)
    (await refund(sam, paid, amount="1.00")).ok(303)
    (await refund(alice, paid, amount="1.01")).ok(303)
    assert [made["amount"] for made in (await fresh(alice, paid))["refunds"]] == ["1.01", "1.00", "4.00"]


async def test_by_a_proposal(alice: Actor, bob: Actor, sam: Actor) -> None:
    paid = await sell(alice)
    app = await application(bob)
    desk = Desk(app, alice, await app.connect(alice, "payments:write withdrawals:write"))
    body = {"transaction_id": paid["id"], "amount": "4.00", "reason": "duplicate"}
    await allow(alice, EUR="5.00")
    proposals = [await desk.propose("refunds", body | {"amount": amount}) for amount in ("5.01", "4.00", "1.01")]
    approvals = [f"/proposals/{proposal['id']}/approve" for proposal in proposals]
    (await sam.dashboard("POST", approvals[0])).refused("role_forbidden", 403)
    assert (await sam.dashboard("POST", approvals[1])).ok().body["status"] == "approved"
    (await sam.dashboard("POST", approvals[2])).refused("role_forbidden", 403)
    other = await desk.propose("refunds", body | {"amount": "0.50", "receiver": "Mallory"})
    (await sam.dashboard("POST", f"/proposals/{other['id']}/approve")).refused("role_forbidden", 403)
    paying = await desk.propose("withdrawals", receiver="Mallory", amount="1.00")
    for decision in ("approve", "reject"):
        (await sam.dashboard("POST", f"/proposals/{paying['id']}/{decision}")).refused("role_forbidden", 403)
        page = await sam.form(f"/test/proposals/{paying['id']}/{decision}", {})
        page.refused("role_forbidden", 403)
    assert [made["amount"] for made in (await fresh(alice, paid))["refunds"]] == ["4.00"]
    assert (await alice.dashboard("POST", approvals[2])).ok().body["status"] == "approved"
