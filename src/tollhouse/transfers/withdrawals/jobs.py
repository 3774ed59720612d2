"""Background jobs of withdrawals: submit approved ones to the rails, and poll the rails for the outcome."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import PayoutState, Provider, Submission
from tollhouse.platform.log.events import log
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.model import DestinationRefused
from tollhouse.transfers.orders import quotes
from tollhouse.transfers.withdrawals import actions, schedules, schedules_store, sending, store
from tollhouse.transfers.withdrawals.model import Withdrawal

BATCH_SIZE = 50
LEASE = timedelta(seconds=30)
"""How long a worker keeps what it leased: longer than a rail may take to answer."""

RAIL_TIMEOUT_S = 10
POLL_INTERVAL_MIN, POLL_INTERVAL_MAX = timedelta(seconds=1), timedelta(minutes=10)
POLLS_PER_AGE = 8
"""The poll interval grows with the age of a withdrawal: it is an eighth of it."""


async def advance_withdrawals(services: Services) -> None:
    """Submit and poll the withdrawals that are due, concurrently. No transaction waits for a rail."""
    now = clock.now()
    due = await store.lease_due(services.db, now, LEASE, BATCH_SIZE)
    await asyncio.gather(*(advance_one(services, withdrawal, now) for withdrawal in due))


async def run_schedules(services: Services) -> None:
    """Run the schedules that are due, each in a transaction of its own. A failure is recorded in another one."""
    now = clock.now()
    for env, schedule_id in await schedules_store.list_due(services.db, now, BATCH_SIZE):
        try:
            await _run_schedule(services, env, schedule_id, now)
        except Exception as error:  # noqa: BLE001 - one failure must not stop the others
            log.error("withdrawal_schedule_failed", exc_info=error)
            await _postpone(services, env, schedule_id, now)


async def delete_old_quotes(services: Services) -> None:
    """Delete quotes that expired long ago."""
    await services.db.execute(store.DELETE_OLD_QUOTES, clock.now() - quotes.RETENTION)


async def advance_one(services: Services, due: Withdrawal, now: datetime) -> None:
    """Submit or poll one leased withdrawal. A failure is logged, and retried when the lease ends."""
    try:
        provider = services.rails.find(due.rail, due.env.mode)
        if provider is None or not provider.health().available:
            log.warning("withdrawal_rail_unavailable", part=due.rail, mode=due.env.mode)
        elif due.status == "approved" and not await gate.may_submit(services.db, provider):
            return  # tried again when the lease ends
        elif due.status == "approved":
            leaves = not provider.is_exported
            processing = await _begin(services, due, now, leaves=leaves)
            await _submit(services, provider, processing, now)
        else:
            await _poll(services, provider, due, now)
    except ApiError as error:  # changed meanwhile by the merchant, the simulator or another worker
        log.info("withdrawal_changed_meanwhile", detail=error.code)
    except Exception as error:  # noqa: BLE001 - one failure must not stop the others
        log.error("withdrawal_processing_failed", exc_info=error)


async def _begin(services: Services, due: Withdrawal, now: datetime, *, leaves: bool) -> Withdrawal:
    """Begin to send. What was asked for while somebody else had the account is canceled."""
    try:
        return await services.transact(lambda work: sending.begin(work, due.env, due.id, leaves=leaves), now)
    except DestinationRefused:
        await services.transact(lambda work: actions.cancel(work, due.env, due.id), now)
        raise


async def _run_schedule(services: Services, env: MerchantEnv, schedule_id: UUID, now: datetime) -> None:
    try:
        await services.transact(lambda work: schedules.run(work, env, schedule_id), now)
    except ApiError as error:
        refused = error
        log.info("withdrawal_schedule_failed", detail=refused.code)
        await services.transact(lambda work: schedules.fail(work, env, schedule_id, refused), now)


async def _postpone(services: Services, env: MerchantEnv, schedule_id: UUID, now: datetime) -> None:
    try:
        await services.transact(lambda work: schedules.postpone(work, env, schedule_id), now)
    except Exception as error:  # noqa: BLE001 - it is due still, and tried again by the next job
        log.error("withdrawal_schedule_failed", exc_info=error)


async def _submit(services: Services, provider: Provider, processing: Withdrawal, now: datetime) -> None:
    """Submit the payout. Without an answer it is unknown whether the rail has it."""
    try:
        async with asyncio.timeout(RAIL_TIMEOUT_S):
            submission = await provider.payout(processing.order)
    except Exception as error:  # noqa: BLE001 - a rail may fail in any way, and may have sent it all the same
        log.warning("rail_request_failed", part=processing.rail, exc_info=error)
        submission = Submission("unknown")
    if submission.outcome == "rejected":
        await _fail(services, processing, submission.failure_code, now)
    else:
        await _record_submission(services, processing, submission, now + POLL_INTERVAL_MIN, now)


async def _poll(services: Services, provider: Provider, sent: Withdrawal, now: datetime) -> None:
    state = await _state(provider, sent, now)
    next_poll_at = now + clock.interval_by_age(_age(sent, now), POLLS_PER_AGE, POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
    match state.outcome:
        case "succeeded":
            await services.transact(lambda work: sending.complete(work, sent.env, sent.id, state), now)
        case "failed":
            await _fail(services, sent, state.failure_code, now)
        case "absent" if not await gate.may_submit(services.db, provider):
            await store.set_next_poll(services.db, sent, next_poll_at)
        case "absent":
            await _submit(services, provider, sent, now)
        case "pending" if sent.submission != "accepted":
            await _record_submission(services, sent, Submission("accepted"), next_poll_at, now)
        case "pending" | "unknown":
            if state.outcome == "unknown" and _age(sent, now) > POLL_INTERVAL_MAX:
                log.error("withdrawal_outcome_unknown", part=sent.rail, detail=str(sent.id))
            await store.set_next_poll(services.db, sent, next_poll_at)


async def _state(provider: Provider, sent: Withdrawal, now: datetime) -> PayoutState:
    try:
        async with asyncio.timeout(RAIL_TIMEOUT_S):
            return await provider.payout_state(sent.order, now)
    except Exception as error:  # noqa: BLE001 - a rail may fail in any way; it is polled again
        log.warning("rail_request_failed", part=sent.rail, exc_info=error)
        return PayoutState("unknown")


async def _record_submission(
    services: Services, sent: Withdrawal, submission: Submission, next_poll_at: datetime, now: datetime
) -> None:
    await services.db.transact(lambda tx: sending.record_submission(tx, sent.env, sent.id, submission, next_poll_at, now))


async def _fail(services: Services, sent: Withdrawal, rail_code: str | None, now: datetime) -> None:
    code = "receiver_invalid" if rail_code == "receiver_invalid" else "payout_declined"
    await services.transact(lambda work: sending.fail(work, sent.env, sent.id, code), now)


def _age(sent: Withdrawal, now: datetime) -> timedelta:
    return now - (sent.processing_at or now)
