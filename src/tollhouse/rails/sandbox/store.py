"""SQL of the simulator's plans and of test clocks."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.database.pool import Pool, Tx

ADVANCE_CLOCK = """
    INSERT INTO test_clocks AS c (merchant_id, mode, ahead) VALUES ($1, $2, $3)
    ON CONFLICT (merchant_id) DO UPDATE SET ahead = c.ahead + excluded.ahead
    RETURNING ahead
"""
INSERT_PLAN = """
    INSERT INTO sandbox_plans (id, merchant_id, mode, transaction_id, outcome, due_at) VALUES ($1, $2, $3, $4, $5, $6)
"""
# Leased by moving due_at: plans that fail, or whose worker died, are tried again.
LEASE_DUE = """
    UPDATE sandbox_plans SET due_at = $1::timestamptz + $2::interval, tries = tries + 1
    WHERE id IN (SELECT id FROM sandbox_plans WHERE due_at <= $1 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING id, merchant_id, mode, transaction_id, outcome
"""
DELETE_PLAN = "DELETE FROM sandbox_plans WHERE merchant_id = $1 AND mode = $2 AND id = $3"
DELETE_FAILED = "DELETE FROM sandbox_plans WHERE tries >= $1"


class Plan(Struct, frozen=True):
    """An outcome to simulate later."""

    id: UUID
    env: MerchantEnv
    transaction_id: UUID
    outcome: str


async def advance_clock(tx: Tx, env: MerchantEnv, by: timedelta) -> timedelta:
    """Advance the merchant's test clock and return its offset."""
    return await tx.fetchval(ADVANCE_CLOCK, env.merchant_id, env.mode, by)


async def insert_plan(tx: Tx, env: MerchantEnv, transaction_id: UUID, outcome: str, due_at: datetime) -> None:
    """Schedule an outcome."""
    await tx.write(INSERT_PLAN, new_id(), env.merchant_id, env.mode, transaction_id, outcome, due_at)


async def lease_due(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[Plan]:
    """Lease plans that are due."""
    rows = await db.fetch(LEASE_DUE, now, lease, limit)
    return [
        Plan(row["id"], MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["transaction_id"], row["outcome"])
        for row in rows
    ]


async def delete_plan(tx: Tx, plan: Plan) -> None:
    """Delete a plan."""
    await tx.execute(DELETE_PLAN, plan.env.merchant_id, plan.env.mode, plan.id)


async def delete_failed(db: Pool, tries: int) -> int:
    """Delete the plans that failed this often and return their number."""
    return await db.execute(DELETE_FAILED, tries)
