"""SQL of other connections to this database."""

OTHERS = """
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, $1) AND application_name <> $2
"""

HAS_STATEMENT = "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = $1)"

INITIAL_SETTINGS = """
    SELECT current_database() AS database, name, reset_val AS value FROM pg_settings WHERE name = ANY($1::text[])
"""
"""What sessions of this role begin with, and `SET LOCAL … TO DEFAULT` returns to."""
