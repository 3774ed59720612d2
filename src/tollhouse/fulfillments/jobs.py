"""What the worker does for fulfillments: asks the game servers for what was ordered, until each has answered."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.catalogue.products import GAME_SERVERS, SANDBOX
from tollhouse.fulfillments import actions, store
from tollhouse.fulfillments.model import Fulfillment
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.log import log
from tollhouse.platform.outbound import Outbound
from tollhouse.rails import game_server, sandbox_grants
from tollhouse.rails.grants import UNKNOWN, GrantAnswer

AT_ONCE = 20
PATIENCE = timedelta(seconds=30)
"""How long a worker has what it took before another may take it: three times as long as a server may take to answer."""

AGAIN_SOONEST, AGAIN_LATEST = timedelta(seconds=5), timedelta(hours=1)
DOUBLINGS_MAX = 10
WORRY_AFTER = timedelta(hours=24)


async def deliver(services: Services) -> None:
    """Ask for what is due, all at once. No transaction waits for a game server."""
    now = clock.now()
    due = await store.take_due(services.db, now, PATIENCE, AT_ONCE)
    if not due:
        return
    async with Outbound(services.settings) as outbound:
        await asyncio.gather(*(_deliver_one(services, outbound, one, now) for one in due))


JOBS: tuple[Callable[[Services], Awaitable[None]], ...] = (deliver,)
"""To be run every moment."""


def again_after(attempts: int) -> timedelta:
    """How long to wait after so many attempts of which nothing certain was heard."""
    return min(AGAIN_SOONEST * 2 ** min(attempts - 1, DOUBLINGS_MAX), AGAIN_LATEST)


async def _deliver_one(services: Services, outbound: Outbound, due: Fulfillment, now: datetime) -> None:
    """Ask, and write down the answer. Whatever fails is logged, and asked again as the same."""
    try:
        response = await _ask(outbound, due, now)
        if response.outcome == "unknown":
            if now - due.created_at >= WORRY_AFTER:
                log.error("fulfillment of unknown fate", part=due.server, detail=str(due.id))
            await store.look_again(services.db, due, now + again_after(due.attempts))
            return
        await services.db.transact(lambda tx: actions.end(tx, due.env, due.id, response, services, clock.now()))
    except ApiError as lost:  # somebody was first: the simulator, another worker
        log.info("fulfillment had ended", detail=lost.code)
    except Exception as fault:  # noqa: BLE001 - one that fails must not hold up the others, and has its next time
        log.error("fulfillment not carried", exc_info=fault)


async def _ask(outbound: Outbound, due: Fulfillment, now: datetime) -> GrantAnswer:
    if due.server == SANDBOX:
        return sandbox_grants.grant(due.order)
    server = GAME_SERVERS.get(due.server)
    if server is None:
        log.error("fulfillment of a server that is gone", part=due.server)
        return UNKNOWN
    return await game_server.grant(outbound, server.url, server.secret(), due.order, now)
