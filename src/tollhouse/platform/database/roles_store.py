"""SQL that finds out which privileges a role lacks."""

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
