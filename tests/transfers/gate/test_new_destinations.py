"""While a change of an address can be undone, value to new destinations waits; once it was, it does not leave."""

from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.accounts.team.invited import id_of
from tests.cast import Actor, member
from tests.forms import seen
from tests.payments.bank import refund, sell
from tests.transfers.balance_payments.till import Till, open_till
from tests.transfers.withdrawals.steps import asked, carry, fresh, fund, play, settled
from tollhouse.http.services import Services
from tollhouse.payments.refunds import jobs as refund_jobs

CHANGED = """
    INSERT INTO address_changes
        (id, user_id, old_email, old_key, old_verified_at, new_email, new_key, requested_at, expires_at, confirmed_at,
         undo_until)
    SELECT gen_random_uuid(), id, 'old-' || email, 'old-' || email, t, email, email_key, t, t + interval '1 day',
           t, t + interval '72 hours'
    FROM users, date_trunc('milliseconds', now()) AS t  -- as exact as the times of everything else
    WHERE email = $1
"""
OF_USER = "WHERE user_id = (SELECT id FROM users WHERE email = $1)"
UNDONE = f"UPDATE address_changes SET undone_at = now() {OF_USER}"  # noqa: S608
OVER = f"""
    UPDATE address_changes SET requested_at = requested_at - interval '72 hours',
        expires_at = expires_at - interval '72 hours', confirmed_at = confirmed_at - interval '72 hours',
        undo_until = undo_until - interval '72 hours' {OF_USER}
"""  # noqa: S608
ASLEEP = "UPDATE withdrawals SET next_look_at = now() + interval '1 h' WHERE merchant_id = $1::uuid AND status = 'approved'"
ROUNDS = 100
SAVED = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Saved account"}


async def send(actor: Actor, services: Services, receiver: str) -> str:
    """Withdraw, and let a worker do its round; the status then."""
    withdrawal = await asked(actor, {"receiver": receiver, "amount": "1.00"})
    return (await settled(actor, services, withdrawal))["status"]


async def save(actor: Actor, **changes: str) -> dict[str, Any]:
    """Save a recipient."""
    return (await actor.post("/withdrawal-recipients", SAVED | changes, key=str(uuid4()))).ok(201).body


async def test_a_withdrawal_to_a_new_recipient_waits_and_others_do_not(alice: Actor, services: Services) -> None:
    await fund(alice)
    assert await send(alice, services, "Known account") == "processing"
    await save(alice)
    await alice.sql(CHANGED, alice.email)
    assert await send(alice, services, "Known account") == "processing"
    assert await send(alice, services, "Saved account") == "processing"
    waiting = await asked(alice, {"receiver": "New account", "amount": "1.00"})
    await save(alice, receiver="New account")
    await carry(alice, services)
    now = await fresh(alice, waiting)
    assert now["status"] == "approved"
    assert now["waits"] == waiting["waits"]
    for outcome in ("process", "complete", "fail", "stick", "return"):
        refused = (await play(alice, waiting, outcome)).refused("destination_waits", 409)
        assert now["waits"] == [{"reason": "destination_waits", "until": refused.body["details"]["until"]}]
    assert "an email address of this account was changed" in await seen(alice, f"/test/withdrawals/{waiting['id']}")
    with pytest.raises(asyncpg.SerializationError, match="new destinations"):
        await alice.sql("UPDATE outgoing_transfers SET released_at = now() WHERE id = $1::uuid", waiting["id"])
    await alice.sql(OVER, alice.email)
    sent = await settled(alice, services, waiting)
    assert (sent["status"], sent["waits"]) == ("processing", [])
    assert await send(alice, services, "Another account") == "processing"


async def test_removing_who_changed_the_address_does_not_end_the_wait(alice: Actor, services: Services) -> None:
    await fund(alice)
    async with member(alice, "finance") as nina:
        await alice.sql(CHANGED, nina.email)
        waiting = await asked(alice, {"receiver": "New account"})
        (await alice.dashboard("DELETE", f"/members/{await id_of(alice, nina.email)}")).ok()
    await carry(alice, services)
    assert [wait["reason"] for wait in (await fresh(alice, waiting))["waits"]] == ["destination_waits"]
    assert (await fresh(alice, waiting))["status"] == "approved"


async def test_the_test_clock_ends_the_wait(alice: Actor, services: Services) -> None:
    await fund(alice)
    await alice.sql(CHANGED, alice.email)
    waiting = await asked(alice, {"receiver": "New account"})
    await carry(alice, services)
    assert (await fresh(alice, waiting))["status"] == "approved"
    (await alice.post("/test/clock/advance", {"seconds": 72 * 3600})).ok()
    assert (await settled(alice, services, waiting))["status"] == "processing"


