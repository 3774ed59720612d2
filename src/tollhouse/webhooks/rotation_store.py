"""SQL of sealing secrets anew under another key."""

# Whatever is locked by somebody is left for the next time round, so that nobody waits for anybody here.
LOCK_OLD = """
    SELECT merchant_id, mode, version, key_id, nonce, ciphertext FROM webhook_secrets
    WHERE key_id <> $1 AND (merchant_id, mode, version) > ($2, $3, $4)
    ORDER BY merchant_id, mode, version LIMIT $5 FOR UPDATE SKIP LOCKED
"""
ROTATE = """
    UPDATE webhook_secrets s SET key_id = $1, nonce = anew.nonce, ciphertext = anew.ciphertext
    FROM unnest($2::uuid[], $3::text[], $4::int[], $5::bytea[], $6::bytea[])
         AS anew (merchant_id, mode, version, nonce, ciphertext)
    WHERE s.merchant_id = anew.merchant_id AND s.mode = anew.mode AND s.version = anew.version
"""
BY_KEY = "SELECT key_id, count(*) AS count FROM webhook_secrets GROUP BY key_id"
