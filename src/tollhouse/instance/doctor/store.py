"""SQL of the doctor. Nothing is written."""

from datetime import datetime, timedelta

from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.transaction import Row

SERVER = """
    SELECT clock_timestamp() AS now, current_setting('fsync') = 'on' AS syncs,
           current_setting('full_page_writes') = 'on' AS writes_full_pages,
           current_setting('synchronous_commit') <> 'off' AS commits_synchronously
"""
WORKERS = """
    SELECT count(*) AS count, array_agg(DISTINCT version ORDER BY version) AS versions, max(last_seen_at) AS last_seen_at
    FROM worker_signs WHERE last_seen_at > $1::timestamptz - $2::interval
"""
INVARIANTS = "SELECT looked_at, cardinality(broken) AS broken, failed_at FROM invariant_watch"
# Sign-ins since `$1`. Where a proxy is not trusted, all of them seem to come from it. There is an index by last use.
ADDRESSES = """
    SELECT count(*) AS count, count(DISTINCT address) AS addresses, min(address) AS address
    FROM (SELECT address FROM sessions
          WHERE last_seen_at > $1 AND created_at > $1 AND address IS NOT NULL LIMIT 1000) AS recent
"""
BANK = """
    SELECT payouts_are_paused() AS are_paused, (SELECT max(imported_at) FROM bank_statements) AS imported_at,
           (SELECT count(*) FROM bank_payouts p JOIN bank_batches b ON b.id = p.batch_id
            WHERE p.status = 'exported' AND b.exported_at < $1) AS overdue,
           (SELECT error FROM bank_fetches) AS fetch_error,
           (SELECT count(*) FROM bank_sendings WHERE next_try_at IS NOT NULL AND error IS NOT NULL) AS unsent
"""
OPERATORS = "SELECT count(*) AS count FROM operators WHERE closed_at IS NULL AND has_second_factor(id)"
PASSKEYS_ELSEWHERE = "SELECT count(*) AS count FROM passkeys WHERE rp_id <> $1"
ARCHIVE = """
    SELECT current_setting('archive_mode') <> 'off' AS is_on,
           last_archived_time AS archived_at, last_failed_time AS failed_at
    FROM pg_stat_archiver
"""
SLOT = "SELECT active FROM pg_replication_slots WHERE slot_name = $1"


async def read_server(db: Pool) -> Row:
    """The server's clock and whether commits are durable."""
    return await _row(db, SERVER)


async def read_workers(db: Pool, now: datetime, within: timedelta) -> Row:
    """How many workers had a heartbeat within this time, and their versions."""
    return await _row(db, WORKERS, now, within)


async def read_invariants(db: Pool) -> Row | None:
    """The last check, None before the first one."""
    return await db.read_row(INVARIANTS)


async def read_addresses(db: Pool, since: datetime) -> Row:
    """How many people signed in, and from how many addresses."""
    return await _row(db, ADDRESSES, since)


async def count_operators(db: Pool) -> int:
    """How many operators have a second factor."""
    return (await _row(db, OPERATORS))["count"]


async def count_passkeys_elsewhere(db: Pool, rp_id: str) -> int:
    """How many passkeys were created at another host."""
    return (await _row(db, PASSKEYS_ELSEWHERE, rp_id))["count"]


async def read_bank(db: Pool, exported_before: datetime) -> Row:
    """Pauses, the last statement, payouts on none that were exported before then, and what the channel could not do."""
    return await _row(db, BANK, exported_before)


async def is_received(db: Pool, slot: str) -> bool:
    """Whether somebody receives WAL by this replication slot."""
    row = await db.read_row(SLOT, slot)
    return row is not None and bool(row["active"])


async def read_archive(db: Pool) -> Row:
    """Whether WAL is archived, and when that last succeeded and failed."""
    return await _row(db, ARCHIVE)


async def _row(db: Pool, sql: str, *args: object) -> Row:
    row = await db.read_row(sql, *args)
    if row is None:
        raise AssertionError("the statement returns one row")
    return row
