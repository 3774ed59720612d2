#!/bin/sh
# Run once, when the database is created: the role of web and worker. `tollhouse migrate` gives it its privileges.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$TOLLHOUSE_APPLICATION_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE tollhouse_application LOGIN PASSWORD :'password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT;
SQL
