"""What must hold between events, their history and their deliveries. `tollhouse check` prints what does not."""

from tollhouse.events import invariants_store
from tollhouse.platform.db import Tx


async def broken(tx: Tx) -> list[str]:
    """A sentence for each kind of breach, with how many there are and one of them; empty when all is well."""
    found: list[str] = []
    for rule, statement in invariants_store.RULES.items():
        row = await tx.fetchrow(statement)
        if row is not None and row["count"]:
            found.append(f"{rule}: {row['count']}, such as event {row['example']}")
    return found
