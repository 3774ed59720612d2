"""The database itself refuses what no withdrawal may be, whoever writes it."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor
from tests.transfers.withdrawals.rails import Line
from tests.transfers.withdrawals.steps import BY_SEPA, asked, carry, fund, play, review
from tollhouse.http.services import Services

NEVER = [
    "debit_minor = debit_minor + 1",
    "receive_minor = receive_minor - 1",
    "system_fee_minor = 1",
    "amount_minor = 0",
    "status = 'completed', completed_at = now(), network_paid_minor = 0",
    "status = 'failed'",
    "status = 'processing'",
    "status = 'lost'",
    "failure_code = 'returned'",
    "mode = 'live'",
    "submission = 'accepted'",
    "network_paid_minor = 1",
    "provider_fields = '[]'",
]


async def write(actor: Actor, withdrawal: dict[str, Any], change: str) -> None:
    """Change a row, past all rules but the database's."""
    await actor.sql(f"UPDATE withdrawals SET {change} WHERE id = $1::uuid", withdrawal["id"])  # noqa: S608


async def test_what_no_withdrawal_can_be(shop: Actor) -> None:
    await fund(shop)
    new = await asked(shop)
    for change in NEVER:
        with pytest.raises(asyncpg.CheckViolationError):
            await write(shop, new, change)


@pytest.mark.usefixtures("line")
async def test_no_money_leaves_live_mode_without_a_review(rich: Actor) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    for change in (
        "status = 'approved'",
        "rail = 'sandbox'",
        "processing_at = now(), submission = 'prepared'",
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            await write(rich, new, change)
    for change in ("review = 'approved'", "approvals_needed = 0, review = 'approved'", "released_at = now()"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await rich.sql(f"UPDATE outgoing_transfers SET {change} WHERE id = $1::uuid", new["id"])  # noqa: S608


async def test_no_step_back(rich: Actor, services: Services, line: Line) -> None:
    """There is no way from a withdrawal that was sent to one that may be sent, nor from one that has ended."""
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    await carry(rich, services)
    assert line.sent.count(UUID(new["id"])) == 1
    for status in ("approved", "pending_review", "canceled"):
        with pytest.raises(asyncpg.CheckViolationError):
            await write(rich, new, f"status = '{status}', processing_at = NULL, submission = NULL, next_look_at = NULL")
    await fund(rich)
    ended = await asked(rich)
    (await play(rich, ended, "fail")).ok()
    for status in ("approved", "processing", "completed", "canceled"):
        with pytest.raises(asyncpg.CheckViolationError):
            await write(rich, ended, f"status = '{status}', failure_code = NULL")


async def test_a_quote_and_a_hold_are_of_one_withdrawal(shop: Actor) -> None:
    await fund(shop)
    first, second = await asked(shop), await asked(shop)
    held = f"hold_id = (SELECT hold_id FROM withdrawals WHERE id = '{first['id']}')"  # noqa: S608
    with pytest.raises(asyncpg.UniqueViolationError):
        await write(shop, second, held)
    with pytest.raises(asyncpg.CheckViolationError):
        await shop.sql("UPDATE withdrawal_days SET amount_minor = -1 WHERE merchant_id = $1::uuid", shop.merchant_id)
