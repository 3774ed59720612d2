"""Adjusting a balance on the pages: alone up to a threshold that all credits of a day count toward, and by two above it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import CATALOGUE, Service
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions

KEPT = """
    SELECT action, amount_minor, single_operator FROM operator_actions
    WHERE merchant_id = $1::uuid AND action IN ('adjustment_approved', 'balance_adjusted') ORDER BY at, id
"""


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga runs the house."""
    async with signed_in_operator(service, "olga") as actor:
        yield actor


@pytest.fixture
async def otto(service: Service) -> AsyncIterator[Actor]:
    """So does Otto."""
    async with signed_in_operator(service, "otto") as actor:
        yield actor


async def given(actor: Actor) -> int:
    """What the merchant has in live mode, in cents."""
    return (await actor.get("/balances/EUR", mode="live")).ok().body["available_minor"]


def form(amount: str, **changes: str) -> dict[str, str]:
    """The form, filled in."""
    return {"mode": "live", "direction": "credit", "currency": "EUR", "amount": amount, "reason": "Goodwill"} | changes


async def test_small_credits_are_made_by_one_and_parts_of_a_large_one_by_two(alice: Actor, olga: Actor, otto: Actor) -> None:
    page = f"/operator/merchants/{alice.merchant_id}/adjust"
    assert "Adjust balance" in (await olga.send("GET", f"/operator/merchants/{alice.merchant_id}")).ok().text
    done = (await olga.form(page, form("9,999.00"))).ok(303)
    assert "balance adjusted" in (await olga.send("GET", done.location)).ok().text
    assert await given(alice) == 999_900
    (await olga.form(page, form("1.00"))).ok(303)
    assert await given(alice) == 1_000_000
    assert (await olga.form(page, form("0.01"))).ok(303).location.endswith("/adjust")
    assert await given(alice) == 1_000_000
    assert "Nothing has been booked yet." in (await olga.send("GET", page)).ok().text
    assert "already approved this" in (await olga.form(page, form("0.01"))).ok(409).text
    assert "waits for a second operator" in (await otto.send("GET", f"/operator/merchants/{alice.merchant_id}")).ok().text
    assert "Approve adjustment" in (await otto.send("GET", page)).ok().text
    assert (await otto.form(page, form("0.02"))).ok(303).location.endswith("/adjust"), "another amount is another decision"
    (await otto.form(page, form("0.01"))).ok(303)
    assert await given(alice) == 1_000_001
    kept = [tuple(row) for row in await alice.sql(KEPT, alice.merchant_id)]
    assert kept == [
        ("balance_adjusted", 999_900, False),
        ("balance_adjusted", 100, False),
        ("adjustment_approved", 1, False),
        ("adjustment_approved", 2, False),
        ("adjustment_approved", 1, False),
        ("balance_adjusted", 1, False),
    ]
    (await olga.form(page, form("500.00", direction="debit"))).ok(303)
    (await olga.form(page, form("20000.00", mode="test"))).ok(303)
    assert await given(alice) == 950_001


async def test_the_command_gives_no_large_credit(alice: Actor, service: Service) -> None:
    words = ("--mode", "live", "--currency", "EUR", "--reason", "Goodwill")
    refused = await operator(service, "adjust", alice.merchant_id, *words, "--amount", "10000.01")
    assert (refused.status, "on the operator pages" in refused.talk) == (1, True)
    assert (await operator(service, "adjust", alice.merchant_id, *words, "--amount", "10000.00")).status == 0
    assert (await operator(service, "adjust", alice.merchant_id, *words, "--amount", "0.01")).status == 1
    assert (await operator(service, "adjust", alice.merchant_id, *words, "--amount", "-0.01")).status == 0


async def test_a_single_operator_and_an_old_approval(alice: Actor, service: Service) -> None:
    services = service.create_services(connections=1)
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "live")
    try:
        alone = msgspec.structs.replace(services, settings=msgspec.structs.replace(services.settings, two_operators=False))
        usd, now = CATALOGUE.currencies["USD"], clock.now()
        for number, (using, name, later) in enumerate(
            [(services, "olga", timedelta()), (services, "otto", timedelta(days=7)), (alone, "olga", timedelta(days=7))]
        ):
            context = OperatorContext(f"{name}@house.example", now + later, f"Try {number}")
            await using.transact(
                lambda work, context=context: actions.adjust(work, env, usd, 1_000_001, context), context.at
            )
    finally:
        await services.close()
    kept = [tuple(row) for row in await alice.sql(KEPT, alice.merchant_id)]
    assert kept == [
        ("adjustment_approved", 1_000_001, False),
        ("adjustment_approved", 1_000_001, False),
        ("adjustment_approved", 1_000_001, True),
        ("balance_adjusted", 1_000_001, False),
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"amount": "0"}, {"amount": "x"}, {"amount": "1.001"}, {"currency": "XXX"}, {"mode": "x"}, {"direction": "x"},
     {"reason": ""}],
)  # fmt: skip
async def test_a_wrong_form_changes_nothing(alice: Actor, olga: Actor, wrong: dict[str, str]) -> None:
    (await olga.form(f"/operator/merchants/{alice.merchant_id}/adjust", form("1.00") | wrong)).ok(422)
    assert await alice.sql(KEPT, alice.merchant_id) == []
