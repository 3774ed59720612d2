"""Other ways to the database: a pooler for requests and jobs, a standby for reports."""

import asyncpg

from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database.connections import require_role_settings
from tollhouse.platform.database.errors import UNREACHABLE
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.replica import Replica
from tollhouse.platform.settings.config import InvalidSettingsError, Settings

STANDBY_ADVICE = "Check that it runs, and TOLLHOUSE_REPLICA_DATABASE_URL: host, port, name and password."
STANDBY = {
    "behind": (
        "The standby is behind the primary.",
        "Look at its load, its network and pg_stat_replication of the primary.",
    ),
    "other": ("The server at TOLLHOUSE_REPLICA_DATABASE_URL is no standby of this database.", STANDBY_ADVICE),
}


async def examine_pooler(settings: Settings) -> list[Finding]:
    """Whether requests get through the pooler, with the time limits that its sessions need."""
    url = settings.pooler_database_url
    if url is None:
        return []
    pool = Pool(url, 1, pooled=True)
    try:
        await require_role_settings(pool, url)
        async with pool.connection() as tx:
            is_named = tx.connection is not None and tx.connection.names_statements
    except InvalidSettingsError as error:
        reason, *statements = error.field_errors
        return [Finding("pooler", "failure", reason.partition(". ")[0] + ".", " ".join(statements))]
    except (*UNREACHABLE, asyncpg.PostgresError, TemporarilyUnavailable) as error:
        message = f"The pooler cannot be used: {type(error.__cause__ or error).__name__}."
        advice = "Check that it runs, and TOLLHOUSE_POOLER_DATABASE_URL: host, port, name and password."
        return [Finding("pooler", "failure", message, advice)]
    finally:
        await pool.close()
    if is_named:
        return [Finding("pooler", "ok", "The pooler responds, and keeps prepared statements.")]
    message = "The pooler responds. It keeps no prepared statements, so each one is parsed again."
    return [Finding("pooler", "ok", message)]


async def examine_standby(settings: Settings, primary: Pool) -> list[Finding]:
    """Whether reports can be read from the standby. Otherwise the primary serves them, so nothing fails."""
    if settings.replica_database_url is None:
        return []
    standby = Pool(settings.replica_database_url, 1, only_reads=True)
    try:
        obstacle = await Replica(standby).catch_up(primary)
    finally:
        await standby.close()
    if not obstacle:
        return [Finding("standby", "ok", "The standby has everything that is committed.")]
    message, advice = STANDBY.get(obstacle, (f"The standby cannot be used: {obstacle}.", STANDBY_ADVICE))
    return [Finding("standby", "warning", f"{message} Reports are read from the primary.", advice)]
