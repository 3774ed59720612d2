"""What the worker notes for operators to see: that it lives, and what it found when it looked at the invariants."""

import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import version

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.pages.console import overview_store
from tollhouse.pages.console.overview_store import FAILURES_SHOWN_FOR
from tollhouse.platform.database.cleanup import delete_in_batches

WORKER_ID = new_id()
VERSION = version("tollhouse")
HEARTBEATS_KEPT_FOR = timedelta(days=1)


async def record_heartbeat(services: Services) -> None:
    """Record that this worker is running."""
    await overview_store.record_heartbeat(services.db, WORKER_ID, socket.gethostname(), os.getpid(), VERSION, clock.now())


async def record_check(services: Services, broken: Sequence[str]) -> None:
    """Record the result of a check: a line for each broken invariant."""
    await overview_store.record_check(services.db, broken, clock.now())


async def record_failed_check(services: Services, reason: str) -> None:
    """Record that a check could not finish, beside the last result."""
    await overview_store.record_failed_check(services.db, reason, clock.now())


async def delete_heartbeats(services: Services) -> None:
    """Delete workers without a heartbeat for a day."""
    await overview_store.delete_heartbeats(services.db, clock.now() - HEARTBEATS_KEPT_FOR)


async def delete_old_failures(services: Services) -> None:
    """Delete failures that are too old to be listed."""
    await delete_in_batches(services.db, overview_store.DELETE_OLD_FAILURES, clock.now() - FAILURES_SHOWN_FOR)
