"""Transfers around a link's deadline: what was sent before it counts, if it arrives within the time that transfers take."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.accounts.settings.test_settings import body
from tests.cast import Actor
from tests.payments.shop import approve_project, choose, visit
from tests.rails.bank.camt import CUSTOMER_IBAN, Line, paid
from tests.rails.bank.steps import Bank, euros, offer, payment
from tollhouse.kernel import clock
from tollhouse.payments.transactions.link_closing import close_links
from tollhouse.rails.bank.files.transfer import TIMES


async def end(actor: Actor, link: dict[str, Any], days: float) -> None:
    """Turn the link's clock: its deadline was so many days ago."""
    await actor.sql(
        "UPDATE payment_links SET created_at = now() - interval '90 d', expires_at = now() - $2 * interval '1 d'"
        " WHERE id = $1::uuid",
        link["id"],
        days,
    )


def booked(reference: str, minor: int, days: int, sent: float | None = None) -> Line:
    """A transfer that was booked so many days ago and, if the bank states it, sent so many days ago."""
    now = clock.now()
    sent_at = None if sent is None else clock.stamp(now - timedelta(days=sent))
    return paid(reference, minor, day=(now - timedelta(days=days)).date(), sent_at=sent_at)


async def link_of(actor: Actor, link: dict[str, Any]) -> tuple[str, int, int]:
    """Its status, the number of payments, and their amount."""
    found = (await actor.get(f"/payment-links/{link['id']}", mode="live")).ok().body
    return found["status"], found["payments_count"], found["amount_paid_minor"]


async def event_types(actor: Actor, resource_id: str) -> list[str]:
    """The types of the events of a payment, oldest first."""
    rows = await actor.sql("SELECT type FROM webhook_events WHERE source_id = $1::uuid ORDER BY created_at, id", resource_id)
    return [row["type"] for row in rows if row["type"] != "balance.updated"]


@pytest.mark.parametrize("closed", [True, False], ids=["after the job", "before the job"])
@pytest.mark.parametrize(
    ("deadline", "arrived", "sent", "in_time"),
    [
        (2, 1, None, True),
        (2, 3, None, True),
        (10, 12, None, True),
        (10, 6, None, True),
        (10, 4, None, False),
        (2, 1, 2.5, True),
        (2, 1, 1.5, False),
        (10, 4, 11, False),
    ],
    ids=[
        "on its way",
        "reported later",
        "reported much later",
        "on its way for long",
        "on its way for too long",
        "known to be sent before",
        "known to be sent after",
        "sent before, and lost for too long",
    ],
)
async def test_what_is_sent_before_the_deadline(
    alice: Actor, bank: Bank, deadline: float, arrived: int, sent: float | None, *, in_time: bool, closed: bool
) -> None:
    link, payment_id, reference = await offer(alice)
    await end(alice, link, deadline)
    if closed:
        await close_links(bank.services)
        assert (await payment(alice, payment_id))["status"] == "expired"
    await bank.shows(booked(reference, 1_000, arrived, sent))
    shown = await payment(alice, payment_id)
    if in_time:
        assert (shown["status"], shown["late"], shown["refund_required_reason"]) == ("succeeded", False, None)
        assert shown["timeline"][-1]["detail"] == "sent_before_deadline"
        assert await link_of(alice, link) == ("completed", 1, 1_000)
    else:
        assert (shown["status"], shown["late"], shown["refund_required_reason"]) == ("refund_required", True, "late")
        assert await link_of(alice, link) == ("expired", 0, 0)
    assert await euros(alice) == (1_000 if in_time else 0, 0, 0)
    assert ("payment.expired" in await event_types(alice, payment_id)) == closed
    await close_links(bank.services)
    assert (await event_types(alice, payment_id))[-1] != "payment.expired"


async def test_a_canceled_link_takes_no_money_that_was_on_its_way(alice: Actor, bank: Bank) -> None:
    link, payment_id, reference = await offer(alice)
    (await alice.post(f"/payment-links/{link['id']}/cancel", {}, mode="live")).ok()
    await end(alice, link, 1)
    await bank.shows(booked(reference, 1_000, 2))
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["refund_required_reason"]) == ("refund_required", "after_cancel")
    assert await link_of(alice, link) == ("canceled", 0, 0)


