"""Above the amount that a team sets, money leaves once a second member has approved it: by every way, and raced."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import INTEGRATION, Actor, Answer, application, member
from tests.forms import post, seen
from tests.payments.bank import refund, sell
from tests.transfers.withdrawals.steps import TO_NINA, asked, cancel, fresh, fund, play, settled
from tollhouse.http.services import Services
from tollhouse.transfers.withdrawals import jobs

RULE = [{"currency": "EUR", "amount": "15.00"}]
LARGE: dict[str, Any] = {"amount": "16.00"}
WAITS = [{"reason": "second_member", "until": None}]
LATE = """
    UPDATE second_member_rules SET change_at = now() - interval '8 days'
    WHERE merchant_id = $1::uuid AND change_by IS NOT NULL
"""
OLD = "UPDATE members SET decides_since = decides_since - interval '73 hours' WHERE merchant_id = $1::uuid"


@asynccontextmanager
async def team(owner: Actor, role: str = "finance") -> AsyncIterator[Actor]:
    """A second member, and the rule; the owner has 1,000.00 EUR."""
    await fund(owner, "1000.00")
    async with member(owner, role) as nina:
        await rule(owner, RULE)
        yield nina


async def rule(owner: Actor, amounts: list[dict[str, str]]) -> dict[str, Any]:
    """Set from which amount on a second member is needed."""
    return (await owner.dashboard("PUT", "/team", {"second_member_above": amounts})).ok().body


async def approve(actor: Actor, one: dict[str, Any], what: str = "withdrawals") -> Answer:
    """Approve as a second member."""
    return await actor.dashboard("POST", f"/{what}/{one['id']}/approve")


async def test_it_leaves_once_somebody_else_has_approved(alice: Actor, services: Services) -> None:
    async with team(alice) as nina:
        small = await asked(alice, {"amount": "15.00"})
        assert (small["waits"], (await settled(alice, services, small))["status"]) == ([], "processing")
        large = await asked(alice, LARGE)
        assert large["waits"] == (await fresh(alice, large))["waits"] == WAITS
        for outcome in ("process", "complete", "fail", "return"):
            (await play(alice, large, outcome)).refused("second_member_required", 409)
        (await approve(alice, large)).refused("not_second_member", 409)
        (await approve(nina, small)).refused("invalid_state", 409)
        assert (await approve(nina, large)).ok().body["waits"] == []
        (await approve(nina, large)).refused("invalid_state", 409)
        assert (await settled(alice, services, large))["status"] == "processing"
        kept = "SELECT FROM audit_lines WHERE merchant_id = $1::uuid AND deed = 'withdrawal.seconded'"
        assert len(await alice.sql(kept, alice.merchant_id)) == 1


async def test_who_may_not_move_money_or_belongs_to_others_approves_nothing(alice: Actor, bob: Actor) -> None:
    async with team(alice), member(alice, "support") as sam:
        large = await asked(alice, LARGE)
        (await approve(sam, large)).refused("role_forbidden", 403)
        (await approve(bob, large)).refused("not_found", 404)
        (await approve(bob, {"id": uuid4()})).refused("not_found", 404)


async def by_key(alice: Actor, _nina: Actor) -> Answer:
    return await alice.post("/withdrawals", TO_NINA | LARGE, key=str(uuid4()))


async def by_connection(alice: Actor, _nina: Actor) -> Answer:
    app = await application(alice)
    token = (await app.connect(alice, "withdrawals:write"))["access_token"]
    return await app.api(token, "POST", "/withdrawals", TO_NINA | LARGE, str(uuid4()))


async def by_batch(alice: Actor, _nina: Actor) -> Answer:
    made = await alice.post("/withdrawal-batches", {"items": [TO_NINA | LARGE]}, key=str(uuid4()))
    return await alice.get(f"/withdrawals/{made.ok(201).body['withdrawal_ids'][0]}")


async def by_parts(alice: Actor, _nina: Actor) -> Answer:
    await asked(alice, {"amount": "10.00"})
    return await alice.post("/withdrawals", TO_NINA | {"amount": "6.00"}, key=str(uuid4()))


async def by_proposal(alice: Actor, _nina: Actor) -> Answer:
    made = (await alice.dashboard("POST", "/api-keys", {"name": "Agent", "mode": "test", "proposals_only": True})).ok(201)
    headers = {"X-API-Key": made.body["api_key"], "Idempotency-Key": str(uuid4())}
    body = {"operation": "withdrawals", "body": TO_NINA | LARGE}
    proposed = (await alice.anonymously("POST", f"{INTEGRATION}/proposals", body, headers)).ok(201).body
    done = (await alice.dashboard("POST", f"/proposals/{proposed['id']}/approve")).ok().body
    return await alice.get(f"/withdrawals/{done['result']['id']}")


async def by_schedule(alice: Actor) -> None:
    new = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Nina's account"}
    saved = (await alice.post("/withdrawal-recipients", new, key=str(uuid4()))).ok(201).body["id"]
    (await alice.post("/test/clock/advance", {"seconds": 86_400})).ok()
    schedule = {"frequency": "daily", "recipient_id": saved, "amount": "16.00"}
    (await alice.post("/withdrawal-schedules", schedule, key=str(uuid4()))).ok(201)
    (await alice.post("/test/clock/advance", {"seconds": 86_400})).ok()


WAYS: list[Callable[[Actor, Actor], Awaitable[Answer]]] = [by_key, by_connection, by_batch, by_parts, by_proposal]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_no_way_leads_around_it(alice: Actor, way: Callable[[Actor, Actor], Awaitable[Answer]]) -> None:
    async with team(alice) as nina:
        made = (await way(alice, nina)).body
        assert (await fresh(alice, made))["waits"] == WAITS
        (await approve(alice, made)).refused("not_second_member", 409)
        (await approve(nina, made)).ok()


async def test_who_made_a_schedule_does_not_approve_what_it_creates(alice: Actor, services: Services) -> None:
    async with team(alice) as nina:
        await by_schedule(alice)
        await jobs.run_schedules(services)
        [made] = (await alice.get("/withdrawals?limit=10")).ok().body["withdrawals"]
        assert made["waits"] == WAITS
        (await approve(alice, made)).refused("not_second_member", 409)
        (await approve(nina, made)).ok()


async def test_a_refund_to_another_account_needs_one_too(alice: Actor) -> None:
    paid = await sell(alice, amount="40.00")
    async with team(alice) as nina:
        own = (await refund(alice, paid, "16.00")).ok(201).body
        (await approve(nina, own, "refunds")).refused("invalid_state", 409)
        other = (await refund(alice, paid, "16.00", receiver="Nina")).ok(201).body
        assert "Waits for a second member." in await seen(alice, f"/test/payments/{paid['id']}")
        (await alice.post(f"/test/refunds/{other['id']}/simulate", {"outcome": "succeed"})).refused(
            "second_member_required", 409
        )
        (await approve(alice, other, "refunds")).refused("not_second_member", 409)
        (await approve(nina, other, "refunds")).ok()
        (await alice.post(f"/test/refunds/{other['id']}/simulate", {"outcome": "succeed"})).ok()


async def test_of_many_at_once_what_is_above_waits(alice: Actor) -> None:
    async with team(alice):
        made = await asyncio.gather(*(asked(alice, {"amount": "1.00"}) for _ in range(20)))
        assert sum(not one["waits"] for one in made) == 15


async def test_of_approval_and_cancellation_one_wins(alice: Actor) -> None:
    async with team(alice) as nina, member(alice, "administrator") as ada:
        await alice.sql(OLD, alice.merchant_id)
        for _ in range(10):
            large = await asked(alice, LARGE)
            first, second, ended = await asyncio.gather(approve(nina, large), approve(ada, large), cancel(alice, large))
            assert [first.status, second.status].count(200) <= 1
            after = await fresh(alice, large)
            assert after["status"] == ("canceled" if ended.status == 200 else "approved")
            assert not after["waits"] or ended.status == 200


async def test_who_was_just_let_in_is_no_second_member(alice: Actor) -> None:
    """An owner, or a stranger in an owner's account, could let in anybody."""
    async with team(alice) as nina, member(alice, "finance") as mallory, member(alice, "support") as sam:
        await alice.sql(
            "UPDATE members SET role = 'administrator' WHERE merchant_id = $1::uuid AND role = 'support'", alice.merchant_id
        )
        large = await asked(alice, LARGE)
        for puppet in (mallory, sam):
            (await approve(puppet, large)).refused("not_second_member", 409)
        await alice.sql(OLD, alice.merchant_id)
        (await approve(mallory, large)).ok()
        del nina


