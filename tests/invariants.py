"""The invariants, as `tollhouse check` checks them; without the digests, for tests change rows to tell of other times."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from uuid import UUID

from tests.cast import Actor
from tollhouse.checks.run import SETTINGS
from tollhouse.platform import invariants
from tollhouse.platform.db import Pool, Tx
from tollhouse.slices import INVARIANTS

POSTED_BY_TESTS = re.compile(r"^I20 .* of source (test|experiment) ")


def ours(lines: Iterable[str]) -> list[str]:
    """Without what tests post by themselves, which is not of this program's kinds."""
    return [line for line in lines if not POSTED_BY_TESTS.search(line)]


async def broken_invariants(dsn: str) -> list[str]:
    """A line for each that does not hold. What tests post by themselves is not of this program's kinds, and passed over.

    The connection is kept for the next test: preparing all the statements takes longer than running them.
    """
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(broken_in(_kept_pool(dsn)), _loop()))


@cache
def _kept_pool(dsn: str) -> Pool:
    return Pool(dsn, 1, settings=SETTINGS)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """A loop that lives longer than that of a test."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def broken_in(pool: Pool) -> list[str]:
    """The same, on a connection of this pool."""
    async with pool.connection() as tx, tx.raw.transaction(isolation="repeatable_read", readonly=True):
        return ours(await invariants.find_all_violations(tx, INVARIANTS))


async def broken_without_events(actor: Actor, broken: Callable[[Tx], Awaitable[list[str]]], spoil: str) -> list[str]:
    """What `broken` finds after `spoil`, where the merchant's events have been dropped: that alone breaks nothing.

    `spoil` is given the merchant's id. All of it is undone.
    """
    whose = UUID(actor.merchant_id)
    pool = Pool(actor.service.dsn, 1)
    async with pool.connection() as tx:
        work = tx.raw.transaction()
        await work.start()
        assert await tx.execute("DELETE FROM webhook_events WHERE merchant_id = $1", whose) >= 1
        assert await broken(tx) == []
        assert await tx.execute(spoil, whose) >= 1
        found = await broken(tx)
        await work.rollback()
    await pool.close()
    return found
