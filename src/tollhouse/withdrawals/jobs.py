"""What the worker does for withdrawals: sends those that are approved, and asks the rails what became of those it sent."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.log import log
from tollhouse.rails.configured import rail
from tollhouse.rails.provider import PayoutState, Provider, Submission
from tollhouse.withdrawals import quotes_store, sending, store
from tollhouse.withdrawals.model import Withdrawal

AT_ONCE = 50
PATIENCE = timedelta(seconds=30)
"""How long a worker has what it took before another may take it. A rail answers sooner, or has not answered."""

RAIL_ANSWERS_IN_S = 10
LOOK_SOONEST, LOOK_LATEST = timedelta(seconds=1), timedelta(minutes=10)
LOOKS_PER_AGE = 8
"""The longer a withdrawal is on its way, the longer until the next look: an eighth of its age."""

QUOTES_KEPT = timedelta(days=30)


async def carry_withdrawals(services: Services) -> None:
    """Send what is to be sent and look after what was sent, all at once. No transaction waits for a rail."""
    now = clock.now()
    due = await store.take_due(services.db, now, PATIENCE, AT_ONCE)
    await asyncio.gather(*(carry_one(services, one, now) for one in due))


async def forget_quotes(services: Services) -> None:
    """Delete quotes that nobody can use any more."""
    await quotes_store.forget(services.db, clock.now() - QUOTES_KEPT)


JOBS: tuple[Callable[[Services], Awaitable[None]], ...] = (carry_withdrawals,)
"""To be run every moment."""

HOURLY: tuple[Callable[[Services], Awaitable[None]], ...] = (forget_quotes,)


async def carry_one(services: Services, due: Withdrawal, now: datetime) -> None:
    """Do for one that was taken what its state asks for. Whatever fails is logged, and has its next time."""
    try:
        provider = rail(due.rail, due.env.mode)
        if provider is None or not provider.health().available:
            log.warning("withdrawal waits for its rail", part=due.rail, mode=due.env.mode)
        elif due.status == "approved":
            begun = await services.db.transact(lambda tx: sending.begin(tx, due.env, due.id, services, now))
            await _hand_in(services, provider, begun, now)
        else:
            await _look_after(services, provider, due, now)
    except ApiError as lost:  # somebody was first: a merchant who cancels, the simulator, another worker
        log.info("withdrawal had changed", detail=lost.code)
    except Exception as fault:  # noqa: BLE001 - one that fails must not hold up the others, and has its next time
        log.error("withdrawal not carried", exc_info=fault)


async def _hand_in(services: Services, provider: Provider, begun: Withdrawal, now: datetime) -> None:
    """Hand it in. Whatever happens that is no answer leaves open whether the rail has it."""
    try:
        async with asyncio.timeout(RAIL_ANSWERS_IN_S):
            handed_in = await provider.payout(begun.order)
    except Exception as fault:  # noqa: BLE001 - a rail may fail in any way, and may have sent it all the same
        log.warning("no answer from a rail", part=begun.rail, exc_info=fault)
        handed_in = Submission("unknown")
    if handed_in.outcome == "rejected":
        await _fail(services, begun, handed_in.failure_code, now)
    else:
        again_at = now + LOOK_SOONEST
        await services.db.transact(lambda tx: sending.note(tx, begun.env, begun.id, handed_in, again_at, now))


async def _look_after(services: Services, provider: Provider, sent: Withdrawal, now: datetime) -> None:
    state = await _state(provider, sent, now)
    match state.outcome:
        case "succeeded":
            await services.db.transact(lambda tx: sending.complete(tx, sent.env, sent.id, state, services, now))
        case "failed":
            await _fail(services, sent, state.failure_code, now)
        case "absent":
            await _hand_in(services, provider, sent, now)
        case "pending" if sent.submission != "accepted":
            accepted, again_at = Submission("accepted"), now + _until_next_look(sent, now)
            await services.db.transact(lambda tx: sending.note(tx, sent.env, sent.id, accepted, again_at, now))
        case "pending" | "unknown":
            if state.outcome == "unknown" and _age(sent, now) > LOOK_LATEST:
                log.error("withdrawal of unknown fate", part=sent.rail, detail=str(sent.id))
            await store.look_again(services.db, sent, now + _until_next_look(sent, now))


async def _state(provider: Provider, sent: Withdrawal, now: datetime) -> PayoutState:
    try:
        async with asyncio.timeout(RAIL_ANSWERS_IN_S):
            return await provider.payout_state(sent.order, now)
    except Exception as fault:  # noqa: BLE001 - a rail may fail in any way; it is asked again
        log.warning("no answer from a rail", part=sent.rail, exc_info=fault)
        return PayoutState("unknown")


async def _fail(services: Services, sent: Withdrawal, said: str | None, now: datetime) -> None:
    code = "receiver_invalid" if said == "receiver_invalid" else "payout_declined"
    await services.db.transact(lambda tx: sending.fail(tx, sent.env, sent.id, code, services, now))


def _age(sent: Withdrawal, now: datetime) -> timedelta:
    return now - (sent.processing_at or now)


def _until_next_look(sent: Withdrawal, now: datetime) -> timedelta:
    return min(max(_age(sent, now) / LOOKS_PER_AGE, LOOK_SOONEST), LOOK_LATEST)
