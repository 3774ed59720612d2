"""What the worker does for payments: closes links in time, carries refunds through, and plays the simulator's plans.

No state depends on a job having run in time: whoever uses an expired link finds it expired.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.outgoing import gate
from tollhouse.payments import (
    chargebacks,
    expiry,
    refunds,
    refunds_store,
    sandbox_store,
    simulator,
    store,
    transactions_store,
)
from tollhouse.payments.refunds_store import Due
from tollhouse.payments.sandbox_store import Plan
from tollhouse.platform.db import Tx
from tollhouse.platform.log import log
from tollhouse.rails.configured import rail

AT_ONCE = 50
PATIENCE = timedelta(seconds=30)
"""How long a worker has what it took before another may take it."""

TRIES_MAX = 10
LOOK_AGAIN, LOOK_LATEST = timedelta(seconds=1), timedelta(minutes=10)
LOOKS_PER_AGE = 8
"""The longer a refund is on its way, the longer until the next look: an eighth of its age."""


async def close_links(services: Services) -> None:
    """Expire the links whose time is over, and end what was partly paid when its link ended otherwise."""
    now = clock.now()
    for env, link_id in await store.due(services.db, now, AT_ONCE):
        await services.db.transact(lambda tx, env=env, link_id=link_id: expiry.expire_due(tx, env, link_id, services, now))
    for env, attempt_id in await transactions_store.stranded(services.db, AT_ONCE):
        await services.db.transact(lambda tx, env=env, one=attempt_id: expiry.end_stranded(tx, env, one, services, now))


async def carry_refunds(services: Services) -> None:
    """Hand pending refunds to their rails, and end those that the rails have ended. No transaction waits for a rail."""
    now = clock.now()
    for due in await refunds_store.take_due(services.db, now, PATIENCE, AT_ONCE):
        try:
            await _carry(services, due, now)
        except ApiError as lost:  # somebody ended it meanwhile, such as a dispute, or its merchant is suspended
            log.info("refund not carried", detail=lost.code)


async def play_plans(services: Services) -> None:
    """Let the simulator do what it is to do by itself."""
    now = clock.now()
    for plan in await sandbox_store.take_due(services.db, now, LOOK_AGAIN, AT_ONCE):
        await services.db.transact(lambda tx, plan=plan: _play(tx, plan, services, now))
    if given_up := await sandbox_store.give_up(services.db, TRIES_MAX):
        log.error("simulator plans given up", count=given_up)


JOBS: tuple[Callable[[Services], Awaitable[None]], ...] = (close_links, carry_refunds, play_plans)
"""To be run every moment."""


async def _carry(services: Services, due: Due, now: datetime) -> None:
    provider = rail(due.rail, due.env.mode)
    if provider is None:
        log.error("refund of a rail that is gone", part=due.rail, mode=due.env.mode)
        return
    if not due.released:
        await services.db.transact(lambda tx: gate.release(tx, due.order.id, now))
    if not due.accepted:
        handed_in = await provider.refund(due.order)
        if handed_in.outcome == "rejected":
            await _fail(services, due, handed_in.failure_code or "refund_declined", now)
        elif handed_in.outcome == "accepted":
            await refunds_store.look_again(
                services.db, due, now + LOOK_AGAIN, handed_in.provider_reference or str(due.order.id)
            )
        # Unknown: it may have arrived. It stays pending, and the same order is handed in again when the patience ends.
        return
    state = await provider.refund_state(due.order, now)
    if state.outcome == "succeeded":
        await services.db.transact(lambda tx: refunds.succeed(tx, due.env, due.order.id, services, now))
    elif state.outcome == "failed":
        await _fail(services, due, state.failure_code or "refund_declined", now)
    else:
        age = now - due.order.ordered_at
        until_next_look = min(max(age / LOOKS_PER_AGE, LOOK_AGAIN), LOOK_LATEST)
        await refunds_store.look_again(services.db, due, now + until_next_look, None)


async def _fail(services: Services, due: Due, failure_code: str, now: datetime) -> None:
    await services.db.transact(lambda tx: refunds.fail(tx, due.env, due.order.id, failure_code, services, now))


async def _play(tx: Tx, plan: Plan, services: Services, now: datetime) -> None:
    try:
        if plan.outcome == "succeed":
            await simulator.Simulated(tx, plan.env, plan.transaction_id, services, now).pay()
        else:
            await chargebacks.open_one(tx, plan.env, plan.transaction_id, services, now)
    except ApiError as lost:  # refused before anything was written: what it was planned for has ended otherwise
        log.info("plan had no use", detail=lost.code)
    await sandbox_store.drop(tx, plan)
