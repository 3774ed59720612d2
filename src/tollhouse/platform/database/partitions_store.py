"""SQL of partitions: every partitioned table is listed in the view `partitioned_tables`."""

MAKE = "SELECT covered_from, covered_until FROM partitions_make($1)"
DROP = "SELECT partitions_drop($1, $2)"
# What `partitions_drop` would drop. The numbers of rows are those of the last ANALYZE.
ENDED = """
    SELECT count(*) AS partitions, coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint AS rows,
           coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
    FROM partitioned_tables t JOIN pg_class c ON c.relname ~ ('^' || t.name || '_[0-9]{6,10}$')
    WHERE t.name = $1 AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
      AND to_timestamp(right(c.relname, -length(t.name) - 1), t.suffix) + t.step <= $2
"""
