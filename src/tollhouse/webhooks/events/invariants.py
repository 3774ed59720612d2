"""The invariants of events and deliveries, run by tests and `tollhouse check`."""

from tollhouse.platform.database import invariants
from tollhouse.platform.database.pool import Tx
from tollhouse.webhooks.events.invariants_store import INVARIANTS


async def broken(tx: Tx) -> list[str]:
    """A line for each violation; empty if there is none. Read it in one snapshot."""
    return await invariants.find_all_violations(tx, INVARIANTS)
