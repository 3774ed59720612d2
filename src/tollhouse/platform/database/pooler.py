"""Connections through a pooler in transaction mode, such as PgBouncer: each transaction may run in another session.

Such a connection keeps no session settings, so the role of its URL needs them (`role_settings_missing`). Named statements
only work if the pooler prepares them wherever it sends them: PgBouncer from 1.21 on, with `max_prepared_statements`.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg

from tollhouse.platform.database import connections_store as store


async def keeps_named_statements(raw: "asyncpg.Connection[asyncpg.Record]") -> bool:
    """Whether the pooler prepares named statements on every server connection. It then gives them names of its own there."""
    name = f"probe_{uuid4().hex}"
    async with raw.transaction():
        statement = await raw.prepare(store.HAS_STATEMENT, name=name)
        is_ours = bool(await statement.fetchval(name))
        if is_ours:
            await raw.execute(f"DEALLOCATE {name}")
    return not is_ours


def role_settings_missing(url: str, database: str, wanted: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """The statements that a superuser must run so that new sessions of the role of `url` begin with `wanted`."""
    role = urlsplit(url).username or "ROLE"
    return [
        f'ALTER ROLE "{role}" IN DATABASE "{database}" SET {name} = \'{value}\';'
        for name, value in wanted.items()
        if actual.get(name) != value
    ]
