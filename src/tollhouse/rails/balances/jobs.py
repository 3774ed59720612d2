"""The background job that compares each rail with the ledger every few minutes."""

import time
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.balances import CannotMeasureError
from tollhouse.platform.log.events import log
from tollhouse.rails.balances import measuring, store
from tollhouse.rails.balances.measuring import MeasuredRail, measured
from tollhouse.rails.json_rpc import NodeError

INTERVAL, RETRY_AFTER = timedelta(minutes=5), timedelta(minutes=1)
SHARE = 20
"""A measurement that takes long is made less often: it takes at most one part in so many of the time."""


async def measure_balances(services: Services) -> None:
    """Measure each rail that is due, unless another worker does."""
    for rail in measured(services.rails):
        if await store.claim(services.db, rail.name, rail.mode, clock.now(), INTERVAL):
            await measure(services, rail, clock.now())


async def measure(services: Services, rail: MeasuredRail, now: datetime) -> None:
    """Measure a rail and store what was found, or why it could not be measured. The last measurement stays."""
    began_s, failure = time.monotonic(), None
    try:
        balances = await measuring.measure_rail(services, rail, now)
    except (NodeError, CannotMeasureError) as error:
        failure = str(error)
        log.warning("rail_not_measured", part=rail.name, reason=failure)
    else:
        await measuring.record(services, balances)
        for one in balances:
            if one.differs:
                log.error("rail_differs", part=rail.name, detail=f"{one.format(one.difference_units)} {one.currency}")
    took = timedelta(seconds=time.monotonic() - began_s)
    pause = max(INTERVAL if failure is None else RETRY_AFTER, SHARE * took)
    await store.measure_next(services.db, rail.name, rail.mode, now + pause, failure)
