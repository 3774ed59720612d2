"""What must always be true of balance payments and their money. Tests and `tollhouse check` ask the same questions."""

from tollhouse.balance_payments.invariants_store import INVARIANTS
from tollhouse.platform import invariants
from tollhouse.platform.db import Tx


async def broken(tx: Tx) -> list[str]:
    """A line for each row that breaks an invariant, best read in one snapshot; empty when all is well."""
    return await invariants.broken(tx, INVARIANTS)
