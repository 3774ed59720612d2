"""Disputes: evidence, submission, acceptance and deadlines, by the API and its jobs."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor, Answer
from tests.forms import seen
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import fresh, play, purse, sell, until
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.disputes import DisputeOrder, DisputeSubmission
from tollhouse.payments.disputes import actions
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.refunds.chargeback_responses_store import DueResponse
from tollhouse.rails.sandbox.provider import SANDBOX

DAYS_14 = 14 * 86_400
TRACKING = {"shipping_carrier": "DHL", "shipping_tracking_number": "4711"}


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


async def disputed(actor: Actor, **changes: Any) -> dict[str, Any]:
    """The dispute of a new payment."""
    payment = await sell(actor, "chargeback", **changes)
    return (await actor.get(f"/disputes/{payment['chargeback']['id']}")).ok().body


async def save(actor: Actor, dispute: dict[str, Any], **evidence: Any) -> Answer:
    """Save a draft of the evidence."""
    return await actor.call("PUT", f"/disputes/{dispute['id']}/evidence", evidence)


async def respond(actor: Actor, dispute: dict[str, Any], how: str, **headers: Any) -> Answer:
    """Submit or accept."""
    return await actor.post(f"/disputes/{dispute['id']}/{how}", None, **headers)


async def test_home_and_the_menu_name_a_dispute_until_it_has_a_response(alice: Actor) -> None:
    counter = '<span class="n">1<span class="vh"> disputes to respond to</span></span>'
    dispute = await disputed(alice)
    page = await seen(alice, "/test/home")
    attention = page[page.index("Needs attention") :]
    assert attention.index("Disputes that need a response:") < attention.index("</li>")
    assert "Respond by " in attention
    assert page.index("Needs attention") < page.index("Key figures")
    assert "Nothing needs your attention." not in page
    assert counter in page
    assert counter not in await seen(alice, "/live/home")
    (await alice.post(f"/disputes/{dispute['id']}/accept")).ok()
    page = await seen(alice, "/test/home")
    assert "Disputes that need a response:" not in page
    assert counter not in page


async def test_a_dispute_is_the_chargeback_of_its_payment(alice: Actor, carol: Actor) -> None:
    payment = await sell(alice, "chargeback", external_id="order-77")
    found = (await alice.get(f"/disputes/{payment['chargeback']['id']}")).ok().body
    assert (found["object"], found["status"], found["transaction_id"]) == ("dispute", "needs_response", payment["id"])
    assert (found["amount"], found["amount_minor"], found["currency"], found["fee_minor"]) == ("10.00", 1_000, "EUR", 0)
    assert (found["reason"], found["external_id"], found["payment_link_id"]) == (
        "fraudulent",
        "order-77",
        payment["payment_link_id"],
    )
    assert found["history"] == [{"status": "needs_response", "at": found["created_at"]}]
    assert found["created_at"] < found["evidence_due_at"]
    assert set(found["evidence"].values()) == {None}
    assert (await carol.get(f"/disputes/{found['id']}")).refused("not_found", 404)
    assert (await alice.get(f"/disputes/{found['id']}", mode="live")).refused("not_found", 404)
    assert (await save(carol, found, uncategorized_text="Mine")).refused("not_found", 404)
    for how in ("submit", "accept"):
        (await respond(carol, found, how)).refused("not_found", 404)


async def test_lists_filter_and_continue(alice: Actor) -> None:
    first = await disputed(alice, external_id="order-1")
    second = await disputed(alice)
    (await respond(alice, second, "accept")).ok()
    every = (await alice.get("/disputes")).ok().body
    assert [dispute["id"] for dispute in every["disputes"]] == [second["id"], first["id"]]
    for query, expected in (
        ("status=needs_response", [first]),
        ("status=accepted&status=needs_response", [second, first]),
        ("status=won", []),
        ("external_id=order-1", [first]),
        (f"transaction_id={second['transaction_id']}", [second]),
        ("currency=USD", []),
        (f"created_to={first['created_at']}", []),
    ):
        shown = (await alice.get(f"/disputes?{query}")).ok().body["disputes"]
        assert [dispute["id"] for dispute in shown] == [dispute["id"] for dispute in expected], query
    page = (await alice.get("/disputes?limit=1")).ok().body
    rest = (await alice.get(f"/disputes?limit=1&cursor={page['next_cursor']}")).ok().body
    assert [one["id"] for one in page["disputes"] + rest["disputes"]] == [second["id"], first["id"]]
    assert (await alice.get("/disputes?status=open")).field_errors()


async def test_evidence_is_a_draft_until_it_is_submitted(alice: Actor) -> None:
    dispute = await disputed(alice)
    (await respond(alice, dispute, "submit")).field_errors()
    for invalid, field in (
        ({"shipping_carrier": ""}, "shipping_carrier"),
        ({"shipping_carrier": "x" * 5_001}, "shipping_carrier"),
        ({"shipping_carrier": "bell\x07"}, "shipping_carrier"),
        ({"photo": "cat"}, "photo"),
    ):
        assert list((await save(alice, dispute, **invalid)).field_errors()) == [field]
    names = list(dispute["evidence"])
    assert list((await save(alice, dispute, **dict.fromkeys(names[:11], "x" * 5_000))).field_errors()) == ["evidence"]
    (await save(alice, dispute, product_description="A coffee")).ok()
    saved = (await save(alice, dispute, **TRACKING)).ok().body
    assert {name: text for name, text in saved["evidence"].items() if text is not None} == TRACKING
    assert saved["status"] == "needs_response"
    sent = (await respond(alice, dispute, "submit", key="submit-1")).ok()
    assert (sent.body["status"], sent.body["evidence_submitted_at"]) == ("under_review", sent.body["history"][1]["at"])
    assert (await respond(alice, dispute, "submit", key="submit-1")).ok().raw == sent.raw
    for refused in (
        await save(alice, dispute, product_description="Two coffees"),
        await respond(alice, dispute, "submit"),
        await respond(alice, dispute, "accept"),
    ):
        assert refused.refused("invalid_state", 409).body["details"] == {"status": "under_review"}
    assert [row["deed"] for row in await alice.sql("SELECT deed FROM audit_lines WHERE subject = $1", dispute["id"])] == [
        "dispute.evidence_submitted"
    ]


async def test_the_sandbox_decides_by_the_evidence(alice: Actor) -> None:
    winner, loser = await disputed(alice), await disputed(alice)
    (await save(alice, winner, uncategorized_text="See winning_evidence.")).ok()
    (await save(alice, loser, customer_communication="losing_evidence")).ok()
    for work in (winner, loser):
        (await respond(alice, work, "submit")).ok()
    won = await until(alice, f"/disputes/{winner['id']}", "won")
    assert [step["status"] for step in won["history"]] == ["needs_response", "under_review", "won"]
    assert won["closed_at"] == won["history"][2]["at"]
    assert (await until(alice, f"/disputes/{loser['id']}", "lost"))["closed_at"]
    payments = [(await alice.get(f"/transactions/{work['transaction_id']}")).ok().body for work in (winner, loser)]
    assert [payment["status"] for payment in payments] == ["succeeded", "chargeback"]
    assert [payment["chargeback"]["status"] for payment in payments] == ["won", "lost"]
    assert await purse(alice) == (1_000, 0, 0)


async def test_an_accepted_dispute_is_lost(alice: Actor) -> None:
    dispute = await disputed(alice)
    taken = (await respond(alice, dispute, "accept")).ok().body
    assert (taken["status"], taken["evidence_submitted_at"]) == ("accepted", None)
    transaction = {"id": dispute["transaction_id"]}
    while (await fresh(alice, transaction))["chargeback"]["status"] == "open":
        await asyncio.sleep(0.02)
    closed = (await alice.get(f"/disputes/{dispute['id']}")).ok().body
    assert (closed["status"], closed["history"]) == ("accepted", taken["history"])
    (await respond(alice, dispute, "submit")).refused("invalid_state", 409)
    (await play(alice, transaction, "chargeback_won")).refused("invalid_state", 409)


async def test_without_a_response_it_expires_on_the_clock_of_its_environment(alice: Actor, services: Services) -> None:
    dispute, closed_before = await disputed(alice), await disputed(alice)
    (await save(alice, dispute, **TRACKING)).ok()
    (await play(alice, {"id": closed_before["transaction_id"]}, "chargeback_lost")).ok()
    (await alice.post("/test/clock/advance", {"seconds": DAYS_14})).ok()
    late = (await alice.get(f"/disputes/{dispute['id']}")).ok().body
    assert (late["status"], late["history"][1]) == ("expired", {"status": "expired", "at": late["evidence_due_at"]})
    assert (await alice.get("/disputes?status=expired")).ok().body["disputes"][0]["id"] == dispute["id"]
    assert (await alice.get(f"/disputes/{closed_before['id']}")).ok().body["status"] == "lost"
    (await save(alice, dispute, **TRACKING)).refused("invalid_state", 409)
    for how in ("submit", "accept"):
        (await respond(alice, dispute, how)).refused("invalid_state", 409)
    await actions.expire_disputes(services)
    transaction = {"id": dispute["transaction_id"]}
    while (await fresh(alice, transaction))["chargeback"]["status"] == "open":  # another worker has it
        await asyncio.sleep(0.02)
    assert (await alice.get(f"/disputes/{dispute['id']}")).ok().body["status"] == "expired"
    assert (await disputed(alice))["status"] == "needs_response"


async def test_one_response_whoever_comes_at_the_same_time(alice: Actor) -> None:
    dispute = await disputed(alice)
    (await save(alice, dispute, uncategorized_text="Undecided")).ok()
    transaction = {"id": dispute["transaction_id"]}
    answers = await asyncio.gather(
        *(respond(alice, dispute, how) for how in ("submit", "accept") * 5),
        save(alice, dispute, uncategorized_text="Other"),
        play(alice, transaction, "chargeback_won"),
    )
    assert {answer.status for answer in answers} <= {200, 409}
    assert sum(answer.status == 200 for answer in answers[:10]) <= 1
    final = (await alice.get(f"/disputes/{dispute['id']}")).ok().body
    assert final["status"] in {"won", "accepted"}


class ForgetfulRail(type(SANDBOX)):
    """A sandbox whose first answer is lost."""

    def __init__(self) -> None:
        self.orders: list[DisputeOrder] = []

    async def submit_evidence(self, order: DisputeOrder) -> DisputeSubmission:
        """Lost once, then rejected."""
        self.orders.append(order)
        return DisputeSubmission("unknown" if len(self.orders) == 1 else "rejected")


async def test_a_lost_answer_is_asked_for_again(alice: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    dispute = await disputed(alice)
    row = (await alice.sql("SELECT next_delivery_at FROM chargebacks WHERE id = $1::uuid", dispute["id"]))[0]
    assert row["next_delivery_at"] is None
    rail = ForgetfulRail()
    monkeypatch.setitem(services.rails.providers, (rail.name, rail.mode), rail)
    # Far ahead, so that no other worker leases it.
    await alice.sql(
        "UPDATE chargebacks SET evidence = '{\"uncategorized_text\": \"x\"}', response = 'submitted', responded_at = now(),"
        " next_delivery_at = now() + interval '10 years', provider_reference = 'dp_1' WHERE id = $1::uuid",
        dispute["id"],
    )
    later = clock.now() + timedelta(days=4_000)

    async def lease_own(at: datetime) -> list[DueResponse]:
        found = await responses.lease_responses(services.db, at, actions.LEASE, 1_000)  # those of other tests, too
        return [due for due in found if due.order.id == UUID(dispute["id"])]

    for _ in range(2):
        for due in await lease_own(later):
            await actions.deliver(services, due, later)
        later += timedelta(days=1)
    assert [(order.provider_reference, order.evidence.uncategorized_text) for order in rail.orders] == [("dp_1", "x")] * 2
    assert await lease_own(later + timedelta(days=1)) == []
    assert (await alice.get(f"/disputes/{dispute['id']}")).ok().body["status"] == "under_review"


async def test_the_longest_evidence_is_kept_whatever_its_letters(alice: Actor) -> None:
    dispute = await disputed(alice)
    longest = dict.fromkeys(list(dispute["evidence"])[:10], "\N{HONEYBEE}" * 5_000)
    saved = (await save(alice, dispute, **longest)).ok().body
    assert {name: text for name, text in saved["evidence"].items() if text is not None} == longest


async def test_the_database_refuses_what_cannot_be(alice: Actor) -> None:
    dispute = await disputed(alice)

    async def refuses(*changes: str) -> None:
        for change in changes:
            with pytest.raises(asyncpg.CheckViolationError):
                await alice.sql(f"UPDATE chargebacks SET {change} WHERE id = $1::uuid", dispute["id"])  # noqa: S608

    await refuses(
        "response = 'submitted', responded_at = now()",  # without evidence
        "response = 'submitted', evidence = '{\"uncategorized_text\": \"x\"}'",  # without its time
        "response = 'expired', responded_at = now()",
        "evidence = '[]'",
        "next_delivery_at = now()",
        "status = 'won'",  # without its time
    )
    (await save(alice, dispute, uncategorized_text="Undecided")).ok()
    (await respond(alice, dispute, "submit")).ok()
    await refuses("evidence = '{}'", "response = 'accepted'", "response = 'needed', responded_at = NULL")
    (await play(alice, {"id": dispute["transaction_id"]}, "chargeback_lost")).ok()
    await refuses("status = 'won'", "response = 'accepted'")