async def test_as_many_as_the_link_takes_and_no_more(alice: Actor, bank: Bank) -> None:
    link, first, reference = await offer(alice, max_payments=2)
    others = [(await choose(link, "sepa:EUR")).ok(303).query["payment"] for _ in range(2)]
    references = [reference, *[(await reference_of(alice, other)) for other in others]]
    await end(alice, link, 2)
    await close_links(bank.services)
    raw = await bank.statement(*(booked(reference, 1_000, 1) for reference in references))
    await asyncio.gather(*(bank.brings(raw) for _ in references))
    found = [await payment(alice, one) for one in (first, *others)]
    assert sorted(str(transaction["refund_required_reason"]) for transaction in found) == ["None", "None", "duplicate"]
    assert sorted(transaction["status"] for transaction in found) == ["refund_required", "succeeded", "succeeded"]
    assert await link_of(alice, link) == ("completed", 2, 2_000)
    assert await euros(alice) == (2_000, 0, 0)


async def test_late_money_that_filled_the_link_leaves_no_room(alice: Actor, bank: Bank) -> None:
    (await alice.call("PUT", "/settings", await body(alice, "live", late_payments="accept"), mode="live")).ok()
    link, late, reference = await offer(alice, max_payments=None)
    other = (await choose(link, "sepa:EUR")).ok(303).query["payment"]
    await alice.sql("UPDATE payment_links SET max_payments = 1 WHERE id = $1::uuid", link["id"])
    await end(alice, link, 2)
    await close_links(bank.services)
    await bank.shows(booked(reference, 1_000, 0, 1))
    shown = await payment(alice, late)
    assert (shown["status"], shown["late"]) == ("succeeded", True)
    assert await link_of(alice, link) == ("expired", 1, 1_000)
    await bank.shows(booked(await reference_of(alice, other), 1_000, 1))
    shown = await payment(alice, other)
    assert (shown["status"], shown["refund_required_reason"]) == ("refund_required", "duplicate")
    assert await euros(alice) == (1_000, 0, 0)


async def test_a_part_before_the_deadline_and_the_rest_on_its_way(alice: Actor, bank: Bank) -> None:
    link, payment_id, reference = await offer(alice)
    await bank.shows(booked(reference, 400, 3))
    await end(alice, link, 2)
    await close_links(bank.services)
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["refund_required_reason"]) == ("refund_required", "underpaid")
    await bank.shows(booked(reference, 600, 1))
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["amount_received"], shown["late"]) == ("succeeded", "10.00", False)
    assert await link_of(alice, link) == ("completed", 1, 1_000)
    assert await euros(alice) == (1_000, 0, 0)
    assert await event_types(alice, payment_id) == ["payment.refund_required", "payment.succeeded"]


@pytest.mark.parametrize("closed", [True, False], ids=["after the job", "before the job"])
async def test_both_parts_on_their_way(alice: Actor, bank: Bank, *, closed: bool) -> None:
    link, payment_id, reference = await offer(alice)
    await end(alice, link, 2)
    if closed:
        await close_links(bank.services)
    await bank.shows(booked(reference, 400, 1))
    await close_links(bank.services)
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["refund_required_reason"], shown["late"]) == ("refund_required", "underpaid", False)
    await bank.shows(booked(reference, 700, 1))
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["amount_received"]) == ("succeeded", "11.00")
    assert await link_of(alice, link) == ("completed", 1, 1_100)


async def test_a_part_that_is_given_back_is_not_completed(alice: Actor, bank: Bank) -> None:
    link, payment_id, reference = await offer(alice)
    await bank.shows(booked(reference, 400, 3))
    await end(alice, link, 2)
    await close_links(bank.services)
    asked = {"amount": "1.00", "receiver": CUSTOMER_IBAN}
    (await alice.post(f"/transactions/{payment_id}/refunds", asked, key=str(uuid4()), mode="live")).ok(201)
    await bank.shows(booked(reference, 600, 1))
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["amount_received"]) == ("refund_required", "10.00")
    assert await euros(alice) == (0, 0, 0)


