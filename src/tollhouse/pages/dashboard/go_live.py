"""What a merchant still needs before an environment accepts payments, for the banner on its pages."""

from typing import Literal

from msgspec import Struct

from tollhouse.accounts.environments import store
from tollhouse.accounts.environments.model import ReviewedProject
from tollhouse.accounts.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx

GoLiveStep = Literal["create", "in_review", "rejected", "suspended"]


class GoLiveState(Struct, frozen=True):
    """The next step: create a project, wait for its review, change the rejected `project`; or the account is suspended."""

    step: GoLiveStep
    project: ReviewedProject | None = None


async def go_live_state(db: Pool | Tx, env: MerchantEnv, person: Person) -> GoLiveState | None:
    """None if the environment accepts payments. New test projects are approved."""
    if person.suspended:
        return GoLiveState("suspended")
    project = await store.nearest_to_approval(db, env)
    if project is None:
        return GoLiveState("create")
    return None if project.status == "approved" else GoLiveState(project.status, project)
