"""The invariants, as `tollhouse check` checks them; without the digests, for tests change rows to tell of other times."""

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from uuid import UUID

from tests.cast import Actor
from tests.running import on_lasting_loop
from tollhouse.instance.checks.run import SETTINGS
from tollhouse.instance.slices import INVARIANTS
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database import invariants
from tollhouse.platform.database.digests_store import BEFORE_ALL
from tollhouse.platform.database.pool import Pool, Tx

RANDOM_BITS = 80
"""The last bits of an id, behind its time."""
POSTED_BY_TESTS = re.compile(r"^I20 .* of source (test|experiment) ")


def ours(lines: Iterable[str]) -> list[str]:
    """Without what tests post by themselves, which is not of this program's kinds."""
    return [line for line in lines if not POSTED_BY_TESTS.search(line)]


async def broken_invariants(dsn: str, after: UUID = BEFORE_ALL) -> list[str]:
    """A line for each that does not hold. What tests post by themselves is not of this program's kinds, and passed over.

    Of rows with ids, only those after this one are checked: with `last_id()` of the beginning, those of one test.
    The connection is kept for the next test: preparing all the statements takes longer than running them.
    """
    return await on_lasting_loop(broken_in(_kept_pool(dsn), after))


@cache
def _kept_pool(dsn: str) -> Pool:
    return Pool(dsn, 1, settings=SETTINGS)


async def broken_in(pool: Pool, after: UUID = BEFORE_ALL) -> list[str]:
    """The same, on a connection of this pool; of rows with ids, only those after this one."""
    async with pool.connection() as tx, tx.raw.transaction(isolation="repeatable_read", readonly=True):
        return ours(await invariants.find_all_violations(tx, INVARIANTS, after))


def last_id() -> UUID:
    """All ids that are made from now on are after this one: they begin with the time in milliseconds."""
    return UUID(int=new_id().int >> RANDOM_BITS << RANDOM_BITS)


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
