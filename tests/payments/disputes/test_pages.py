"""The dashboard's pages about disputes, as a browser without scripts gets and posts them."""

import re
from typing import Any

from tests.cast import Actor
from tests.forms import forms, hidden, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.payments.bank import play, sell

LIST = "/test/disputes"
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/disputes/([0-9a-f-]{36})">')


async def disputed(actor: Actor, **changes: Any) -> tuple[str, dict[str, Any]]:
    """The page of the dispute of a new payment, and the payment."""
    payment = await sell(actor, "chargeback", **changes)
    return f"{LIST}/{payment['chargeback']['id']}", payment


async def shown_draft(actor: Actor, page: str) -> str:
    """Which draft the form shows."""
    return hidden((await actor.send("GET", page)).ok()).get("seen", "")


async def status(actor: Actor, payment: dict[str, Any]) -> str:
    """The status of the dispute of a payment."""
    return (await actor.get(f"/disputes/{payment['chargeback']['id']}")).ok().body["status"]


async def test_the_list_and_the_page_of_the_payment_lead_to_a_dispute(alice: Actor, carol: Actor) -> None:
    assert "No disputes in test mode yet" in await seen(alice, LIST)
    first, payment = await disputed(alice, external_id="order-5")
    second, taken = await disputed(alice)
    (await alice.post(f"/disputes/{taken['chargeback']['id']}/accept")).ok()
    for query, expected in (
        ("", [second, first]),
        ("?status=needs_response", [first]),
        ("?status=accepted", [second]),
        ("?limit=1&page=2", [first]),
        ("?status=won", []),
    ):
        assert [f"{LIST}/{match}" for match in ROW.findall(await seen(alice, LIST + query))] == expected, query
    rows = await seen(alice, LIST)
    for words in ("€10.00", "Fraudulent", "order-5", "Needs response", "Accepted"):
        assert words in rows
    await seen(alice, f"{LIST}?status=open", 422)
    assert f'href="{LIST}"' in await seen(alice, "/test/payments")
    assert "Respond to dispute" in (shown := await seen(alice, f"/test/payments/{payment['id']}"))
    assert f'href="{first}"' in shown
    of_taken = await seen(alice, f"/test/payments/{taken['id']}")
    assert "View dispute" in of_taken
    assert "You accepted the dispute. The customer keeps the amount." in of_taken
    await refuses_strangers(alice, carol, first, f"{first}/accept", f"{first}/submit")
    for path in ("evidence", "submit", "accept"):
        await post(carol, f"{first}/{path}", 404, shipping_carrier="Mine")
    assert await status(alice, payment) == "needs_response"


async def test_evidence_is_saved_reviewed_and_submitted_once(alice: Actor) -> None:
    page, payment = await disputed(alice)
    assert (await alice.send("GET", f"{page}/submit")).ok(303).location == page
    assert "Enter at least one text" in (await post(alice, f"{page}/evidence", 422, next="submit")).text
    saved = await post(alice, f"{page}/evidence", shipping_carrier=" DHL ", uncategorized_text="One <b>\r\nTwo")
    assert saved.location == f"{page}?done=saved"
    assert "Draft saved" in (shown := await seen(alice, saved.location))
    assert "One <b>\nTwo</textarea>" in shown
    assert 'value="DHL"' in shown
    invalid = await post(
        alice,
        f"{page}/evidence",
        422,
        seen=await shown_draft(alice, page),
        shipping_carrier="x" * 5_001,
        refund_policy="Kept",
    )
    assert wrong(invalid).keys() == {"shipping_carrier"}
    assert "Kept</textarea>" in invalid.text
    long = await post(
        alice,
        f"{page}/evidence",
        422,
        seen=await shown_draft(alice, page),
        **dict.fromkeys(
            (
                *("product_description", "customer_communication", "billing_address", "shipping_address", "refund_policy"),
                *("service_documentation", "access_activity_log", "cancellation_policy", "cancellation_rebuttal"),
                *("duplicate_charge_explanation", "uncategorized_text"),
            ),
            "ж" * 5_000,
        ),
    )
    assert "50,000 characters long" in long.text
    draft = await shown_draft(alice, page)
    sent = await post(alice, f"{page}/evidence", seen=draft, next="submit", shipping_carrier="DHL", refund_policy="None")
    assert sent.location == f"{page}/submit"
    review = (await alice.send("GET", sent.location)).ok()
    assert "One &lt;b&gt;" not in review.text
    assert "<dt>Shipping carrier</dt><dd>DHL</dd>" in review.text
    assert await status(alice, payment) == "needs_response"
    for _ in range(2):
        assert (await post(alice, f"{page}/submit", **hidden(review))).location == f"{page}?done=submitted"
    closed = await seen(alice, page)
    assert "<dt>Shipping carrier</dt><dd>DHL</dd>" in closed
    assert forms(closed) == ["/signout"]
    late = await post(alice, f"{page}/evidence", 409, seen=await shown_saved(alice, payment), service_date="Late words")
    assert "Late words" in late.text
    await post(alice, f"{page}/accept", 409)
    assert (await alice.send("GET", f"{page}/accept")).ok(303).location == page


async def shown_saved(actor: Actor, payment: dict[str, Any]) -> str:
    """What the last form with this draft has posted, after it was submitted."""
    [row] = await actor.sql("SELECT evidence_saved_at FROM chargebacks WHERE id = $1::uuid", payment["chargeback"]["id"])
    return row["evidence_saved_at"].isoformat()


async def test_nobody_replaces_or_submits_a_draft_that_they_have_not_seen(alice: Actor) -> None:
    page, payment = await disputed(alice)
    await post(alice, f"{page}/evidence", shipping_carrier="First")
    crossed = await post(alice, f"{page}/evidence", 409, shipping_carrier="Second")
    assert "Somebody else has changed the evidence" in crossed.text
    assert "<dd>First</dd>" in crossed.text
    assert 'value="Second"' in crossed.text
    review = hidden((await alice.send("GET", f"{page}/submit")).ok())
    await post(alice, f"{page}/evidence", seen=hidden(crossed)["seen"], shipping_carrier="Second")
    again = await post(alice, f"{page}/submit", 409, **review)
    assert "Review it again" in again.text
    assert "<dd>Second</dd>" in again.text
    assert await status(alice, payment) == "needs_response"


async def test_a_dispute_is_accepted_after_a_question(alice: Actor) -> None:
    page, payment = await disputed(alice)
    asked = await seen(alice, f"{page}/accept")
    assert "The customer keeps the amount" in asked
    assert await status(alice, payment) == "needs_response"
    for _ in range(2):
        assert (await post(alice, f"{page}/accept")).location == f"{page}?done=accepted"
    assert "You accepted the dispute." in await seen(alice, page)
    await post(alice, f"{page}/submit", 409)
    decided, won = await disputed(alice)
    (await play(alice, won, "chargeback_won")).ok()
    await post(alice, f"{decided}/accept", 409)
    assert forms(await seen(alice, decided)) == ["/signout"]
    await refuses_foreign_forms(alice, *(f"{decided}/{path}" for path in ("evidence", "submit", "accept")))
    assert "This account is suspended" in await seen(alice, decided)
