"""What the worker notes for operators to see: that it lives, and what it found when it looked at the invariants."""

import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from importlib.metadata import version

from tollhouse.console import failing_store, overview_store
from tollhouse.console.model import FAILED_RECENTLY
from tollhouse.console.overview import HEARTBEAT_EVERY_S
from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id

WORKER_ID = new_id()
VERSION = version("tollhouse")
FORGOTTEN_AFTER = timedelta(days=1)


async def record_heartbeat(services: Services) -> None:
    """This process is at work."""
    await overview_store.sign(services.db, WORKER_ID, socket.gethostname(), os.getpid(), VERSION, clock.now())


async def keep_watch(services: Services, broken: Sequence[str]) -> None:
    """What a look at the invariants found: a line for each that is broken."""
    await overview_store.keep_watch(services.db, broken, clock.now())


async def keep_failed_watch(services: Services, reason: str) -> None:
    """A look at the invariants did not come to its end: what the last one found stays."""
    await overview_store.keep_failed_watch(services.db, reason, clock.now())


async def delete_heartbeats(services: Services) -> None:
    """Workers that went long ago."""
    await overview_store.delete_heartbeats(services.db, clock.now() - FORGOTTEN_AFTER)


async def forget_failures(services: Services) -> None:
    """Events that failed too long ago to be shown among those that do."""
    await forget(services.db, failing_store.FORGET_FAILURES, clock.now() - FAILED_RECENTLY)


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [
    (HEARTBEAT_EVERY_S, record_heartbeat),
    (3600, delete_heartbeats),
    (3600, forget_failures),
]
"""Seconds between two runs, and what is done."""
