"""The SQL statements that delete OAuth rows created up to `$1`, at most `$2` at once."""

DELETE_REQUESTS = """
    DELETE FROM oauth_requests WHERE id_hash IN (
        SELECT id_hash FROM oauth_requests WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
DELETE_CODES = """
    DELETE FROM oauth_codes WHERE code_hash IN (
        SELECT code_hash FROM oauth_codes WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
