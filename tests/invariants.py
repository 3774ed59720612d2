"""The invariants, as `tollhouse check` checks them; without the digests, for tests change rows to tell of other times."""

import re
from collections.abc import Awaitable, Callable, Iterable
from uuid import UUID

from tests.cast import Actor
from tollhouse.platform import invariants
from tollhouse.platform.db import Pool, Tx
from tollhouse.slices import INVARIANTS

POSTED_BY_TESTS = re.compile(r"^I20 .* of source (test|experiment) ")


def ours(lines: Iterable[str]) -> list[str]:
    """Without what tests post by themselves, which is not of this program's kinds."""
    return [line for line in lines if not POSTED_BY_TESTS.search(line)]


async def broken_invariants(dsn: str) -> list[str]:
    """A line for each that does not hold. What tests post by themselves is not of this program's kinds, and passed over."""
    pool = Pool(dsn, 1)
    try:
        return await broken_in(pool)
    finally:
        await pool.close()


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
