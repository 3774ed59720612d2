"""SQL of a standby's position."""

POSITION = """
    SELECT pg_current_wal_flush_lsn()::text AS committed, current_database()::text AS database, system_identifier
    FROM pg_control_system()
"""
"""Of the primary: what is committed lies before `committed`."""
# The position is null on a server that never was a standby; one that became the primary stays where it was.
PROGRESS = """
    SELECT pg_last_wal_replay_lsn() IS NOT NULL AND system_identifier = $3 AND current_database() = $2 AS is_standby,
           coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false) AS has_replayed
    FROM pg_control_system()
"""
