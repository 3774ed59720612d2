"""Health of chain rails: what their worker measured, kept in memory by each process that serves or runs jobs."""

import asyncio

from tollhouse.http.services import Services
from tollhouse.kernel.rails.chain import ChainNetwork, Measured
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import store
from tollhouse.rails.evm import payout_health

REFRESH_EVERY_S = 2


async def refresh(services: Services) -> None:
    """Read what the workers of the rails measured last."""
    for network in services.rails.of(ChainNetwork):
        found = await store.get_health(services.db, network.name, network.mode)
        if found is not None:
            available, facts, checked_at = found
            network.measured = Measured(available, checked_at, facts)
    await payout_health.refresh(services)


async def keep_refreshed(services: Services) -> None:
    """Refresh until cancelled."""
    while True:
        try:
            await refresh(services)
        except Exception as error:  # noqa: BLE001 - what is not measured anew expires
            log.warning("rail_health_unknown", exc_info=error)
        await asyncio.sleep(REFRESH_EVERY_S)
