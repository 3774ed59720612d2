"""The steps to live mode on pages of the dashboard, and the sample data of test mode."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.environments import store
from tollhouse.accounts.environments.model import ReviewedProject
from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.sandbox import sample_data

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


OPERATIONS = Operations(PAGES)
HOUR = timedelta(hours=1)


@OPERATIONS.add("POST", "/{mode}/sample-data", guard=signed_in_page("payments"), errors=(RateLimited,))
async def make(request: Request, env: MerchantEnv) -> Response:
    """Create sample data, once for each page that shows the button."""
    if env.livemode:
        raise NotFound
    key = request.form().one("key") or ""
    if parse_id(key) is None:
        raise ValidationFailed(FieldError("key", "invalid_value", messages.A_UUID))
    limit = limits.SAMPLE_DATA_PER_HOUR_MAX * request.services.settings.rate_limits
    runs = FailureLimit("sample data of", str(env.merchant_id), limit, HOUR)

    async def action(work: Work) -> None:
        async def once() -> UUID:
            await throttle.count_attempt(work.tx, (runs,), request.now)
            await sample_data.make(work, env)
            return new_id()

        await create_once(work, env, key, request.path, once)

    await request.transact(action)
    return see_other(f"/{env.mode}/home?done=sample-data")
