"""SQL of signing secrets. Every change requires the lock on the environment's row."""

ACTIVE = """
    SELECT activated_at FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active'
"""
PENDING = """
    SELECT version FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'pending' AND created_at > $3
"""
NEXT_VERSION = """
    SELECT coalesce(max(version), 0) + 1 AS version FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2
"""
RETIRE = """
    UPDATE webhook_secrets SET state = 'retired', retired_at = $4 WHERE merchant_id = $1 AND mode = $2 AND state = $3
"""
INSERT = """
    INSERT INTO webhook_secrets (merchant_id, mode, version, state, key_id, nonce, ciphertext, created_at, activated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE $4::text WHEN 'active' THEN $8::timestamptz END)
"""
ACTIVATE = """
    UPDATE webhook_secrets SET state = 'active', activated_at = $4 WHERE merchant_id = $1 AND mode = $2 AND version = $3
"""
