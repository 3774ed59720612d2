"""The SQL statement that forgets lines of the audit log, a batch at a time: `$1` is a moment, `$2` the batch."""

# The database itself refuses to delete what is not a year old.
FORGET_LINES = """
    DELETE FROM audit_lines WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM audit_lines WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
