"""SQL of pauses of payouts, and of the identity of the database."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.gate.model import Pause

ARE_PAUSED = "SELECT payouts_are_paused() AS are_paused"
OPEN = """
    SELECT id, cause, data_until, paused_at, paused_by, reason FROM payout_pauses
    WHERE resumed_at IS NULL ORDER BY paused_at, id FOR NO KEY UPDATE
"""
LIST_OPEN = """
    SELECT id, cause, data_until, paused_at, paused_by, reason FROM payout_pauses
    WHERE resumed_at IS NULL ORDER BY paused_at, id
"""
INSERT = """
    INSERT INTO payout_pauses (id, cause, data_until, paused_at, paused_by, reason) VALUES ($1, $2, $3, $4, $5, $6)
"""
RESUME = """
    UPDATE payout_pauses SET resumed_at = $2, resumed_by = $3, resumed_because = $4
    WHERE id = ANY ($1::uuid[]) AND resumed_at IS NULL
"""
# Of several processes that notice a copy at once, one changes the row.
TAKE_IDENTITY = """
    UPDATE database_identity SET identity = current_database_identity() WHERE identity <> current_database_identity()
"""
# Without the table, the database is older than the pauses.
HAS_IDENTITY = "SELECT to_regclass('database_identity') IS NOT NULL"
IS_OWN_IDENTITY = "SELECT identity = current_database_identity() FROM database_identity"
LAST_POSTING_AT = "SELECT created_at FROM ledger_transactions ORDER BY id DESC LIMIT 1"


async def are_paused(db: Pool | Tx) -> bool:
    """Whether no live money may leave."""
    [row] = await db.fetch(ARE_PAUSED)
    return row["are_paused"]


async def lock_open(tx: Tx) -> list[Pause]:
    """Lock the pauses that have not ended, and return them, oldest first."""
    return [Pause(*row.values()) for row in await tx.fetch(OPEN)]


async def list_open(db: Pool | Tx) -> list[Pause]:
    """The pauses that have not ended, oldest first."""
    return [Pause(*row.values()) for row in await db.fetch(LIST_OPEN)]


async def insert(tx: Tx, new: Pause) -> None:
    """Insert a pause."""
    await tx.execute(INSERT, new.id, new.cause, new.data_until, new.paused_at, new.paused_by, new.reason)


async def resume(tx: Tx, pauses: list[UUID], resumed_at: datetime, resumed_by: str, reason: str) -> int:
    """End these pauses. Returns how many had not ended."""
    return await tx.execute(RESUME, pauses, resumed_at, resumed_by, reason)


async def take_identity(tx: Tx) -> bool:
    """Record the current cluster and database. False if they are recorded."""
    return await tx.execute(TAKE_IDENTITY) == 1


async def has_own_identity(tx: Tx) -> bool:
    """Whether this database is not a copy. False if it is older than identities."""
    return await tx.fetchval(HAS_IDENTITY) and await tx.fetchval(IS_OWN_IDENTITY)


async def last_posting_at(tx: Tx) -> datetime | None:
    """The time of the newest posting."""
    return await tx.fetchval(LAST_POSTING_AT)
