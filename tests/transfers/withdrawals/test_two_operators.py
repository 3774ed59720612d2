"""Two operators release what is large: of one withdrawal, of its parts together, and of what waited until now."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import CATALOGUE, Service, settings_for
from tests.transfers.withdrawals.rails import Line
from tests.transfers.withdrawals.steps import BY_SEPA, asked, fresh
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.withdrawal_methods import BUILT_IN
from tollhouse.pages.console import reviews

pytestmark = pytest.mark.usefixtures("bank")
SEEN = re.compile(r'name="seen" value="([^"]+)"')


@pytest.fixture
async def seller(rich: Actor, monkeypatch: pytest.MonkeyPatch) -> Actor:
    """A merchant with 100.00, of whose money two operators release more than 15.00 in a day."""
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=1_500)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    return rich


@pytest.fixture
async def olga(still: Service) -> AsyncIterator[Actor]:
    """Olga runs the house."""
    async with signed_in_operator(still, "olga") as actor:
        yield actor


async def approve(services: Services, one: dict[str, Any], name: str, *, command: bool = False) -> str:
    """This operator approves it; what the history calls that."""
    context = OperatorContext(name, clock.now(), on_command_line=command)
    return (await reviews.approve(services, reviews.WITHDRAWALS, UUID(one["id"]), context)).action


async def status(merchant: Actor, one: dict[str, Any]) -> str:
    """How far it is."""
    return (await fresh(merchant, one, mode="live"))["status"]


def test_shipped_methods_need_two_operators_above_the_value_of_10_000_euros() -> None:
    assert {name: method.second_operator_above_minor for name, method in BUILT_IN.items()} == {
        "sepa:EUR": 1_000_000,
        "bitcoin:BTC": 10_000_000,
        "ethereum:ETH": 300_000_000,
        "ethereum:USDC": 11_000_000_000,
    }
    assert BUILT_IN["sepa:EUR"].return_fee_max_minor == 5_000


async def test_parts_do_not_avoid_the_second_operator(seller: Actor, services: Services) -> None:
    parts = [await asked(seller, BY_SEPA, mode="live") for _ in range(2)]
    for part in parts:
        assert await approve(services, part, "olga@house.example") == "withdrawal_approval_given"
        assert await status(seller, part) == "pending_review"
    for part in parts:
        assert await approve(services, part, "otto@house.example") == "withdrawal_approved"
        assert await status(seller, part) == "approved"


async def test_a_part_counts_what_was_approved_in_the_last_day(seller: Actor, services: Services) -> None:
    first = await asked(seller, BY_SEPA, mode="live")
    assert await approve(services, first, "olga@house.example") == "withdrawal_approved"
    second = await asked(seller, BY_SEPA, mode="live")
    assert await approve(services, second, "olga@house.example") == "withdrawal_approval_given"
    later = OperatorContext("olga@house.example", clock.now() + timedelta(hours=24, seconds=1))
    third = await asked(seller, BY_SEPA | {"amount": "1.00"}, mode="live")
    await reviews.reject(services, reviews.WITHDRAWALS, UUID(second["id"]), msgspec.structs.replace(later, reason="No"))
    await reviews.approve(services, reviews.WITHDRAWALS, UUID(third["id"]), later)
    assert await status(seller, third) == "approved"


async def test_two_parts_that_are_approved_at_once(seller: Actor, services: Services) -> None:
    parts = [await asked(seller, BY_SEPA, mode="live") for _ in range(2)]
    await asyncio.gather(*(approve(services, part, "olga@house.example") for part in parts))
    assert [await status(seller, part) for part in parts] == ["pending_review"] * 2


async def test_a_batch_does_not_avoid_the_second_operator(seller: Actor, services: Services) -> None:
    body = {"items": [BY_SEPA | {"amount": "1.00"} for _ in range(16)]}
    created = (await seller.post("/withdrawal-batches", body, key=str(uuid4()), mode="live")).ok(201).body
    ids = await seller.sql("SELECT id::text FROM withdrawals WHERE batch_id = $1::uuid", created["id"])
    assert len(ids) == 16
    for row in ids:
        assert await approve(services, {"id": row["id"]}, "olga@house.example") == "withdrawal_approval_given"
    assert (
        await seller.sql("SELECT FROM withdrawals WHERE batch_id = $1::uuid AND status <> 'pending_review'", created["id"])
        == []
    )


async def test_both_approvals_are_given_on_the_pages(seller: Actor, services: Services, olga: Actor) -> None:
    large = await asked(seller, BY_SEPA | {"amount": "20.00"}, mode="live")
    refused = await operator(seller.service, "withdrawals", "approve", large["id"])
    assert (refused.status, "on the operator pages" in refused.talk) == (1, True)
    assert (await operator(seller.service, "withdrawals", "approve", large["id"], "--as", olga.email)).status == 1
    page = f"/operator/withdrawals/{large['id']}"
    shown = (await olga.send("GET", page)).ok().text
    done = (await olga.form(f"{page}/approve", {"seen": SEEN.findall(shown)[0]})).ok(303)
    shown = (await olga.send("GET", done.location)).ok().text
    assert "Nothing has been released yet." in shown
    assert "Done:" not in shown
    with pytest.raises(OperatorRefusedError):
        await approve(services, large, "otto@house.example", command=True)
    assert await status(seller, large) == "pending_review"
    await approve(services, large, "otto@house.example")
    assert await status(seller, large) == "approved"


async def test_a_single_operator_by_setting(seller: Actor, services: Services) -> None:
    large = await asked(seller, BY_SEPA | {"amount": "20.00"}, mode="live")
    alone = msgspec.structs.replace(services, settings=msgspec.structs.replace(services.settings, two_operators=False))
    with pytest.raises(OperatorRefusedError, match="on the operator pages"):
        await approve(alone, large, "olga@house.example", command=True)
    assert await approve(alone, large, "olga@house.example") == "withdrawal_approved"
    assert await status(seller, large) == "approved"
    [kept] = await seller.sql("SELECT single_operator FROM outgoing_transfers WHERE id = $1::uuid", large["id"])
    assert kept["single_operator"]
    [kept] = await seller.sql("SELECT single_operator FROM operator_actions WHERE subject_id = $1::uuid", large["id"])
    assert kept["single_operator"]


async def test_the_pages_say_that_a_single_operator_decides(seller: Actor, olga: Actor, still: Service) -> None:
    large = await asked(seller, BY_SEPA | {"amount": "20.00"}, mode="live")
    pages = ("/operator/withdrawals", "/operator/refunds", f"/operator/withdrawals/{large['id']}")
    for page in pages:
        assert "TOLLHOUSE_TWO_OPERATORS" not in (await olga.send("GET", page)).ok().text
    with Service(settings_for(still.dsn, TOLLHOUSE_TWO_OPERATORS="off"), worker=False) as beside:
        async with signed_in_operator(beside, "otto") as otto:
            for page in pages:
                assert "TOLLHOUSE_TWO_OPERATORS is off" in (await otto.send("GET", page)).ok().text


async def test_the_database_counts_the_parts_itself(seller: Actor, line: Line) -> None:
    parts = [await asked(seller, BY_SEPA, mode="live") for _ in range(2)]
    with pytest.raises(asyncpg.CheckViolationError, match="two operators"):
        await seller.sql(
            "UPDATE outgoing_transfers SET review = 'approved', approvals = '{olga}', reviewed_at = now()"
            " WHERE id = $1::uuid",
            parts[0]["id"],
        )
    for given, by_command in (("{olga,OLGA}", 0), ("{olga,otto}", 1)):
        with pytest.raises(asyncpg.CheckViolationError, match="two operators"):
            await seller.sql(
                "UPDATE outgoing_transfers SET review = 'approved', approvals = $2::text::text[], approvals_needed = 2,"
                " approvals_by_command = $3, reviewed_at = now() WHERE id = $1::uuid",
                parts[0]["id"],
                given,
                by_command,
            )
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="stays what it is"):
        await seller.sql(
            "UPDATE outgoing_transfers SET second_operator_above_minor = 9999999 WHERE id = $1::uuid", parts[0]["id"]
        )
    assert line.times_sent(parts[0]) == 0
