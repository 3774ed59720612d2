"""What the role of the application may do while the owner migrates: at the end of each migration, and as a service reads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg

from tests.running import as_application
from tollhouse.platform.database import roles

READABLE = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
      AND has_table_privilege('tollhouse_application', oid, 'SELECT')
"""
WATCHED = """
    CREATE FUNCTION application_keeps_privileges() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE forbidden text;
    BEGIN
        SELECT string_agg(relname, ', ') INTO forbidden FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') AND NOT relispartition
          AND NOT has_table_privilege('tollhouse_application', oid, 'SELECT');
        IF forbidden IS NOT NULL THEN
            RAISE '% commits, and the application may not read %', NEW.name, forbidden;
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER application_keeps_privileges AFTER INSERT ON schema_migrations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION application_keeps_privileges()
"""
NOT_WATCHED = "DROP FUNCTION application_keeps_privileges CASCADE"


@asynccontextmanager
async def privileges_kept(owner: "asyncpg.Connection[asyncpg.Record]", dsn: str) -> AsyncIterator[None]:
    """While the owner migrates in the body: no migration commits without privileges, and no read is forbidden."""
    await roles.grant(owner, roles.APPLICATION)
    await owner.execute(WATCHED)
    names = [row["relname"] for row in await owner.fetch(READABLE)]
    reading = asyncio.create_task(_read(as_application(dsn), names))
    try:
        yield
        assert not reading.done(), reading.exception()
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        await owner.execute(NOT_WATCHED)


async def _read(dsn: str, names: list[str]) -> None:
    """Read tables and views in turn until cancelled. Raises an error of privileges.

    A table may be renamed or dropped, and a read of several tables may lose a deadlock with the migration, as a request may.
    """
    connection = await asyncpg.connect(dsn)
    try:
        while True:
            for name in names:
                with suppress(asyncpg.UndefinedTableError, asyncpg.DeadlockDetectedError):
                    await connection.execute(f"SELECT FROM {name} LIMIT 1")
    finally:
        connection.terminate()
