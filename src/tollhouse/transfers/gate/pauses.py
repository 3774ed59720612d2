"""Pauses of payouts: while one is open, no live money leaves by any rail.

A restored database opens one, because it does not know which payouts left after its backup. The database refuses the export
of a payout by itself; rails that send at once are asked for by jobs, which ask here first.
"""

from datetime import datetime

from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Provider
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.transfers.gate import pauses_store as store
from tollhouse.transfers.gate.model import Pause

RESTORE = "tollhouse restore"
RESTORED = "The database was restored from a backup."
COPIED = "The database was copied or restored by other means than tollhouse restore."


async def may_submit(db: Pool, provider: Provider) -> bool:
    """Whether an order may be submitted to this rail now."""
    if provider.mode == "test" or provider.is_exported or not await store.are_paused(db):
        return True
    log.warning("payouts_paused", part=provider.name)
    return False


async def pause_restored(tx: Tx, data_until: datetime, now: datetime) -> None:
    """Pause payouts of a database that was restored from a backup of `data_until`."""
    await store.take_identity(tx)
    await store.insert(tx, Pause(new_id(), "restored", data_until, now, RESTORE, RESTORED))


async def pause_if_copied(tx: Tx, now: datetime) -> bool:
    """Pause payouts if this database is a copy of another one. Its data end with the newest posting."""
    if not await store.take_identity(tx):
        return False
    data_until = await store.last_posting_at(tx) or now
    await store.insert(tx, Pause(new_id(), "restored", data_until, now, RESTORE, COPIED))
    log.error("database_copied", advice="payouts are paused; see docs/backup.md")
    return True
