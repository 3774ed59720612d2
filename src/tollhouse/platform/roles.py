"""Two database roles: the owner of the tables migrates, the application reads and writes rows.

The application cannot disable triggers, truncate, alter or create tables: partitions are created and dropped by
functions that run as the owner.
"""

from urllib.parse import urlsplit

import asyncpg

APPLICATION = "tollhouse_application"
"""The role of web and worker on the embedded database."""
CREATE = f"""
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APPLICATION}') THEN
            CREATE ROLE {APPLICATION} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT;
        END IF;
    END $$
"""
GRANTS = (
    "GRANT USAGE ON SCHEMA public TO {}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}",
    "REVOKE INSERT, UPDATE, DELETE ON schema_migrations, state_transitions FROM {}",
)
QUOTED = "SELECT quote_ident($1)"


def role_of(dsn: str) -> str | None:
    """The role of a DSN, if it names one."""
    return urlsplit(dsn).username


async def grant(connection: "asyncpg.Connection[asyncpg.Record]", role: str) -> None:
    """Grant a role the privileges of the application on all tables. Run by the owner after each migration."""
    quoted = await connection.fetchval(QUOTED, role)
    for statement in GRANTS:
        await connection.execute(statement.format(quoted))
