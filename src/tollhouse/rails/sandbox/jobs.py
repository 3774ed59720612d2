"""The background job that carries out what the simulator has scheduled."""

from datetime import timedelta

from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.payments.refunds import chargebacks
from tollhouse.platform.log.events import log
from tollhouse.rails.sandbox import store
from tollhouse.rails.sandbox.simulator import Simulated
from tollhouse.rails.sandbox.store import Plan

BATCH_SIZE = 50
LEASE = timedelta(seconds=1)
TRIES_MAX = 10


async def run_plans(services: Services) -> None:
    """Carry out due plans, and drop those that failed too often."""
    now = clock.now()
    for plan in await store.lease_due(services.db, now, LEASE, BATCH_SIZE):
        await services.transact(lambda work, plan=plan: _run(work, plan), now)
    if dropped := await store.delete_failed(services.db, TRIES_MAX):
        log.error("simulator_plans_dropped", count=dropped)


async def _run(work: Work, plan: Plan) -> None:
    try:
        if plan.outcome == "succeed":
            await Simulated(work, plan.env, plan.transaction_id).pay()
        else:
            await chargebacks.open_chargeback(work, plan.env, plan.transaction_id)
    except ApiError as error:  # nothing was written: the payment has ended otherwise
        log.info("simulator_plan_obsolete", detail=error.code)
    await store.delete_plan(work.tx, plan)
