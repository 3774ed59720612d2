"""Processes that are connected to the same database, distinguished by their encryption key, and what a pooler must keep.

A pooler in transaction mode, such as PgBouncer, may run each transaction in another session. It keeps no session settings,
so the role of its URL needs them. Named statements only work if the pooler prepares them wherever it sends them: PgBouncer
from 1.21 on, with `max_prepared_statements`.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tollhouse.platform.database import server_store
from tollhouse.platform.database.pool import NAME, SESSION_SETTINGS, Pool
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.settings.config import InvalidSettingsError

NAME_BYTES_MAX = 63


def application_name(keys: KeyRing) -> str:
    """The application name of a process with this ring: `tollhouse` and the id of its first key."""
    return f"{NAME} {keys.in_use}"[:NAME_BYTES_MAX]


async def count_other_key_connections(db: Pool, keys: KeyRing) -> int:
    """The number of connections of processes that encrypt with another key."""
    row = await db.fetchrow(server_store.OTHER_CONNECTIONS, f"{NAME} ", application_name(keys))
    return 0 if row is None else int(row["count"])


async def require_role_settings(db: Pool, url: str) -> None:
    """Raises `InvalidSettingsError`, with the statements to run, if sessions through the pooler have no time limits."""
    rows = await db.fetch(server_store.INITIAL_SETTINGS, list(SESSION_SETTINGS))
    actual = {row["name"]: row["value"] for row in rows}
    missing = role_settings_missing(url, rows[0]["database"], SESSION_SETTINGS, actual)
    if missing:
        reason = (
            "TOLLHOUSE_POOLER_DATABASE_URL: sessions through the pooler have no time limits. "
            "As a superuser of the database, run what follows, then RECONNECT in the pooler's console:"
        )
        raise InvalidSettingsError([reason, *missing])


def role_settings_missing(url: str, database: str, wanted: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """The statements that a superuser must run so that new sessions of the role of `url` begin with `wanted`."""
    role = urlsplit(url).username or "ROLE"
    return [
        f'ALTER ROLE "{role}" IN DATABASE "{database}" SET {name} = \'{value}\';'
        for name, value in wanted.items()
        if actual.get(name) != value
    ]
