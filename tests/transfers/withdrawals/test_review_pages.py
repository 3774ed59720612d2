"""Operators at their pages decide which withdrawals of live mode leave."""

import asyncio
import re
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.cast import Actor, member
from tests.pages.console.operator_pages import KEPT, signed_in_operator
from tests.running import CATALOGUE, Service
from tests.transfers.withdrawals.rails import Line, PaperBank
from tests.transfers.withdrawals.steps import BY_SEPA, asked, cancel, carry, fresh, purse_live
from tollhouse.http.services import Services

pytestmark = pytest.mark.usefixtures("bank")
SECONDED = """
    INSERT INTO second_member_rules (merchant_id, currency, above_minor, set_by, set_at)
    VALUES ($1::uuid, 'EUR', 0, gen_random_uuid(), now())
"""
SEEN = re.compile(r'name="seen" value="([^"]+)"')


@pytest.fixture
async def olga(still: Service) -> AsyncIterator[Actor]:
    """Olga runs the house."""
    async with signed_in_operator(still, "olga") as actor:
        yield actor


async def seen(operator: Actor, withdrawal: dict[str, str]) -> dict[str, str]:
    """What the page of a withdrawal says was seen of it."""
    shown = (await operator.send("GET", f"/operator/withdrawals/{withdrawal['id']}")).ok().text
    return {"seen": SEEN.findall(shown)[0]}


async def kept(actor: Actor) -> list[tuple[str, str, str | None]]:
    """What is kept of this merchant's withdrawals."""
    rows = await actor.sql(KEPT, actor.merchant_id)
    return [(row["action"], row["operator"], row["reason"]) for row in rows if row["action"].startswith("withdrawal")]


@pytest.mark.covers("P-113")
async def test_one_is_approved_and_leaves(rich: Actor, olga: Actor, services: Services, bank: PaperBank) -> None:
    new = await asked(rich, BY_SEPA | {"description": "Rent <of> May"}, mode="live")
    page = f"/operator/withdrawals/{new['id']}"
    assert page in (await olga.send("GET", "/operator/withdrawals?limit=100")).ok().text
    shown = (await olga.send("GET", page)).ok().text
    for words in (BY_SEPA["receiver"], "Nina", "€10.00", "Rent &lt;of&gt; May", "The Shop", "Pending review</span>"):
        assert words in shown, words
    done = (await olga.form(f"{page}/approve", {"remark": "Known payee", **await seen(olga, new)})).ok(303)
    assert "Done: withdrawal approved" in (await olga.send("GET", done.location)).ok().text
    assert page not in (await olga.send("GET", "/operator/withdrawals?limit=100")).ok().text
    [approved] = await rich.sql("SELECT count(*) AS count FROM withdrawals WHERE status = 'approved'")  # of other tests, too
    last = f"/operator/withdrawals?limit=100&status=approved&page={-(-approved['count'] // 100)}"
    assert page in (await olga.send("GET", last)).ok().text
    assert await kept(rich) == [("withdrawal_approved", olga.email, "Known payee")]
    await carry(rich, services)
    assert UUID(new["id"]) in bank.orders
    assert (await fresh(rich, new, mode="live"))["review"]["note"] == "Known payee"


@pytest.mark.covers("P-123")
async def test_one_is_rejected_with_a_reason(rich: Actor, olga: Actor, bank: PaperBank) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    page = f"/operator/withdrawals/{new['id']}"
    looked = await seen(olga, new)
    (await olga.form(f"{page}/reject", {"reason": "", **looked})).ok(422)
    (await olga.form(f"{page}/approve", {"remark": "x" * 501, **looked})).ok(422)
    assert await kept(rich) == []
    (await olga.form(f"{page}/reject", {"reason": "Unknown payee", **looked})).ok(303)
    shown = await fresh(rich, new, mode="live")
    assert (shown["status"], shown["failure_code"], shown["review"]["note"]) == (
        "failed",
        "review_rejected",
        "Unknown payee",
    )
    assert await purse_live(rich) == (10_000, 0)
    assert bank.orders == {}
    late = (await olga.form(f"{page}/approve", looked)).ok(409)
    assert "No changes were made." in late.text
    assert await kept(rich) == [("withdrawal_rejected", olga.email, "Unknown payee")]


