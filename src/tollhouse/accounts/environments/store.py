"""SQL of projects."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.environments.model import (
    PROJECT,
    REVIEWED_PROJECT,
    Project,
    ProjectChanges,
    ProjectFacts,
    ProjectStatus,
    ReviewedProject,
)
from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.pool import Pool, Tx

APPROVED = f"""
    SELECT {PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND mode = $2 AND status = 'approved'
      AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
APPROVED_ONE = f"""
    SELECT {PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'approved'
"""
STATUS = "SELECT status FROM projects WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# Of both environments, for the dashboard.
EVERY = f"""
    SELECT {REVIEWED_PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND ($2::text IS NULL OR mode = $2)
      AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
ONE = f"""
    SELECT {REVIEWED_PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
NEAREST_TO_APPROVAL = f"""
    SELECT {REVIEWED_PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND mode = $2
    ORDER BY array_position('{{approved,in_review,rejected}}', status), created_at DESC, id DESC LIMIT 1
"""
LOCK = f"""
    SELECT {REVIEWED_PROJECT.columns} FROM projects
    WHERE merchant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
# A rejected project gets its first status again; others keep theirs. An approved live one changes by approval only.
CHANGE = f"""
    UPDATE projects SET name = $4, website_url = $5, description = $6, updated_at = $7, rejected_because = NULL,
        status = CASE WHEN status = 'rejected' THEN $8 ELSE status END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND NOT (mode = 'live' AND status = 'approved')
    RETURNING {REVIEWED_PROJECT.columns}
"""
# Without changes (NULL), those that were pending are withdrawn.
KEEP_CHANGES = f"""
    UPDATE projects SET pending_changes = $4::jsonb, changes_rejected_because = NULL, updated_at = $5
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND mode = 'live' AND status = 'approved'
    RETURNING {REVIEWED_PROJECT.columns}
"""
APPROVE_CHANGES = """
    UPDATE projects
    SET name = coalesce(pending_changes ->> 'name', name),
        website_url = CASE WHEN pending_changes ? 'website_url' THEN pending_changes ->> 'website_url' ELSE website_url END,
        description = CASE WHEN pending_changes ? 'description' THEN pending_changes ->> 'description' ELSE description END,
        pending_changes = NULL, updated_at = $2
    WHERE id = $1 AND pending_changes IS NOT NULL AND ($3::timestamptz IS NULL OR updated_at = $3)
    RETURNING merchant_id, mode
"""
REJECT_CHANGES = """
    UPDATE projects SET pending_changes = NULL, changes_rejected_because = $3, updated_at = $2
    WHERE id = $1 AND pending_changes IS NOT NULL AND ($4::timestamptz IS NULL OR updated_at = $4)
    RETURNING merchant_id, mode
"""
APPROVE = """
    UPDATE projects SET status = 'approved', rejected_because = NULL, updated_at = $2
    WHERE id = $1 AND status <> 'approved' AND ($3::timestamptz IS NULL OR updated_at = $3) RETURNING merchant_id, mode
"""
REJECT = """
    UPDATE projects SET status = 'rejected', rejected_because = $3, updated_at = $2,
        pending_changes = NULL, changes_rejected_because = NULL
    WHERE id = $1 AND status <> 'rejected' AND ($4::timestamptz IS NULL OR updated_at = $4) RETURNING merchant_id, mode
"""


async def insert(tx: Tx, env: MerchantEnv, project: Project) -> None:
    """Insert a project."""
    values = PROJECT.values(project, merchant_id=env.merchant_id, mode=env.mode, updated_at=project.created_at)
    await tx.execute(PROJECT.insert, *values)


async def approved(db: Pool | Tx, env: MerchantEnv, window: Window) -> list[Project]:
    """The approved projects of this environment, newest first."""
    rows = await db.fetch(APPROVED, env.merchant_id, env.mode, *msgspec.structs.astuple(window))
    return [PROJECT.read(row) for row in rows]


async def approved_one(db: Pool | Tx, env: MerchantEnv, project_id: UUID) -> Project | None:
    """An approved project of this environment; None if there is none."""
    row = await db.fetchrow(APPROVED_ONE, env.merchant_id, env.mode, project_id)
    return None if row is None else PROJECT.read(row)


async def status_of(db: Pool | Tx, env: MerchantEnv, project_id: UUID) -> ProjectStatus | None:
    """The status of a project of this environment; None if there is none."""
    row = await db.fetchrow(STATUS, env.merchant_id, env.mode, project_id)
    return None if row is None else row["status"]


async def every(db: Pool, merchant_id: MerchantId, mode: Mode | None, window: Window) -> list[ReviewedProject]:
    """All projects of this merchant, in one mode or both, newest first."""
    rows = await db.fetch_custom_plan(EVERY, merchant_id, mode, *msgspec.structs.astuple(window))
    return [REVIEWED_PROJECT.read(row) for row in rows]


async def one(db: Pool | Tx, env: MerchantEnv, project_id: UUID) -> ReviewedProject | None:
    """A project of this environment; None if there is none."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, project_id)
    return None if row is None else REVIEWED_PROJECT.read(row)


async def nearest_to_approval(db: Pool | Tx, env: MerchantEnv) -> ReviewedProject | None:
    """The newest approved project of this environment, else the newest in review, else the newest rejected one."""
    row = await db.fetchrow(NEAREST_TO_APPROVAL, env.merchant_id, env.mode)
    return None if row is None else REVIEWED_PROJECT.read(row)


async def lock(tx: Tx, merchant_id: MerchantId, project_id: UUID) -> ReviewedProject | None:
    """Lock and return a project of this merchant in either mode; None if there is none."""
    row = await tx.fetchrow(LOCK, merchant_id, project_id)
    return None if row is None else REVIEWED_PROJECT.read(row)


async def change(
    tx: Tx,
    env: MerchantEnv,
    project_id: UUID,
    facts: ProjectFacts,
    first_status: ProjectStatus,
    now: datetime,
) -> ReviewedProject | None:
    """Update the facts of a project; None if there is none."""
    values = (facts.name, facts.website_url, facts.description)
    row = await tx.fetchrow(CHANGE, env.merchant_id, env.mode, project_id, *values, now, first_status)
    return None if row is None else REVIEWED_PROJECT.read(row)


async def keep_changes(
    tx: Tx, env: MerchantEnv, project_id: UUID, pending: ProjectChanges | None, now: datetime
) -> ReviewedProject | None:
    """Replace the pending changes of an approved live project; None if there is none."""
    encoded = None if pending is None else msgspec.json.encode(pending).decode()
    row = await tx.fetchrow(KEEP_CHANGES, env.merchant_id, env.mode, project_id, encoded, now)
    return None if row is None else REVIEWED_PROJECT.read(row)


async def approve(tx: Tx, project_id: UUID, now: datetime, seen: datetime | None) -> MerchantEnv | None:
    """Approve a project unless it is approved or was changed since `seen`. Returns its environment, else None."""
    row = await tx.fetchrow(APPROVE, project_id, now, seen)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def reject(tx: Tx, project_id: UUID, reason: str, now: datetime, seen: datetime | None) -> MerchantEnv | None:
    """Reject a project unless it is rejected or was changed since `seen`. Returns its environment, else None."""
    row = await tx.fetchrow(REJECT, project_id, now, reason, seen)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def approve_changes(tx: Tx, project_id: UUID, now: datetime, seen: datetime | None) -> MerchantEnv | None:
    """Let the pending changes take effect unless they changed since `seen`. Returns the environment, else None."""
    row = await tx.fetchrow(APPROVE_CHANGES, project_id, now, seen)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def reject_changes(tx: Tx, project_id: UUID, reason: str, now: datetime, seen: datetime | None) -> MerchantEnv | None:
    """Drop the pending changes unless they changed since `seen`. Returns the environment, else None."""
    row = await tx.fetchrow(REJECT_CHANGES, project_id, now, reason, seen)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
