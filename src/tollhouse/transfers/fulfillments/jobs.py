"""Background job of fulfillments: request deliveries from the game servers until each has answered."""

import asyncio
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import SANDBOX
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outbound
from tollhouse.transfers.fulfillments import actions, game_server, sandbox_grants, store
from tollhouse.transfers.fulfillments.model import Fulfillment

BATCH_SIZE = 20
LEASE = timedelta(seconds=30)
"""How long a worker keeps what it leased: three times the timeout of a game server."""

RETRY_DELAY_MIN, RETRY_DELAY_MAX = timedelta(seconds=5), timedelta(hours=1)
DOUBLINGS_MAX = 10
ALERT_AFTER = timedelta(hours=24)


async def deliver(services: Services) -> None:
    """Request the deliveries that are due, concurrently. No transaction waits for a game server."""
    now = clock.now()
    due = await store.lease_due(services.db, now, LEASE, BATCH_SIZE)
    if not due:
        return
    async with Outbound(services.settings) as outbound:
        await asyncio.gather(*(_deliver_one(services, outbound, one, now) for one in due))


def retry_delay(attempts: int) -> timedelta:
    """The delay after this many attempts without a definite answer."""
    return min(RETRY_DELAY_MIN * 2 ** min(attempts - 1, DOUBLINGS_MAX), RETRY_DELAY_MAX)


async def _deliver_one(services: Services, outbound: Outbound, due: Fulfillment, now: datetime) -> None:
    """Request one delivery and record the answer. A failure is logged, and retried with the same id."""
    try:
        response = await _request(outbound, due, now, services.catalogue)
        if response.outcome == "unknown":
            if now - due.created_at >= ALERT_AFTER:
                log.error("fulfillment_outcome_unknown", part=due.server, detail=str(due.id))
            await store.set_next_attempt(services.db, due, now + retry_delay(due.attempts))
            return
        await services.transact(lambda work: actions.end(work, due.env, due.id, response), clock.now())
    except ApiError as error:  # ended meanwhile by the simulator or another worker
        log.info("fulfillment_ended_meanwhile", detail=error.code)
    except Exception as error:  # noqa: BLE001 - one failure must not stop the others
        log.error("fulfillment_processing_failed", exc_info=error)


async def _request(outbound: Outbound, due: Fulfillment, now: datetime, catalogue: Catalogue) -> GrantAnswer:
    if due.server == SANDBOX:
        return sandbox_grants.grant(due.order)
    server = catalogue.game_servers.get(due.server)
    if server is None:
        log.error("game_server_not_configured", part=due.server)
        return UNKNOWN
    return await game_server.grant(outbound, server.url, server.secret(), due.order, now)
