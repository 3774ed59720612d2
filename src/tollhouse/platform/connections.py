"""The processes of ours that are connected to the same database, told apart by the key they seal with."""

from tollhouse.platform import connections_store
from tollhouse.platform.db import NAME, Pool
from tollhouse.platform.encryption import KeyRing

NAME_BYTES_MAX = 63


def application_name(keys: KeyRing) -> str:
    """What a process with this ring calls itself towards the database: `tollhouse` and the id of its first key."""
    return f"{NAME} {keys.in_use}"[:NAME_BYTES_MAX]


async def count_other_key_connections(db: Pool, keys: KeyRing) -> int:
    """How many connections belong to processes that seal with another key than ours."""
    row = await db.fetchrow(connections_store.OTHERS, f"{NAME} ", application_name(keys))
    return 0 if row is None else int(row["count"])
