"""PostgreSQL: the pool, transactions, records, migrations, roles, partitions and the standby."""
