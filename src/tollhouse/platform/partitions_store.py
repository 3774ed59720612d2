"""SQL of partitions: every partitioned table is listed in the view `partitioned_tables`."""

MAKE = "SELECT covered_from, covered_until FROM partitions_make($1)"
DROP = "SELECT partitions_drop($1, $2)"
