"""SQL of the amounts above which a second member approves."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx

LIST = """
    SELECT r.currency, r.above_minor, c.by, c.at, c.above_minor AS change_above_minor
    FROM second_member_rules r
    LEFT JOIN LATERAL (SELECT r.change_by AS by, r.change_at AS at, r.change_above_minor AS above_minor
                       WHERE r.change_at > $2::timestamptz - interval '7 days') c ON true
    WHERE r.merchant_id = $1 ORDER BY r.currency
"""
SET = """
    INSERT INTO second_member_rules (merchant_id, currency, above_minor, set_by, set_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (merchant_id, currency) DO UPDATE
    SET above_minor = $3, set_by = $4, set_at = $5, change_by = NULL, change_at = NULL, change_above_minor = NULL
"""
REQUEST = """
    INSERT INTO second_member_rules (merchant_id, currency, set_by, set_at, change_by, change_at, change_above_minor)
    VALUES ($1, $2, $3, $4, $3, $4, $5)
    ON CONFLICT (merchant_id, currency) DO UPDATE SET change_by = $3, change_at = $4, change_above_minor = $5
"""
WITHDRAW = """
    UPDATE second_member_rules SET change_by = NULL, change_at = NULL, change_above_minor = NULL
    WHERE merchant_id = $1 AND currency = $2
"""
CONFIRM = """
    UPDATE second_member_rules
    SET above_minor = change_above_minor, set_by = change_by, set_at = CASE WHEN above_minor IS NULL THEN $3 ELSE set_at END,
        confirmed_at = $3, confirmed_by = $4, change_by = NULL, change_at = NULL, change_above_minor = NULL
    WHERE merchant_id = $1 AND currency = $2
"""
COUNTS = "SELECT counts_as_second_member($1, $2, $3)"
COUNT_OTHERS = (
    "SELECT count(*) FROM members WHERE merchant_id = $1 AND user_id <> $2 AND removed_at IS NULL AND role = ANY ($3)"
)


async def rules(db: Pool | Tx, merchant_id: MerchantId, now: datetime) -> list[Row]:
    """The rule of each currency that has or had one, with the change that waits to be confirmed."""
    return await db.fetch(LIST, merchant_id, now)


async def set_amount(tx: Tx, merchant_id: MerchantId, currency: str, above_minor: int, user_id: UUID, now: datetime) -> None:
    """Set the amount of a currency where no currency has one."""
    await tx.execute(SET, merchant_id, currency, above_minor, user_id, now)


async def request(
    tx: Tx, merchant_id: MerchantId, currency: str, above_minor: int | None, user_id: UUID, now: datetime
) -> None:
    """Request another amount, or none."""
    await tx.execute(REQUEST, merchant_id, currency, user_id, now, above_minor)


async def withdraw_request(tx: Tx, merchant_id: MerchantId, currency: str) -> None:
    """Withdraw the request of a currency."""
    await tx.execute(WITHDRAW, merchant_id, currency)


async def confirm(tx: Tx, merchant_id: MerchantId, currency: str, user_id: UUID, now: datetime) -> None:
    """Confirm the change of a currency."""
    await tx.execute(CONFIRM, merchant_id, currency, now, user_id)


async def counts(tx: Tx, merchant_id: MerchantId, user_id: UUID, now: datetime) -> bool:
    """Whether the user counts as a second member."""
    return bool(await tx.fetchval(COUNTS, merchant_id, user_id, now))


async def count_others(tx: Tx, merchant_id: MerchantId, user_id: UUID, roles: Sequence[str]) -> int:
    """How many other members have one of these roles."""
    return await tx.fetchval(COUNT_OTHERS, merchant_id, user_id, roles)
