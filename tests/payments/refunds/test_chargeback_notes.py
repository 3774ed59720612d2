"""Notes about a chargeback from before disputes had evidence, and what operators see of evidence."""

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.bank import sell
from tests.running import Service

NOTE = """
    INSERT INTO chargeback_notes (id, chargeback_id, author, note, created_at)
    VALUES (gen_random_uuid(), $1::uuid, $2, $3, now())
"""


async def test_a_note_and_submitted_evidence_are_shown(alice: Actor, service: Service) -> None:
    disputed = await sell(alice, "chargeback")
    page, chargeback_id = f"/test/payments/{disputed['id']}", disputed["chargeback"]["id"]
    assert "Respond by" in await seen(alice, page)
    await alice.sql(NOTE, chargeback_id, alice.email, "Delivered on <Monday>\nTracking 4711")
    for statement in ("UPDATE chargeback_notes SET note = 'x'", "DELETE FROM chargeback_notes"):
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql(statement)
    raw = (await alice.send("GET", page)).ok().text
    assert "Delivered on &lt;Monday&gt;<br>Tracking 4711" in raw
    assert alice.email in raw
    dispute = f"/disputes/{chargeback_id}"
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
