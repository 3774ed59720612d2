"""SQL of re-encrypting signing secrets."""

# Locked rows are skipped and found by the next round.
LOCK_OLD = """
    SELECT merchant_id, mode, version, key_id, nonce, ciphertext FROM webhook_secrets
    WHERE key_id <> $1 AND (merchant_id, mode, version) > ($2, $3, $4)
    ORDER BY merchant_id, mode, version LIMIT $5 FOR UPDATE SKIP LOCKED
"""
ROTATE = """
    UPDATE webhook_secrets s SET key_id = $1, nonce = new.nonce, ciphertext = new.ciphertext
    FROM unnest($2::uuid[], $3::text[], $4::int[], $5::bytea[], $6::bytea[])
         AS new (merchant_id, mode, version, nonce, ciphertext)
    WHERE s.merchant_id = new.merchant_id AND s.mode = new.mode AND s.version = new.version
"""
BY_KEY = "SELECT key_id, count(*) AS count FROM webhook_secrets GROUP BY key_id"
