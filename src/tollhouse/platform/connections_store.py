"""SQL of other connections to this database."""

OTHERS = """
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, $1) AND application_name <> $2
"""
