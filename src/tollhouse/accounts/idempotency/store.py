"""SQL of idempotency keys."""

from tollhouse.platform.database.batched_store import for_many
from tollhouse.platform.database.claims import ClaimStatements

CLAIM = """
    INSERT INTO idempotency_keys (merchant_id, mode, caller, key_hash, fingerprint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""
READ = """
    SELECT fingerprint, status, answer FROM idempotency_keys
    WHERE merchant_id = $1 AND mode = $2 AND caller = $3 AND key_hash = $4
"""
READ_MANY = for_many(READ, "uuid", "text", "text", "bytea")
# Claims a key and stores the response.
STORE = "SELECT idempotency_keys_store($1, $2, $3, $4, $7, $5, $6, $8)"
STORE_RESPONSE = """
    UPDATE idempotency_keys SET status = $5, answer = $6
    WHERE merchant_id = $1 AND mode = $2 AND caller = $3 AND key_hash = $4
"""
CLAIMS = ClaimStatements(find=READ, find_many=READ_MANY, claim=CLAIM, complete=STORE_RESPONSE, claim_completed=STORE)
# Older than `$1`, at most `$2` at a time.
DELETE_OLD = """
    DELETE FROM idempotency_keys WHERE (merchant_id, mode, caller, key_hash) IN (
        SELECT merchant_id, mode, caller, key_hash FROM idempotency_keys WHERE created_at <= $1
        ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
