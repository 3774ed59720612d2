"""SQL of the webhook settings of an environment: the saved address, its event types, delivery and the signing secrets."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Tx

INSERT_ENVIRONMENT = "INSERT INTO webhook_environments (merchant_id, mode) VALUES ($1, $2) ON CONFLICT DO NOTHING"
LOCK = "SELECT merchant_id FROM webhook_environments WHERE merchant_id = $1 AND mode = $2 FOR UPDATE"
SAVE = """
    UPDATE webhook_environments
    SET url = $3, destination_key = $4, event_types = $5, created_at = coalesce(created_at, $7), updated_at = $7,
        delivery_disabled_at = CASE WHEN $6 THEN NULL ELSE coalesce(delivery_disabled_at, $7) END
    WHERE merchant_id = $1 AND mode = $2
"""
ENABLE_DELIVERY = "UPDATE webhook_environments SET delivery_disabled_at = NULL WHERE merchant_id = $1 AND mode = $2"
DISABLE_DELIVERY = """
    UPDATE webhook_environments SET delivery_disabled_at = coalesce(delivery_disabled_at, $3)
    WHERE merchant_id = $1 AND mode = $2
"""
DISABLE_ALL = """
    UPDATE webhook_environments SET delivery_disabled_at = coalesce(delivery_disabled_at, $2) WHERE merchant_id = $1
"""

# Every change of a secret requires the lock on the environment's row.
ACTIVE = """
    SELECT activated_at FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active'
"""
PENDING = """
    SELECT version FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'pending' AND created_at > $3
"""
SIGNING = """
    SELECT version, key_id, nonce, ciphertext FROM webhook_secrets
    WHERE merchant_id = $1 AND mode = $2 AND (state = 'active' OR signs_until > $3)
    ORDER BY state = 'active' DESC
"""
NEXT_VERSION = """
    SELECT coalesce(max(version), 0) + 1 AS version FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2
"""
RETIRE = """
    UPDATE webhook_secrets SET state = 'retired', retired_at = $4, signs_until = $5
    WHERE merchant_id = $1 AND mode = $2 AND state = $3
"""
END_OVERLAP = """
    UPDATE webhook_secrets SET signs_until = NULL WHERE merchant_id = $1 AND mode = $2 AND signs_until IS NOT NULL
"""
INSERT = """
    INSERT INTO webhook_secrets (merchant_id, mode, version, state, key_id, nonce, ciphertext, created_at, activated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE $4::text WHEN 'active' THEN $8::timestamptz END)
"""
ACTIVATE = """
    UPDATE webhook_secrets SET state = 'active', activated_at = $4 WHERE merchant_id = $1 AND mode = $2 AND version = $3
"""
# Locked rows are skipped and found by the next round.
LOCK_OLD_KEYS = """
    SELECT merchant_id, mode, version, key_id, nonce, ciphertext FROM webhook_secrets
    WHERE key_id <> $1 AND (merchant_id, mode, version) > ($2, $3, $4)
    ORDER BY merchant_id, mode, version LIMIT $5 FOR UPDATE SKIP LOCKED
"""
REENCRYPT = """
    UPDATE webhook_secrets s SET key_id = $1, nonce = new.nonce, ciphertext = new.ciphertext
    FROM unnest($2::uuid[], $3::text[], $4::int[], $5::bytea[], $6::bytea[])
         AS new (merchant_id, mode, version, nonce, ciphertext)
    WHERE s.merchant_id = new.merchant_id AND s.mode = new.mode AND s.version = new.version
"""
COUNT_BY_KEY = "SELECT key_id, count(*) AS count FROM webhook_secrets GROUP BY key_id"


async def disable_all(tx: Tx, merchant_id: UUID, now: datetime) -> None:
    """Disable the delivery of a merchant's webhooks in both environments."""
    await tx.execute(DISABLE_ALL, merchant_id, now)
