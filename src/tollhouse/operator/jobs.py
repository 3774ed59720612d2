"""What the worker notes for operators to see: that it lives, and what it found when it looked at the invariants."""

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from importlib.metadata import version

from tollhouse.callers.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.operator import failing_store, overview_store
from tollhouse.operator.model import FAILED_LATELY
from tollhouse.operator.overview import SIGN_EVERY_S
from tollhouse.web.house import House

WORKER_ID = new_id()
VERSION = version("tollhouse")
FORGOTTEN_AFTER = timedelta(days=1)


async def give_sign(house: House) -> None:
    """This process is at work."""
    await overview_store.sign(house.db, WORKER_ID, socket.gethostname(), os.getpid(), VERSION, clock.now())


async def keep_watch(house: House, broken: Sequence[str]) -> None:
    """What a look at the invariants found: a line for each that is broken."""
    await overview_store.keep_watch(house.db, broken, clock.now())


async def keep_failed_watch(house: House, reason: str) -> None:
    """A look at the invariants did not come to its end: what the last one found stays."""
    await overview_store.keep_failed_watch(house.db, reason, clock.now())


async def forget_signs(house: House) -> None:
    """Workers that went long ago."""
    await overview_store.forget_signs(house.db, clock.now() - FORGOTTEN_AFTER)


async def forget_failures(house: House) -> None:
    """Events that failed too long ago to be shown among those that do."""
    await forget(house.db, failing_store.FORGET_FAILURES, clock.now() - FAILED_LATELY)


JOBS: list[tuple[int, Callable[[House], Awaitable[None]]]] = [
    (SIGN_EVERY_S, give_sign),
    (3600, forget_signs),
    (3600, forget_failures),
]
"""Seconds between two runs, and what is done."""
