"""The invariants, checked as `tollhouse check` checks them."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from tests.cast import Actor
from tollhouse import main
from tollhouse.platform.db import Pool, Tx


async def broken_invariants(dsn: str) -> list[str]:
    """A line for each that does not hold."""
    pool = Pool(dsn, 1)
    try:
        return await main.broken_invariants(pool)
    finally:
        await pool.close()


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
