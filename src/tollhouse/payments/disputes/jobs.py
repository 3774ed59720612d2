"""The background jobs that give responses to rails, and close disputes that nobody responded to."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.rails.disputes import DisputeProvider, DisputeSubmission
from tollhouse.kernel.rails.provider import SANDBOX_RAIL
from tollhouse.payments.disputes import store
from tollhouse.payments.disputes.model import DueDispute
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.refunds import chargebacks
from tollhouse.payments.refunds.chargeback_responses_store import DueResponse
from tollhouse.payments.transactions import settlement
from tollhouse.platform.log.events import log
from tollhouse.transfers.orders.errors import InvalidState

BATCH_SIZE = 50
LEASE = timedelta(seconds=30)
"""A worker that dies leaves its responses to another one after this time."""

INTERVAL_MIN, INTERVAL_MAX = timedelta(seconds=5), timedelta(minutes=10)
INTERVALS_PER_AGE = 8
"""The interval between two deliveries is an eighth of the response's age."""

RAIL_DECIDES = DisputeSubmission("accepted")
GIVEN_UP = DisputeSubmission("accepted", "lost")


async def deliver_responses(services: Services) -> None:
    """Give due responses to their rails."""
    now = clock.now()
    for due in await responses.lease_responses(services.db, now, LEASE, BATCH_SIZE):
        await deliver(services, due, now)


async def deliver(services: Services, due: DueResponse, now: datetime) -> None:
    """Give one leased response to its rail. No database transaction is open during the call."""
    submission = await _submit(services, due)
    if submission is None or submission.outcome == "unknown":
        age = now - due.order.responded_at
        interval = clock.interval_by_age(age, INTERVALS_PER_AGE, INTERVAL_MIN, INTERVAL_MAX)
        await responses.schedule_delivery(services.db, due, now + interval)
        return
    if submission.outcome == "rejected":
        log.error("dispute_response_rejected", part=due.rail, mode=due.env.mode)
    await services.transact(lambda work: _record(work, due, submission), now)


async def expire_disputes(services: Services) -> None:
    """Close disputes of the sandbox as lost when their time to respond is over. Other rails close theirs themselves."""
    now = clock.now()
    for due in await store.list_expired(services.db, SANDBOX_RAIL, now, BATCH_SIZE):
        await services.transact(lambda work, due=due: _expire(work, due), now)


async def _submit(services: Services, due: DueResponse) -> DisputeSubmission | None:
    """What the rail answers; None if there is no such rail now."""
    provider = services.rails.find(due.rail, due.env.mode)
    if provider is None:
        log.error("dispute_rail_missing", part=due.rail, mode=due.env.mode)
        return None
    if not isinstance(provider, DisputeProvider):
        return GIVEN_UP if due.response == "accepted" else RAIL_DECIDES
    if due.response == "accepted":
        return await provider.accept_dispute(due.order)
    return await provider.submit_evidence(due.order)


async def _record(work: Work, due: DueResponse, submission: DisputeSubmission) -> None:
    """Nothing is left to deliver. The payment is locked before its chargeback, as everywhere."""
    if submission.decision is None:
        await responses.schedule_delivery(work.tx, due, None)
        return
    try:
        won = submission.decision == "won"
        await chargebacks.decide(work, due.env, due.transaction_id, won=won, chargeback_id=due.order.id)
    except InvalidState:  # somebody else has closed it meanwhile; that has cleared the delivery too
        log.info("dispute_closed_meanwhile", part=due.rail)


async def _expire(work: Work, due: DueDispute) -> None:
    await settlement.lock(work.tx, due.env, due.transaction_id)
    current = await store.get(work.tx, due.env, due.id, work.now)
    if current is not None and current.status == "expired" and current.decision == "open":
        await chargebacks.decide(work, due.env, due.transaction_id, won=False, chargeback_id=due.id)
