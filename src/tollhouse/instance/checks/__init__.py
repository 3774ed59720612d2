"""The check of the database: invariants of money and events, digests of rows, and the schema."""