async def test_what_its_merchant_canceled_meanwhile_stays_canceled(rich: Actor, olga: Actor) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    looked = await seen(olga, new)
    (await cancel(rich, new, mode="live")).ok()
    for word, fields in (("approve", {}), ("reject", {"reason": "Unknown payee"})):
        late = (await olga.form(f"/operator/withdrawals/{new['id']}/{word}", looked | fields)).ok(409)
        assert "Canceled</span>" in late.text
    assert (await fresh(rich, new, mode="live"))["status"] == "canceled"
    assert await kept(rich) == []


async def test_operators_who_decide_at_once_decide_once(rich: Actor, olga: Actor, still: Service) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    looked = await seen(olga, new)
    page = f"/operator/withdrawals/{new['id']}"
    async with signed_in_operator(still, "otto") as otto:
        ended = await asyncio.gather(
            olga.form(f"{page}/approve", looked),
            otto.form(f"{page}/reject", looked | {"reason": "Unknown payee"}),
            olga.form(f"{page}/approve", looked),
        )
    assert sorted(answer.status for answer in ended) == [303, 409, 409]
    assert len(await kept(rich)) == 1


async def test_a_large_one_needs_a_second_operator(
    rich: Actor, olga: Actor, services: Services, still: Service, monkeypatch: pytest.MonkeyPatch, line: Line
) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=999)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    new = await asked(rich, BY_SEPA, mode="live")
    page = f"/operator/withdrawals/{new['id']}"
    assert "second operator" in (await olga.send("GET", page)).ok().text
    (await olga.form(f"{page}/approve", await seen(olga, new))).ok(303)
    shown = (await olga.send("GET", page)).ok().text
    assert "You approved this." in shown
    assert "/approve" not in shown
    again = (await olga.form(f"{page}/approve", await seen(olga, new))).ok(409)
    assert "A second operator must approve it too" in again.text
    await carry(rich, services)
    assert line.times_sent(new) == 0
    async with signed_in_operator(still, "otto") as otto:
        assert "This cannot be undone." in (await otto.send("GET", page)).ok().text
        (await otto.form(f"{page}/approve", await seen(otto, new))).ok(303)
    await carry(rich, services)
    assert line.times_sent(new) == 1


async def test_what_needs_a_second_member_leaves_after_both(
    rich: Actor, olga: Actor, services: Services, line: Line
) -> None:
    async with member(rich, "finance") as nina:
        await rich.sql(SECONDED, rich.merchant_id)
        new = await asked(rich, BY_SEPA, mode="live")
        page = f"/operator/withdrawals/{new['id']}"
        assert "nothing is sent before that" in (await olga.send("GET", page)).ok().text
        (await olga.form(f"{page}/approve", await seen(olga, new))).ok(303)
        await carry(rich, services)
        assert line.times_sent(new) == 0
        (await nina.dashboard("POST", f"/withdrawals/{new['id']}/approve")).ok()
        await carry(rich, services)
        assert line.times_sent(new) == 1


async def test_what_is_not_there_is_not_found(olga: Actor) -> None:
    page = f"/operator/withdrawals/{uuid4()}"
    (await olga.send("GET", page)).refused("not_found", 404)
    (await olga.form(f"{page}/approve", {"seen": "1"})).refused("not_found", 404)
    (await olga.form(f"{page}/reject", {"seen": "1", "reason": "Why"})).refused("not_found", 404)
    (await olga.send("GET", "/operator/withdrawals?status=lost")).refused("validation_failed", 422)


@pytest.mark.parametrize("fields", [{}, {"seen": ""}, {"seen": "-1"}, {"seen": "²"}, {"seen": "1.0"}])
async def test_a_decision_says_what_was_seen(rich: Actor, olga: Actor, fields: dict[str, str]) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    (await olga.form(f"/operator/withdrawals/{new['id']}/approve", fields)).refused("invalid_request", 400)
    assert await kept(rich) == []
