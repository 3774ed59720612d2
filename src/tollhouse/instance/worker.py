"""The worker process: delivers webhook events and runs periodic jobs. Also gauges of database connections, for all parts."""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from tollhouse.http.services import Services
from tollhouse.http.slice import Job
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.platform.log.metrics import INSTANCE, SAMPLE_EVERY_S, Gauge
from tollhouse.webhooks.delivery.results import sweep
from tollhouse.webhooks.delivery.worker import SWEEP_EVERY_S, DeliveryWorker, engine_services

GARBAGE_AFTER = 20_000
"""Threshold of the garbage collector; Python's default is 700."""
JOB_RUNS, JOB_FAILURES = Counter[str](), Counter[str]()
"""How often each job of this process ran and failed."""
APART_S = 0.02
"""Jobs begin one after the other, so that they need few database connections, each of which is a process of PostgreSQL."""
POOL_LIMIT = Gauge("tollhouse_database_pool_limit", "The most database connections that a process opens.")
POOL_OPEN = Gauge("tollhouse_database_pool_open", "Open database connections of a process.")
POOL_IN_USE = Gauge("tollhouse_database_pool_in_use", "Database connections of a process that are in use.")
POOL_WAITING = Gauge("tollhouse_database_pool_waiting", "Tasks of a process that wait for a database connection.")


def run(working: Coroutine[Any, Any, None]) -> None:
    """Run with uvloop where it is available, and collect garbage rarely: almost nothing here is cyclic.

    With the defaults a third of a busy worker's time goes into looking through modules that never change.
    """
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, 20, 20)
    if sys.platform == "win32":
        asyncio.run(working)
    else:
        import uvloop  # noqa: PLC0415 - not to be had everywhere

        uvloop.run(working)


async def work(
    services: Services, stop: asyncio.Event, jobs: Sequence[Job] = (), beside: Sequence[Coroutine[Any, Any, None]] = ()
) -> None:
    """Run the delivery engine, the jobs and what runs `beside` them until `stop` is set, then close the database."""
    engine = engine_services(services)
    worker = DeliveryWorker(engine)
    delivering = asyncio.create_task(worker.run())
    has_metrics = services.settings.metrics_address is not None
    chores = [
        *map(asyncio.create_task, beside),
        *map(asyncio.create_task, [sample_pools((services.db, engine.db))] if has_metrics else ()),
        asyncio.create_task(_repeat(engine, stop, Job(SWEEP_EVERY_S, sweep))),
        *(asyncio.create_task(_repeat(services, stop, job, number * APART_S)) for number, job in enumerate(jobs)),
    ]
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({delivering, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        worker.stop()
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        try:
            await delivering
        finally:
            await engine.db.close()
            await services.close()


def job_name(job: Job) -> str:
    """The package and function of a job: `withdrawals.poll`."""
    return f"{job.run.__module__.split('.')[1]}.{getattr(job.run, '__name__', 'job')}"


async def _repeat(services: Services, stop: asyncio.Event, job: Job, after_s: float = 0) -> None:
    await asyncio.sleep(after_s)
    while not stop.is_set():
        JOB_RUNS[job_name(job)] += 1
        try:
            await job.run(services)
        except Exception as error:  # noqa: BLE001 - a job that fails must not end the others, and has its next time
            JOB_FAILURES[job_name(job)] += 1
            log.error("job_failed", part=getattr(job.run, "__name__", "job"), exc_info=error)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), job.interval_s)


async def sample_pools(pools: Sequence[Pool]) -> None:
    """Sample these pools every second until cancelled."""
    try:
        while True:
            uses = [pool.use for pool in pools]
            POOL_LIMIT.set(sum(use.limit for use in uses))
            POOL_OPEN.set(sum(use.open for use in uses))
            POOL_IN_USE.set(sum(use.in_use for use in uses))
            POOL_WAITING.set(sum(use.waiting for use in uses))
            INSTANCE.mark_sampled()
            await asyncio.sleep(SAMPLE_EVERY_S)
    finally:
        INSTANCE.mark_ended()