async def test_the_database_refuses_it_too(alice: Actor) -> None:
    async with team(alice) as nina:
        large = await asked(alice, LARGE)
        users = {
            who.email: (await alice.sql("SELECT id FROM users WHERE email = $1", who.email))[0]["id"]
            for who in (alice, nina)
        }
        step = "UPDATE outgoing_transfers SET {} WHERE id = $1::uuid"
        for change in (
            "released_at = now()",
            "second_member_required = false",
            "asked_by = NULL",
            f"second_member_id = '{users[alice.email]}', second_member_at = now()",
            f"second_member_id = '{uuid4()}', second_member_at = now()",
            "second_member_at = now()",
        ):
            with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                await alice.sql(step.format(change), large["id"])
        one = "UPDATE second_member_rules SET {} WHERE merchant_id = $1::uuid"
        for change in ("above_minor = NULL", "above_minor = 5, confirmed_by = set_by, confirmed_at = now()"):
            with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                await alice.sql(one.format(change), alice.merchant_id)
        with pytest.raises(asyncpg.PostgresError, match="second_member_rules"):
            await alice.sql("DELETE FROM second_member_rules WHERE merchant_id = $1::uuid", alice.merchant_id)


async def test_the_rule_is_changed_by_two(alice: Actor) -> None:
    await fund(alice, "1000.00")
    (await alice.dashboard("PUT", "/team", {"second_member_above": RULE})).refused("no_second_member", 409)
    async with team(alice) as nina, member(alice, "support") as sam:
        more = [{"currency": "EUR", "amount": "100.00"}]
        saved = await rule(alice, [*more, {"currency": "USD", "amount": "0.00"}])
        assert saved["second_member_above"] == RULE
        waiting = [(one["currency"], one["amount"]) for one in saved["second_member_changes"]]
        assert waiting == [("EUR", "100.00"), ("USD", "0.00")]
        assert (await asked(alice, LARGE))["waits"] == WAITS
        shown = {"currency": "EUR", "amount": "100.00"}
        (await alice.dashboard("POST", "/team/confirm", shown)).refused("not_second_member", 409)
        (await sam.dashboard("POST", "/team/confirm", shown)).refused("role_forbidden", 403)
        (await nina.dashboard("POST", "/team/confirm", shown | {"amount": None})).refused("not_found", 404)
        confirmed = (await nina.dashboard("POST", "/team/confirm", shown)).ok().body
        assert confirmed["second_member_above"] == more
        assert (await asked(alice, LARGE))["waits"] == []
        (await nina.dashboard("POST", "/team/confirm", shown)).refused("not_found", 404)
        assert (await rule(alice, more))["second_member_changes"] == []
        assert [one["amount"] for one in (await rule(alice, []))["second_member_changes"]] == [None]
        await alice.sql(LATE, alice.merchant_id)
        ended = {"currency": "EUR", "amount": None}
        (await nina.dashboard("POST", "/team/confirm", ended)).refused("not_found", 404)
        assert len((await rule(alice, []))["second_member_changes"]) == 1
        assert (await nina.dashboard("POST", "/team/confirm", ended)).ok().body["second_member_above"] == []
        assert (await asked(alice, {"amount": "500.00"}))["waits"] == []
        assert (await rule(alice, RULE))["second_member_changes"] == []


