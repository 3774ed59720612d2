"""SQL about the database itself: its sessions, roles, partitions and standby."""

OTHER_CONNECTIONS = """
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, $1) AND application_name <> $2
"""

HAS_STATEMENT = "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = $1)"

INITIAL_SETTINGS = """
    SELECT current_database() AS database, name, reset_val AS value FROM pg_settings WHERE name = ANY($1::text[])
"""
"""What sessions of this role begin with, and `SET LOCAL … TO DEFAULT` returns to."""


MAKE_PARTITIONS = "SELECT covered_from, covered_until FROM partitions_make($1)"
DROP_PARTITIONS = "SELECT partitions_drop($1, $2)"
# What `partitions_drop` would drop. The numbers of rows are those of the last ANALYZE.
ENDED_PARTITIONS = """
    SELECT count(*) AS partitions, coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint AS rows,
           coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
    FROM partitioned_tables t JOIN pg_class c ON c.relname ~ ('^' || t.name || '_[0-9]{6,10}$')
    WHERE t.name = $1 AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
      AND to_timestamp(right(c.relname, -length(t.name) - 1), t.suffix) + t.step <= $2
"""


COMMITTED = """
    SELECT pg_current_wal_flush_lsn()::text AS committed, current_database()::text AS database, system_identifier
    FROM pg_control_system()
"""
"""Of the primary: what is committed lies before `committed`."""
# The position is null on a server that never was a standby; one that became the primary stays where it was.
STANDBY_PROGRESS = """
    SELECT pg_last_wal_replay_lsn() IS NOT NULL AND system_identifier = $3 AND current_database() = $2 AS is_standby,
           coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false) AS has_replayed
    FROM pg_control_system()
"""


# The statements that give the role what it lacks. They name no table that has its privileges: a GRANT makes every session
# plan its statements on that table again.
MISSING_PRIVILEGES = """
    WITH relations AS (
        SELECT oid, format('public.%I', relname) AS name, relkind = 'S' AS is_sequence,
               relname IN ('schema_migrations', 'state_transitions', 'ledger_release_kinds',
                           'operator_action_kinds', 'mail_kinds') AS is_read_only,
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
