"""Evidence about a chargeback: until when, by whom, how much, and who sees it."""

from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor
from tests.console.operator_pages import signed_in_operator
from tests.forms import post, seen
from tests.payments.bank import play, sell
from tests.running import Service


async def at(actor: Actor) -> tuple[str, dict[str, Any]]:
    """The page of a payment with an open chargeback, and the payment."""
    disputed = await sell(actor, "chargeback")
    return f"/test/payments/{disputed['id']}", disputed


async def test_a_note_shows_its_author_to_the_merchant_and_to_operators(alice: Actor, service: Service) -> None:
    page, disputed = await at(alice)
    assert "Respond by" in await seen(alice, page)
    sent = await post(alice, f"{page}/chargeback-notes", note=" Delivered on <Monday>\r\nTracking 4711 ")
    assert sent.location == f"{page}#dispute"
    raw = (await alice.send("GET", page)).ok().text
    assert "Delivered on &lt;Monday&gt;<br>Tracking 4711" in raw
    assert alice.email in raw
    dispute = f"/disputes/{disputed['chargeback']['id']}"
    (await alice.call("PUT", f"{dispute}/evidence", {"shipping_carrier": "Pigeon post"})).ok()
    async with signed_in_operator(service) as olga:
        assert "Pigeon post" not in await seen(olga, f"/operator/merchants/{alice.merchant_id}")
        (await alice.post(f"{dispute}/submit")).ok()
        shown = await seen(olga, f"/operator/merchants/{alice.merchant_id}")
    assert "shipping_carrier" in shown
    assert "Pigeon post" in shown
    assert "Open chargebacks" in shown
    assert disputed["id"] in shown
    assert "Tracking 4711" in shown


async def test_a_note_that_is_none(alice: Actor) -> None:
    page, _ = await at(alice)
    for note in ("", "  \n ", "x" * 2_001, "bell\x07"):
        assert "1 to 2,000 characters" in (await post(alice, f"{page}/chargeback-notes", 422, note=note)).text


async def test_no_note_without_a_chargeback_or_after_its_end(alice: Actor, carol: Actor) -> None:
    page, disputed = await at(alice)
    await post(carol, f"{page}/chargeback-notes", 404, note="Mine")
    paid = await sell(alice)
    await post(alice, f"/test/payments/{paid['id']}/chargeback-notes", 409, note="Why?")
    await post(alice, f"/test/payments/{uuid4()}/chargeback-notes", 404, note="Why?")
    await alice.sql("UPDATE chargebacks SET respond_by = now() WHERE transaction_id = $1::uuid", disputed["id"])
    assert "is over" in (await post(alice, f"{page}/chargeback-notes", 409, note="Too late")).text
    assert "View dispute" in await seen(alice, page)
    page, disputed = await at(alice)
    await alice.sql("UPDATE chargebacks SET respond_by = NULL WHERE transaction_id = $1::uuid", disputed["id"])
    await post(alice, f"{page}/chargeback-notes", note="Before")
    (await play(alice, disputed, "chargeback_lost")).ok()
    await post(alice, f"{page}/chargeback-notes", 409, note="After")
    assert "Before" in await seen(alice, page)


async def test_no_note_after_the_due_date_on_the_clock_of_the_environment(alice: Actor) -> None:
    page, disputed = await at(alice)
    dispute = f"/disputes/{disputed['chargeback']['id']}"
    (await alice.call("PUT", f"{dispute}/evidence", {"uncategorized_text": "Undecided"})).ok()
    (await alice.post(f"{dispute}/submit")).ok()  # so that it stays open
    await post(alice, f"{page}/chargeback-notes", note="In time")
    (await alice.post("/test/clock/advance", {"seconds": 14 * 86_400})).ok()
    await post(alice, f"{page}/chargeback-notes", 409, note="Too late")
    assert (await alice.get(dispute)).ok().body["status"] == "under_review"


async def test_a_note_is_never_changed(alice: Actor) -> None:
    page, _ = await at(alice)
    await post(alice, f"{page}/chargeback-notes", note="As it was")
    for statement in ("UPDATE chargeback_notes SET note = 'x'", "DELETE FROM chargeback_notes"):
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql(statement)