async def test_what_was_sent_before_the_change_was_undone_is_canceled(alice: Actor, services: Services) -> None:
    """A recipient that was saved meanwhile is not paid later, either, until it is saved again."""
    await fund(alice)
    assert await send(alice, services, "Known account") == "processing"
    await alice.sql(CHANGED, alice.email)
    saved = await save(alice, receiver="Thief's account")
    stolen = [await asked(alice, {"receiver": f"Thief's {name}", "amount": "1.00"}) for name in ("account", "other account")]
    own = await asked(alice, {"receiver": "Known account", "amount": "1.00"})
    await alice.sql(ASLEEP, alice.merchant_id)
    await alice.sql(UNDONE, alice.email)
    page, now = await seen(alice, f"/test/withdrawals/{stolen[0]['id']}"), await fresh(alice, stolen[0])
    if now["status"] == "approved":  # no worker was at it just then
        assert now["waits"] == [{"reason": "destination_refused", "until": None}]
        assert "Will be canceled" in page
    for one in stolen:
        ended = await settled(alice, services, one)
        assert (ended["status"], ended["waits"]) == ("canceled", [])
    assert (await settled(alice, services, own))["status"] == "processing"
    assert await send(alice, services, "Thief's account") == "canceled"
    assert await send(alice, services, "New account") == "processing"
    (await alice.call("DELETE", f"/withdrawal-recipients/{saved['id']}", key=str(uuid4()))).ok()
    assert await send(alice, services, "Thief's account") == "processing"
    assert (await alice.get("/balances/EUR")).ok().body["available_minor"] == 10_000 - 4 * 100


async def test_a_refund_to_somebody_else_waits_and_one_to_the_payer_does_not(alice: Actor, services: Services) -> None:
    paid = await sell(alice)
    await alice.sql(CHANGED, alice.email)

    async def state(given: dict[str, Any]) -> tuple[str, bool]:
        await alice.sql("UPDATE refunds SET next_look_at = now() - interval '1 s' WHERE id = $1::uuid", given["id"])
        await refund_jobs.submit_refunds(services)
        [row] = await alice.sql(
            "SELECT r.status, o.released_at IS NOT NULL AS released FROM refunds r JOIN outgoing_transfers o ON o.id = r.id"
            " WHERE r.id = $1::uuid",
            given["id"],
        )
        return row["status"], row["released"]

    async def settled_refund(given: dict[str, Any]) -> tuple[str, bool]:
        """The state once a worker has looked at it."""
        for _ in range(ROUNDS):
            if (now := await state(given)) != ("pending", False):
                return now
        raise AssertionError("no worker looks at it")

    asked_for = (await refund(alice, paid, "1.00", receiver="Nina")).ok(201).body
    for outcome in ("succeed", "return"):
        played = await alice.post(f"/test/refunds/{asked_for['id']}/simulate", {"outcome": outcome})
        assert played.refused("destination_waits", 409).body["details"]["until"]
    (await alice.post(f"/test/refunds/{asked_for['id']}/simulate", {"outcome": "approve"})).ok()
    assert await state(asked_for) == ("pending", False)
    with pytest.raises(asyncpg.SerializationError, match="new destinations"):
        await alice.sql("UPDATE outgoing_transfers SET released_at = now() WHERE id = $1::uuid", asked_for["id"])
    mine = (await refund(alice, paid, "0.50")).ok(201).body
    assert (await settled_refund(mine))[1]
    await alice.sql(UNDONE, alice.email)
    assert (await settled_refund(asked_for))[0] == "failed"


async def test_a_payment_to_a_new_application_waits(alice: Actor, bob: Actor, carol: Actor) -> None:
    known, new = await open_till(alice, bob), await open_till(alice, carol)
    (await known.pay()).ok(201)
    await alice.sql(CHANGED, alice.email)
    reserved = await new.reserve()
    assert (await new.pay()).refused("destination_waits", 409).body["details"]["until"]
    (await new.act(reserved, "capture")).refused("destination_waits", 409)
    (await new.as_owner(reserved, "capture")).refused("destination_waits", 409)
    await page_says(new, reserved, "money to new recipients waits")
    (await known.pay()).ok(201)
    with pytest.raises(asyncpg.SerializationError, match="new recipients"):
        await alice.sql(
            "UPDATE balance_payments SET status = 'captured', captured_minor = amount_minor, resolved_at = now()"
            " WHERE id = $1::uuid",
            reserved["id"],
        )
    await alice.sql(UNDONE, alice.email)
    (await new.act(reserved, "capture")).refused("destination_refused", 409)
    (await new.act(reserved, "release")).ok()
    (await new.pay()).ok(201)


async def page_says(till: Till, payment: dict[str, Any], sentence: str) -> None:
    """What the owner of the application sees."""
    path = f"/test/balance-payments/received/{till.app.client_id}/{payment['id']}/capture"
    assert sentence in (await till.app.owner.form(path, {"amount": "10.00"})).ok(409).text


async def test_a_change_at_the_moment_of_the_payment(alice: Actor, services: Services) -> None:
    """Whoever is first: the money left before the change, or waits."""
    await fund(alice)
    withdrawal = await asked(alice, {"receiver": "New account"})
    assert (await settled(alice, services, withdrawal))["status"] == "processing"
    await alice.sql(CHANGED, alice.email)
    (await play(alice, withdrawal, "complete")).ok()
