"""The button of an empty test environment that fills it with sample data."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.idempotency import made_once
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.refusals import NotFound
from tollhouse.payments import sample
from tollhouse.platform.db import Tx
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
ONCE = "the sample data of this environment"
"""The key under which it is made: one for each merchant, so that two clicks at once make it once."""


@OPERATIONS.add("POST", "/{mode}/sample-data", guard=signed_in_page)
async def make(ask: Ask, caller: Person, mode: str) -> Response:
    """Make sample data, where nobody has tried to pay yet; then look at it."""
    env = caller.env(mode)
    if env.livemode:
        raise NotFound

    async def deed(tx: Tx) -> None:
        async def once() -> UUID:
            await sample.make(tx, env, ask.house, ask.now)
            return new_id()

        await made_once(tx, ask, env, ONCE, ONCE, once)

    await ask.house.db.transact(deed)
    return see_other(f"/{env.mode}/home")
