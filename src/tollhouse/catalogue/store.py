"""Every SQL statement about projects."""

from uuid import UUID

from tollhouse.catalogue.model import Project
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO projects (id, merchant_id, mode, name, website_url, description, status, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
"""
APPROVED = """
    SELECT id, name, website_url, description, status, created_at FROM projects
    WHERE merchant_id = $1 AND mode = $2 AND status = 'approved' ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4
"""
APPROVED_ONE = """
    SELECT id, name, website_url, description, status, created_at FROM projects
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'approved'
"""


async def insert(tx: Tx, env: MerchantEnv, project: Project) -> None:
    """Keep a new project."""
    facts = (project.name, project.website_url, project.description, project.status, project.created_at)
    await tx.execute(INSERT, project.id, env.merchant_id, env.mode, *facts)


async def approved(db: Pool | Tx, env: MerchantEnv, limit: int, offset: int = 0) -> list[Project]:
    """Approved projects of this merchant and mode, newest first."""
    return [_project(row) for row in await db.fetch(APPROVED, env.merchant_id, env.mode, limit, offset)]


async def approved_one(db: Pool | Tx, env: MerchantEnv, project_id: UUID) -> Project | None:
    """This approved project; None when it is another merchant's, another mode's, or not approved."""
    row = await db.fetchrow(APPROVED_ONE, env.merchant_id, env.mode, project_id)
    return None if row is None else _project(row)


def _project(row: Row) -> Project:
    return Project(row["id"], row["name"], row["website_url"], row["description"], row["status"], row["created_at"])
