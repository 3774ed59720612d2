"""The SQL statements that delete expired rows up to time `$1`, at most `$2` at once."""

DELETE_SESSIONS = """
    DELETE FROM sessions WHERE id_hash IN (
        SELECT id_hash FROM sessions WHERE last_seen_at <= $1 ORDER BY last_seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
DELETE_OPERATOR_SESSIONS = """
    DELETE FROM operator_sessions WHERE id_hash IN (
        SELECT id_hash FROM operator_sessions WHERE last_seen_at <= $1 ORDER BY last_seen_at LIMIT $2
        FOR UPDATE SKIP LOCKED)
"""
DELETE_DEVICES = """
    DELETE FROM known_devices WHERE (user_id, device_hash) IN (
        SELECT user_id, device_hash FROM known_devices WHERE last_seen_at <= $1 ORDER BY last_seen_at LIMIT $2
        FOR UPDATE SKIP LOCKED)
"""
DELETE_FAILURES = """
    DELETE FROM failed_attempts WHERE name_hash IN (
        SELECT name_hash FROM failed_attempts WHERE forget_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
