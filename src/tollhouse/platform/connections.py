"""Processes that are connected to the same database, distinguished by their encryption key."""

from tollhouse.platform import connections_store
from tollhouse.platform.db import NAME, Pool
from tollhouse.platform.encryption import KeyRing

NAME_BYTES_MAX = 63


def application_name(keys: KeyRing) -> str:
    """The application name of a process with this ring: `tollhouse` and the id of its first key."""
    return f"{NAME} {keys.in_use}"[:NAME_BYTES_MAX]


async def count_other_key_connections(db: Pool, keys: KeyRing) -> int:
    """The number of connections of processes that encrypt with another key."""
    row = await db.fetchrow(connections_store.OTHERS, f"{NAME} ", application_name(keys))
    return 0 if row is None else int(row["count"])
