"""Every rule stands in the database too: what would break it cannot be written."""

import asyncpg
import pytest

from tests.transfers.balance_payments.till import Till

WRONG = (
    "captured_minor = 1001, released_minor = 0",
    "captured_minor = 400, released_minor = 500",
    "captured_minor = 0, released_minor = 1000",
    "refunded_minor = 1001, refunds = 1, status = 'refunded'",
    "refunded_minor = 1, refunds = 1",
    "refunded_minor = 1, refunds = 0, status = 'partially_refunded'",
    "status = 'reserved', resolved_at = NULL",
    "status = 'released'",
    "status = 'expired', captured_minor = 0, released_minor = 1000",
    "owner_id = merchant_id",
    "hold_id = NULL",
    "expires_at = NULL",
    "resolved_at = NULL",
)


async def test_what_cannot_be(till: Till) -> None:
    captured = (await till.act(await till.reserve(), "capture")).ok().body
    for wrong in WRONG:
        with pytest.raises(asyncpg.CheckViolationError):
            await till.payer.sql(f"UPDATE balance_payments SET {wrong} WHERE id = $1::uuid", captured["id"])  # noqa: S608


async def test_nothing_is_deleted(till: Till) -> None:
    paid = (await till.pay()).ok(201).body
    for statement in ("DELETE FROM balance_payments WHERE id = $1::uuid", "TRUNCATE balance_payments"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await till.payer.sql(statement, *([paid["id"]] if "$1" in statement else []))


@pytest.mark.parametrize("ended", ["captured", "released"])
async def test_what_has_ended_does_not_begin_again(till: Till, ended: str) -> None:
    payment = await till.reserve()
    (await till.act(payment, ended.removesuffix("d"))).ok()
    with pytest.raises(asyncpg.CheckViolationError):
        await till.payer.sql(
            "UPDATE balance_payments SET status = 'reserved', captured_minor = 0, released_minor = 0, resolved_at = NULL"
            " WHERE id = $1::uuid",
            payment["id"],
        )
