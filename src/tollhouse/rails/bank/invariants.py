"""The invariants of bank entries and payouts, for tests and `tollhouse check`."""

from tollhouse.platform.database import invariants
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank.invariants_store import INVARIANTS


async def broken(tx: Tx) -> list[str]:
    """A line for each row that breaks an invariant, best read in one snapshot; empty when all is well."""
    return await invariants.find_all_violations(tx, INVARIANTS)
