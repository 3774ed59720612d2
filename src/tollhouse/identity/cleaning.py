"""What is over around callers is forgotten: sessions, failed attempts, answers kept for repeated requests.

Nothing depends on these jobs but the size of the tables: whatever is over is found to be over by the clock when it is used.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.identity import cleaning_store
from tollhouse.kernel import clock
from tollhouse.kernel.limits import IDEMPOTENCY_KEPT_S, KNOWN_DEVICE_S, OPERATOR_SESSION_IDLE_S, SESSION_IDLE_S
from tollhouse.platform.db import Pool

BATCH = 1_000
"""Rows of one DELETE: short enough that nobody waits for it."""


async def forget(db: Pool, statement: str, until: datetime) -> int:
    """Delete what the statement finds to be over at `until`, batch by batch; how many rows that were."""
    gone = last = await db.execute(statement, until, BATCH)
    while last == BATCH:
        last = await db.execute(statement, until, BATCH)
        gone += last
    return gone


async def forget_sessions(services: Services) -> None:
    """Sessions that nobody can use any more. One that was ended, or grew too old, is not seen again and so falls idle."""
    await forget(services.db, cleaning_store.FORGET_SESSIONS, clock.now() - timedelta(seconds=SESSION_IDLE_S))


async def forget_operator_sessions(services: Services) -> None:
    """The same of operators."""
    idle = timedelta(seconds=OPERATOR_SESSION_IDLE_S)
    await forget(services.db, cleaning_store.FORGET_OPERATOR_SESSIONS, clock.now() - idle)


async def forget_devices(services: Services) -> None:
    """Devices that nobody signed in with for so long that they are as good as new."""
    await forget(services.db, cleaning_store.FORGET_DEVICES, clock.now() - timedelta(seconds=KNOWN_DEVICE_S))


async def forget_failures(services: Services) -> None:
    """Failed attempts that count for nothing any more."""
    await forget(services.db, cleaning_store.FORGET_FAILURES, clock.now())


async def forget_answers(services: Services) -> None:
    """Answers of requests whose Idempotency-Key is older than we keep them."""
    await forget(services.db, cleaning_store.FORGET_ANSWERS, clock.now() - timedelta(seconds=IDEMPOTENCY_KEPT_S))


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [
    (60, forget_failures),
    (3600, forget_sessions),
    (3600, forget_operator_sessions),
    (3600, forget_devices),
    (3600, forget_answers),
]
"""Seconds between two runs, and what is done."""