async def test_the_job_and_two_operators_at_once(alice: Actor, bank: Bank) -> None:
    offers = [await offer(alice) for _ in range(6)]
    for link, _, _ in offers:
        await end(alice, link, 2)
    raw = await bank.statement(*(booked(reference, 1_000, 1) for _, _, reference in offers))
    await asyncio.gather(bank.brings(raw), close_links(bank.services), bank.brings(raw), close_links(bank.services))
    for link, payment_id, _ in offers:
        assert (await payment(alice, payment_id))["status"] == "succeeded"
        assert await link_of(alice, link) == ("completed", 1, 1_000)
    assert await euros(alice) == (6_000, 0, 0)
    assert (await bank.brings(raw)).new_entries == 0
    assert await euros(alice) == (6_000, 0, 0)


@pytest.mark.parametrize(("sent", "status"), [(None, "succeeded"), (1.5, "refund_required")])
async def test_an_operator_assigns_what_was_sent_in_time(alice: Actor, bank: Bank, sent: float | None, status: str) -> None:
    link, payment_id, reference = await offer(alice)
    await end(alice, link, 2)
    await close_links(bank.services)
    mark = uuid4().hex
    line = booked("", 1_000, 1, sent)
    await bank.shows(Line(1_000, words=mark, day=line.day, sent_at=line.sent_at))
    [waiting] = await bank.waiting(mark)
    await bank.assign(waiting.id, reference)
    assert (await payment(alice, payment_id))["status"] == status


async def reference_of(actor: Actor, payment_id: str) -> str:
    """What the customer writes."""
    [row] = await actor.sql("SELECT rail_reference FROM transactions WHERE id = $1::uuid", payment_id)
    return row["rail_reference"]


def test_a_transfer_takes_as_long_as_it_says() -> None:
    assert timedelta(days=2) <= TIMES.settlement < TIMES.link_lifetime_min


@pytest.mark.parametrize(("minutes", "days"), [(1_440, 7), (14_400, 10)])
async def test_a_link_of_the_dashboard_is_open_long_enough_for_a_transfer(
    alice: Actor, bank: Bank, minutes: int, days: int
) -> None:
    del bank
    await approve_project(alice, "live")
    (await alice.call("PUT", "/settings", await body(alice, "live", link_expiry_minutes=minutes), mode="live")).ok()
    page = (await alice.send("GET", "/live/payment-links/new")).ok().text
    assert ("in at least 7 days." in page) == (days == 7)
    form = {"key": str(uuid4()), "display_name": "Coffee", "amount": "10.00", "max_payments": "1"}
    made = {}
    for currency, expires in (("EUR", ""), ("USD", ""), ("EUR", "1h")):
        sent = form | {"key": str(uuid4()), "currency": currency, "expires": expires}
        at = (await alice.form("/live/payment-links/new", sent)).ok(303).location.rpartition("/")[2]
        found = (await alice.get(f"/payment-links/{at}", mode="live")).ok().body
        begun, ends = (datetime.fromisoformat(found[name]) for name in ("created_at", "expires_at"))
        made[currency, expires] = ends - begun
    assert made == {
        ("EUR", ""): timedelta(days=days),
        ("USD", ""): timedelta(minutes=minutes),
        ("EUR", "1h"): timedelta(hours=1),
    }
    link, _, _ = await offer(alice)
    begun, ends = (datetime.fromisoformat(link[name]) for name in ("created_at", "expires_at"))
    assert ends - begun == timedelta(minutes=minutes)


async def test_the_checkout_says_until_when_to_send(alice: Actor, bank: Bank) -> None:
    link, _, reference = await offer(alice)
    page = (await visit(link, alice)).ok().text
    assert "Send the money by <time" in page
    assert "It may arrive up to 5 days later." in page
    await end(alice, link, 2)
    page = (await visit(link, alice)).ok().text
    assert "it is still accepted when it arrives" in page
    await end(alice, link, 6)
    assert "We have not received a payment." in (await visit(link, alice)).ok().text
    await end(alice, link, 2)
    await bank.shows(booked(reference, 1_000, 1))
    assert "still accepted" not in (await visit(link, alice)).ok().text
