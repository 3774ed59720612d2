"""Two database roles: the owner of the tables migrates, the application reads and writes rows.

The application cannot disable triggers, truncate, alter or create tables: partitions are created and dropped by
functions that run as the owner.
"""

from urllib.parse import urlsplit

import asyncpg

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
# The statements that give the role what it lacks. They name no table that has its privileges: a GRANT makes every session
# plan its statements on that table again.
MISSING = """
    WITH relations AS (
        SELECT oid, format('public.%I', relname) AS name, relkind = 'S' AS is_sequence,
               relname IN ('schema_migrations', 'state_transitions') AS is_read_only,
               has_table_privilege($1, oid, 'SELECT') AS reads,
               CASE WHEN relkind = 'S' THEN has_sequence_privilege($1, oid, 'USAGE')
                    ELSE has_table_privilege($1, oid, 'INSERT') AND has_table_privilege($1, oid, 'UPDATE')
                         AND has_table_privilege($1, oid, 'DELETE') END AS writes,
               relkind <> 'S' AND has_table_privilege($1, oid, 'INSERT, UPDATE, DELETE') AS writes_something
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT relispartition
    )
    SELECT format('GRANT USAGE ON SCHEMA public TO %I', $1) AS statement
    WHERE NOT has_schema_privilege($1, 'public', 'USAGE')
    UNION ALL
    SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', string_agg(name, ', '), $1) FROM relations
    WHERE NOT is_sequence AND NOT is_read_only AND NOT (reads AND writes) HAVING count(*) > 0
    UNION ALL
    SELECT format('GRANT USAGE, SELECT ON SEQUENCE %s TO %I', string_agg(name, ', '), $1) FROM relations
    WHERE is_sequence AND NOT (reads AND writes) HAVING count(*) > 0
    UNION ALL
    SELECT format('GRANT SELECT ON %s TO %I', string_agg(name, ', '), $1) FROM relations
    WHERE is_read_only AND NOT reads HAVING count(*) > 0
    UNION ALL
    SELECT format('REVOKE INSERT, UPDATE, DELETE ON %s FROM %I', string_agg(name, ', '), $1) FROM relations
    WHERE is_read_only AND writes_something HAVING count(*) > 0
"""


class NoSuchRoleError(Failure):
    """The role of the application does not exist. The text says how to create it."""


def role_of(dsn: str) -> str | None:
    """The role of a DSN, if it names one."""
    return urlsplit(dsn).username


async def grant(connection: "asyncpg.Connection[asyncpg.Record]", role: str) -> None:
    """Grant a role the privileges of the application on all tables that lack them.

    Run by the owner in the transaction of each migration: what a migration creates anew is never forbidden to the processes
    that use it. Raises `NoSuchRoleError`.
    """
    try:
        rows = await connection.fetch(MISSING, role)
    except asyncpg.UndefinedObjectError:
        raise NoSuchRoleError(
            f"The role {role} of DATABASE_URL does not exist. As the administrator of the database, run "
            f"CREATE ROLE {role} LOGIN PASSWORD '…';"
        ) from None
    for row in rows:
        await connection.execute(row["statement"])
