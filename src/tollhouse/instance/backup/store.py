"""SQL of backups: the slot of the WAL archive, which keeps WAL on the server until the archive has it, and restoring."""

SLOT_STATUS = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = $1"
CREATE_SLOT = "SELECT pg_create_physical_replication_slot($1, true)"
DROP_SLOT = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1"
# The receiver of a supervisor that was killed: only one may use the slot.
END_RECEIVER = """
    SELECT pg_terminate_backend(active_pid, $2) FROM pg_replication_slots WHERE slot_name = $1 AND active_pid IS NOT NULL
"""
# Null if nothing was replayed.
LAST_RECOVERED_AT = "SELECT pg_last_xact_replay_timestamp()"


IS_EMPTY = "SELECT count(*) = 0 FROM pg_class WHERE relnamespace = 'public'::regnamespace"
