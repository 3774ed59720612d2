"""Creating and changing projects, and finding the project of a payment link."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import changes, new_values
from tollhouse.accounts.environments import store
from tollhouse.accounts.environments.model import Project, ProjectFacts, ProjectStatus, ReviewedProject, changes_between
from tollhouse.http.lists import all_rows
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.platform.database.pool import Tx

FIRST_NAME = "Default"


FIRST_STATUS: dict[Mode, ProjectStatus] = {"test": "approved", "live": "in_review"}
"""The first status of a project: live projects are reviewed."""


async def open_project(work: Work, env: MerchantEnv, facts: ProjectFacts) -> Project:
    """Create a project."""
    project = await _open(work.tx, env, facts, work.now)
    fields = new_values(website_url=facts.website_url, description=facts.description)
    await record.event(work, env, "project.opened", subject=project.id, name=facts.name, changed=fields)
    return project


async def open_first(tx: Tx, env: MerchantEnv, now: datetime) -> Project:
    """Create a merchant's first project, which is approved, in test mode."""
    return await _open(tx, env, ProjectFacts(FIRST_NAME, None, None), now)


async def change(work: Work, merchant_id: MerchantId, project_id: UUID, facts: ProjectFacts) -> ReviewedProject | None:
    """Change a project; None if there is none. A rejected one is reviewed again.

    Changes of an approved live project are kept until an operator approves them.
    """
    current = await store.lock(work.tx, merchant_id, project_id)
    return None if current is None else await _change(work, MerchantEnv(merchant_id, current.mode), current, facts)


async def change_as_seen(
    work: Work, env: MerchantEnv, project_id: UUID, facts: ProjectFacts, seen: datetime
) -> ReviewedProject | None:
    """Change a project if it was last changed at `seen`; None otherwise."""
    current = await store.lock(work.tx, env.merchant_id, project_id)
    if current is None or current.mode != env.mode or current.updated_at != seen:
        return None
    return await _change(work, env, current, facts)


async def seller(tx: Tx, env: MerchantEnv, project_id: UUID | None) -> Project | None:
    """The approved project with this id; without an id, the only approved one. None if there is none."""
    if project_id is not None:
        return await store.approved_one(tx, env, project_id)
    found = await store.approved(tx, env, all_rows(2))
    return found[0] if len(found) == 1 else None


async def _open(tx: Tx, env: MerchantEnv, facts: ProjectFacts, now: datetime) -> Project:
    project = Project(new_id(), facts.name, facts.website_url, facts.description, FIRST_STATUS[env.mode], now)
    await store.insert(tx, env, project)
    return project


async def _change(work: Work, env: MerchantEnv, current: ReviewedProject, facts: ProjectFacts) -> ReviewedProject | None:
    if current.changes_are_reviewed:
        return await _request_changes(work, env, current, facts)
    changed = await store.change(work.tx, env, current.id, facts, FIRST_STATUS[env.mode], work.now)
    if changed is not None:
        fields = changes(_audited_fields(current), _audited_fields(changed))
        await record.event(work, env, "project.changed", subject=current.id, name=facts.name, changed=fields)
    return changed


async def _request_changes(
    work: Work, env: MerchantEnv, current: ReviewedProject, facts: ProjectFacts
) -> ReviewedProject | None:
    """Replace the pending changes by what differs from the approved facts, if it is anything."""
    pending = changes_between(current.facts, facts)
    changed = await store.keep_changes(work.tx, env, current.id, pending, work.now)
    fields = changes(current.requested_facts, facts)
    if changed is not None and fields:
        event: AuditEventType = "project.changes_withdrawn" if pending is None else "project.changes_requested"
        await record.event(work, env, event, subject=current.id, name=current.facts.name, changed=fields)
    return changed


def _audited_fields(project: ReviewedProject) -> Mapping[str, object]:
    return msgspec.structs.asdict(project.facts) | {"status": project.status.replace("_", " ")}
