"""Every SQL statement of the operator's deeds."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.operator.model import Deed, ListedProject, Merchant
from tollhouse.platform.db import Pool, Tx

MERCHANTS = "SELECT id, business_name, created_at, suspended_at FROM merchants ORDER BY created_at DESC, id DESC"
IS_MERCHANT = "SELECT true FROM merchants WHERE id = $1"
SUSPEND = "UPDATE merchants SET suspended_at = $2 WHERE id = $1 AND suspended_at IS NULL RETURNING id"
REACTIVATE = "UPDATE merchants SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id"
PROJECTS = """
    SELECT p.id, p.merchant_id, m.business_name, p.mode, p.name, p.website_url, p.status, p.rejected_because, p.created_at
    FROM projects p JOIN merchants m ON m.id = p.merchant_id
    WHERE $1::text IS NULL OR p.status = $1 ORDER BY p.created_at DESC, p.id DESC
"""
STATUS = "SELECT status FROM projects WHERE id = $1"
APPROVE = """
    UPDATE projects SET status = 'approved', rejected_because = NULL, updated_at = $2
    WHERE id = $1 AND status <> 'approved' RETURNING merchant_id, mode
"""
REJECT = """
    UPDATE projects SET status = 'rejected', rejected_because = $3, updated_at = $2
    WHERE id = $1 AND status <> 'rejected' RETURNING merchant_id, mode
"""
KEEP = """
    INSERT INTO operator_actions (id, operator, action, merchant_id, mode, subject_id, reason, currency, amount_minor, at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""


async def merchants(db: Pool) -> list[Merchant]:
    """All merchants, newest first."""
    return [
        Merchant(
            row["id"],
            row["business_name"],
            "suspended" if row["suspended_at"] else "active",
            stamp(row["created_at"]),
            stamp_or_none(row["suspended_at"]),
        )
        for row in await db.fetch(MERCHANTS)
    ]


async def is_merchant(tx: Tx, merchant_id: UUID) -> bool:
    """Whether there is such a merchant."""
    return bool(await tx.fetchval(IS_MERCHANT, merchant_id))


async def suspend(tx: Tx, merchant_id: UUID, now: datetime) -> bool:
    """Suspend an active merchant; False when there is none."""
    return await tx.execute(SUSPEND, merchant_id, now) == 1


async def reactivate(tx: Tx, merchant_id: UUID) -> bool:
    """Reactivate a suspended merchant; False when there is none."""
    return await tx.execute(REACTIVATE, merchant_id) == 1


async def projects(db: Pool, status: str | None) -> list[ListedProject]:
    """All projects, or those of this status, newest first."""
    return [
        ListedProject(
            row["id"],
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["name"],
            row["website_url"],
            row["status"],
            row["rejected_because"],
            stamp(row["created_at"]),
        )
        for row in await db.fetch(PROJECTS, status)
    ]


async def status_of(tx: Tx, project_id: UUID) -> str | None:
    """How far the project is; None when there is none."""
    return await tx.fetchval(STATUS, project_id)


async def approve(tx: Tx, project_id: UUID, now: datetime) -> MerchantEnv | None:
    """Approve a project that is not; whose it is. None when there is no such one."""
    row = await tx.fetchrow(APPROVE, project_id, now)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def reject(tx: Tx, project_id: UUID, reason: str, now: datetime) -> MerchantEnv | None:
    """Reject a project that is not; whose it is. None when there is no such one."""
    row = await tx.fetchrow(REJECT, project_id, now, reason)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def keep(tx: Tx, deed: Deed, now: datetime) -> None:
    """Keep what was done, for ever."""
    whom = (deed.merchant_id, deed.mode, deed.subject_id)
    what = (deed.reason, deed.currency, deed.amount_minor)
    await tx.execute(KEEP, deed.action_id, deed.operator, deed.action, *whom, *what, now)
