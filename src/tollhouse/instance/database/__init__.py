"""The embedded PostgreSQL: its cluster, configuration, data folder and upgrades."""