async def test_converting_first_does_not_help(alice: Actor) -> None:
    async with team(alice) as nina:
        await fund(alice, "10.00", "USD")
        dollars = await asked(alice, {"method_id": "sandbox:USD", "amount": "5.00"})
        assert dollars["waits"] == WAITS
        (await approve(nina, dollars)).ok()


async def test_two_rules_at_once_are_one_change(alice: Actor) -> None:
    """Of two first settings at once, the second one waits for a second member."""
    async with member(alice, "finance"), member(alice, "owner") as olga:
        amounts = ("100.00", "200.00")
        both = [
            who.dashboard("PUT", "/team", {"second_member_above": [{"currency": "EUR", "amount": amount}]})
            for who, amount in zip((alice, olga), amounts, strict=True)
        ]
        assert [answer.status for answer in await asyncio.gather(*both)] == [200, 200]
        settings = (await alice.dashboard("GET", "/team")).ok().body
        assert len(settings["second_member_above"]) == len(settings["second_member_changes"]) == 1


async def test_bad_amounts_are_named(alice: Actor) -> None:
    bad = [{"currency": "EUR", "amount": "1.001"}, {"currency": "XXX", "amount": "x"}, {"currency": "EUR", "amount": "-1"}]
    refused = (await alice.dashboard("PUT", "/team", {"second_member_above": bad})).refused("validation_failed", 422)
    assert refused.field_errors().keys() == {
        "second_member_above.0.amount",
        "second_member_above.1.currency",
        "second_member_above.1.amount",
        "second_member_above.2.currency",
        "second_member_above.2.amount",
    }


