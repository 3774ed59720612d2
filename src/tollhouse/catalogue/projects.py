"""Opening projects, and finding the one a payment link sells for."""

from datetime import datetime
from uuid import UUID

from tollhouse.catalogue import store
from tollhouse.catalogue.model import Project, ProjectStatus
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.platform.db import Tx

FIRST_NAME = "Default"


async def open_project(
    tx: Tx,
    env: MerchantEnv,
    name: str,
    status: ProjectStatus,
    now: datetime,
    *,
    website_url: str | None = None,
    description: str | None = None,
) -> Project:
    """A new project. In live mode it starts in review; an operator approves it."""
    project = Project(new_id(), name, website_url, description, status, now)
    await store.insert(tx, env, project)
    return project


async def open_first(tx: Tx, env: MerchantEnv, now: datetime) -> Project:
    """The approved project that every merchant starts with in test mode."""
    return await open_project(tx, env, FIRST_NAME, "approved", now)


async def seller(tx: Tx, env: MerchantEnv, project_id: UUID | None) -> Project | None:
    """The approved project of this id; with no id, the merchant's only approved one. None when there is no such one."""
    if project_id is not None:
        return await store.approved_one(tx, env, project_id)
    found = await store.approved(tx, env, limit=2)
    return found[0] if len(found) == 1 else None
