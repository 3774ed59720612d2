"""Rows that a transaction claims by their key, and completes. Another with the same key waits, and finds what was completed.

An optimistic run looks the key up, and claims and completes its row by one deferred write, before all others. If another
transaction holds the key, or the action refuses, the action runs again and claims the key first: it then waits for the
unique index of the claim.
"""

import asyncpg
from msgspec import Struct

from tollhouse.platform.database.transaction import Row, Tx


class ClaimStatements(Struct, frozen=True):
    """The SQL of such rows; the parameters of each begin with the key.

    `claim` inserts a row, or nothing where there is one; `claim_completed` does the work of `claim` and `complete`.
    `find_many` is `find` for many keys.
    """

    find: str
    find_many: str
    claim: str
    complete: str
    claim_completed: str


class ClaimedByOtherError(Exception):
    """Another transaction holds the key."""


async def claim(tx: Tx, statements: ClaimStatements, key: tuple[object, ...], *claimed: object) -> Row | None:
    """Claim the row of this key with these values; return what was completed before. Raises `ClaimedByOtherError`."""
    if tx.is_optimistic:
        earlier = await tx.read_row_in_batch(statements.find_many, key)
        # What refuses this action may be what the one with the key has done.
        tx.retries_errors = earlier is None
        return earlier
    if tx.has_waited:
        await tx.run("SET LOCAL lock_timeout = '10ms'")
    try:
        is_claimed = await tx.execute(statements.claim, *key, *claimed)
    except asyncpg.LockNotAvailableError:
        raise ClaimedByOtherError from None
    if tx.has_waited:
        await tx.run("SET LOCAL lock_timeout TO DEFAULT")
    if is_claimed:
        return None
    earlier = await tx.fetchrow(statements.find, *key)
    if earlier is None:  # the other one was rolled back between the two statements
        raise ClaimedByOtherError
    return earlier


async def complete(tx: Tx, statements: ClaimStatements, completed: tuple[object, ...], *claimed: object) -> None:
    """Complete the row that was claimed with these values. `completed` is its key and the other values."""
    if tx.is_optimistic:
        await tx.write(statements.claim_completed, *completed, *claimed, first=True)
    else:
        await tx.execute(statements.complete, *completed)
