"""SQL of the keys that this database was used with."""

ALL = "SELECT key_id, check_value, given_up_at FROM secret_keys ORDER BY created_at, key_id"
ADD = "INSERT INTO secret_keys (key_id, check_value, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
GIVE_UP = """
    INSERT INTO secret_keys (key_id, check_value, created_at, given_up_at) VALUES ($1, $2, $3, $3)
    ON CONFLICT (key_id) DO UPDATE SET given_up_at = EXCLUDED.given_up_at
"""
ENCRYPTED_UNDER = (
    "SELECT merchant_id, mode, version, key_id, nonce, ciphertext FROM webhook_secrets WHERE key_id = $1 LIMIT 1"
)
"""A sealed value shows whether a key of this id is the right one, where no check value was kept yet."""
