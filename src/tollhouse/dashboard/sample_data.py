"""The button that creates sample data in an empty test environment."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.idempotency.claims import create_once
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.sandbox import sample_data

OPERATIONS = Operations(PAGES)
ONCE = "the sample data of this environment"
"""The idempotency key, one per merchant: a repeated submit creates the data once."""


@OPERATIONS.add("POST", "/{mode}/sample-data", guard=signed_in_page)
async def make(request: Request, caller: Person, mode: str) -> Response:
    """Create sample data if there are no payments yet."""
    env = caller.env(mode)
    if env.livemode:
        raise NotFound

    async def action(work: Work) -> None:
        async def once() -> UUID:
            await sample_data.make(work, env)
            return new_id()

        await create_once(work, env, ONCE, (request.path, ONCE), once)

    await request.transact(action)
    return see_other(f"/{env.mode}/home")
