"""What must always be true of fulfillments and their money. Tests and `tollhouse check` ask the same questions."""

from tollhouse.fulfillments.invariants_store import INVARIANTS, offending
from tollhouse.platform.db import Tx


async def broken(tx: Tx) -> list[str]:
    """A line for each row that breaks an invariant, best read in one snapshot; empty when all is well."""
    return [
        f"{number} {meaning}: {line}" for number, meaning, statement in INVARIANTS for line in await offending(tx, statement)
    ]
