"""The processes of ours that are connected to the same database, told apart by the key they seal with."""

from tollhouse.platform import connections_store
from tollhouse.platform.db import NAME, Pool
from tollhouse.platform.encryption import KeyRing

NAME_BYTES_MAX = 63


def name_of(keys: KeyRing) -> str:
    """What a process with this ring calls itself towards the database: `tollhouse` and the id of its first key."""
    return f"{NAME} {keys.in_use}"[:NAME_BYTES_MAX]


async def others(db: Pool, keys: KeyRing) -> int:
    """How many connections belong to processes that seal with another key than ours."""
    row = await db.fetchrow(connections_store.OTHERS, f"{NAME} ", name_of(keys))
    return 0 if row is None else int(row["count"])
