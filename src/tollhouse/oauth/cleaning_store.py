"""Every SQL statement that forgets what is over in OAuth. `$1` is a moment, `$2` how many rows at once."""

from datetime import datetime

from tollhouse.platform.db import Pool
from tollhouse.platform.partitions_store import drop_past

FORGET_REQUESTS = """
    DELETE FROM oauth_requests WHERE id_hash IN (
        SELECT id_hash FROM oauth_requests WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
FORGET_CODES = """
    DELETE FROM oauth_codes WHERE code_hash IN (
        SELECT code_hash FROM oauth_codes WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
# A partition's name says when it begins; six hours later all its tokens are over. One that was detached before its table
# could be dropped is found as well. CONCURRENTLY never holds up a reader or writer of the others; if it had to give up
# half-way, FINALIZE ends it.
PAST_PARTITIONS = """
    SELECT CASE WHEN i.inhrelid IS NOT NULL THEN
               format('ALTER TABLE oauth_access_tokens DETACH PARTITION %I %s', c.relname,
                      CASE WHEN i.inhdetachpending THEN 'FINALIZE' ELSE 'CONCURRENTLY' END) END AS detach,
           format('DROP TABLE %I', c.relname) AS drop
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
      AND c.relname ~ '^oauth_access_tokens_[0-9]{10}$'
      AND to_timestamp(right(c.relname, 10) || '+00', 'YYYYMMDDHH24TZH') + interval '6 hours' <= $1
    ORDER BY i.inhdetachpending DESC NULLS LAST, c.relname
"""


async def drop_partitions(db: Pool, ended_by: datetime) -> int:
    """Drop the partitions of tokens that were over by then; how many. None while another worker is at it."""
    return await drop_past(db, "oauth_access_tokens", PAST_PARTITIONS, ended_by)
