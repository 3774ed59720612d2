"""The SQL statement that deletes audit events older than `$1`, at most `$2` at a time."""

# A trigger refuses to delete events younger than one year.
DELETE_EVENTS = """
    DELETE FROM audit_lines WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM audit_lines WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