async def test_the_pages_do_the_same(alice: Actor) -> None:
    await fund(alice, "1000.00")
    refused = await post(alice, "/settings/team", 409, second_EUR="15")
    assert "invite one as finance" in refused.text
    async with member(alice, "finance") as nina:
        await post(alice, "/settings/team", second_EUR="15.00")
        large = await asked(alice, LARGE)
        page = f"/test/withdrawals/{large['id']}"
        assert "you asked for it" in await seen(alice, page)
        assert "Approve withdrawal" not in await seen(alice, page)
        assert "you asked for it" in (await post(alice, f"{page}/approve", 409)).text
        assert "Approve withdrawal" in await seen(nina, page)
        listed = (await nina.dashboard("GET", "/notifications?mode=test")).ok().body["notifications"]
        assert [one["kind"] for one in listed].count("second_member_needed") == 1
        await post(nina, f"{page}/approve")
        assert "Approved by a second member" in await seen(alice, page)
        assert "does not wait for a second member" in (await post(nina, f"{page}/approve", 409)).text
        await post(alice, "/settings/team", second_EUR="")
        assert "to remove the amount in EUR" in await seen(alice, "/settings/members")
        assert "Confirm change" not in await seen(alice, "/settings/members")
        assert "Confirm change" in await seen(nina, "/settings/members")
        await post(nina, "/settings/members/confirm", 404, currency="EUR", amount="7.00")
        await post(nina, "/settings/members/confirm", currency="EUR", amount="")
        assert (await alice.dashboard("GET", "/team")).ok().body["second_member_above"] == []
        paid = await sell(alice, amount="40.00")
        await rule(alice, RULE)
        other = (await refund(alice, paid, "16.00", receiver="Nina")).ok(201).body
        approve_refund = f"/test/refunds/{other['id']}/approve"
        await post(alice, approve_refund, 409)
        await post(nina, approve_refund)
        await post(nina, approve_refund, 409)
