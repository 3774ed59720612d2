"""The background job that submits refunds to their rails and polls them until they end."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Provider
from tollhouse.payments.refunds import actions, store
from tollhouse.payments.refunds.store import DueRefund
from tollhouse.platform.log.events import log
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.model import DestinationRefused

BATCH_SIZE = 50
LEASE = timedelta(seconds=30)
"""A worker that dies leaves its refunds to another one after this time."""

POLL_INTERVAL_MIN, POLL_INTERVAL_MAX = timedelta(seconds=1), timedelta(minutes=10)
POLLS_PER_AGE = 8
"""The interval between polls is an eighth of the refund's age."""


async def submit_refunds(services: Services) -> None:
    """Submit due refunds, and poll those already submitted. No database transaction is open during a call to a rail."""
    now = clock.now()
    for due in await store.lease_due(services.db, now, LEASE, BATCH_SIZE):
        try:
            await _submit(services, due, now)
        except ApiError as error:  # the refund ended meanwhile, for example by a chargeback, or its merchant is suspended
            log.info("refund_skipped", detail=error.code)


async def _submit(services: Services, due: DueRefund, now: datetime) -> None:
    provider = services.rails.find(due.rail, due.env.mode)
    if provider is None:
        log.error("refund_rail_missing", part=due.rail, mode=due.env.mode)
        return
    if not due.accepted and not await gate.may_submit(services.db, provider):
        return  # tried again when the lease ends
    if not due.released:
        try:
            leaves = not provider.is_exported
            await services.db.transact(lambda tx: gate.release(tx, due.order.id, now, leaves=leaves))
        except DestinationRefused:
            await _fail(services, due, "refund_declined", now)
            raise
    if due.accepted:
        await _poll(services, provider, due, now)
        return
    submission = await provider.refund(due.order)
    if submission.outcome == "rejected":
        await _fail(services, due, submission.failure_code or "refund_declined", now)
    elif submission.outcome == "accepted":
        reference = submission.provider_reference or str(due.order.id)
        await store.schedule_poll(services.db, due, now + POLL_INTERVAL_MIN, reference)
    # Unknown: the rail may have it. The refund stays pending, and the same order is submitted again after the lease.


async def _poll(services: Services, provider: Provider, due: DueRefund, now: datetime) -> None:
    state = await provider.refund_state(due.order, now)
    if state.outcome == "succeeded":
        await services.transact(lambda work: actions.succeed(work, due.env, due.order.id), now)
    elif state.outcome == "failed":
        await _fail(services, due, state.failure_code or "refund_declined", now)
    else:
        age = now - due.order.ordered_at
        interval = clock.interval_by_age(age, POLLS_PER_AGE, POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
        await store.schedule_poll(services.db, due, now + interval, None)


async def _fail(services: Services, due: DueRefund, failure_code: str, now: datetime) -> None:
    await services.transact(lambda work: actions.fail(work, due.env, due.order.id, failure_code), now)
