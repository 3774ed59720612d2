"""Two database roles: the owner of the tables migrates, the application reads and writes rows.

The application cannot disable triggers, truncate, alter or create tables: partitions are created and dropped by
functions that run as the owner.
"""

from urllib.parse import urlsplit

import asyncpg

from tollhouse.platform.database.server_store import MISSING_PRIVILEGES
from tollhouse.platform.failure import Failure

APPLICATION = "tollhouse_application"
"""The role of web and worker on the embedded database."""
CREATE = f"""
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APPLICATION}') THEN
            CREATE ROLE {APPLICATION} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT;
        END IF;
    END $$
"""


class NoSuchRoleError(Failure):
    """The role of the application does not exist. The text says how to create it."""


def role_of(dsn: str) -> str | None:
    """The role of a DSN, if it names one."""
    return urlsplit(dsn).username


async def grant(connection: "asyncpg.Connection[asyncpg.Record]", role: str) -> None:
    """Grant a role the privileges of the application on all tables that lack them.

    Run by the owner in the transaction of each migration, so that the processes can use at once what it creates.
    Raises `NoSuchRoleError`.
    """
    try:
        rows = await connection.fetch(MISSING_PRIVILEGES, role)
    except asyncpg.UndefinedObjectError:
        raise NoSuchRoleError(
            f"The role {role} of DATABASE_URL does not exist. As the administrator of the database, run "
            f"CREATE ROLE {role} LOGIN PASSWORD '…';"
        ) from None
    for row in rows:
        await connection.execute(row["statement"])
