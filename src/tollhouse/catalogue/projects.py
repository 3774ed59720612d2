"""Opening projects, and finding the one a payment link sells for."""

from datetime import datetime
from uuid import UUID

from tollhouse.catalogue import store
from tollhouse.catalogue.model import Project, ProjectFacts, ProjectStatus, ReviewedProject
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.platform.db import Tx

FIRST_NAME = "Default"


FIRST_STATUS: dict[Mode, ProjectStatus] = {"test": "approved", "live": "in_review"}
"""Where a project starts: in live mode an operator approves it."""


async def open_project(tx: Tx, env: MerchantEnv, facts: ProjectFacts, now: datetime) -> Project:
    """A new project."""
    project = Project(new_id(), facts.name, facts.website_url, facts.description, FIRST_STATUS[env.mode], now)
    await store.insert(tx, env, project)
    return project


async def open_first(tx: Tx, env: MerchantEnv, now: datetime) -> Project:
    """The approved project that every merchant starts with in test mode."""
    return await open_project(tx, env, ProjectFacts(FIRST_NAME, None, None), now)


async def change(
    tx: Tx, merchant_id: MerchantId, project_id: UUID, facts: ProjectFacts, now: datetime
) -> ReviewedProject | None:
    """Rewrite a project; None when there is no such one. One that was rejected starts again."""
    mode = await store.mode_of(tx, merchant_id, project_id)
    if mode is None:
        return None
    return await store.change(tx, MerchantEnv(merchant_id, mode), project_id, facts, FIRST_STATUS[mode], now)


async def change_as_seen(
    tx: Tx, env: MerchantEnv, project_id: UUID, facts: ProjectFacts, seen: datetime, now: datetime
) -> ReviewedProject | None:
    """The same, where the project was changed last when it was `seen`; None where somebody else was first."""
    return await store.change(tx, env, project_id, facts, FIRST_STATUS[env.mode], now, seen)


async def seller(tx: Tx, env: MerchantEnv, project_id: UUID | None) -> Project | None:
    """The approved project of this id; with no id, the merchant's only approved one. None when there is no such one."""
    if project_id is not None:
        return await store.approved_one(tx, env, project_id)
    found = await store.approved(tx, env, limit=2)
    return found[0] if len(found) == 1 else None
