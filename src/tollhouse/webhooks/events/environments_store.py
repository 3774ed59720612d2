"""SQL of the webhook configuration of an environment: the saved address and its event types."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Tx

INSERT = "INSERT INTO webhook_environments (merchant_id, mode) VALUES ($1, $2) ON CONFLICT DO NOTHING"
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


async def disable_all(tx: Tx, merchant_id: UUID, now: datetime) -> None:
    """Disable the delivery of a merchant's webhooks in both environments."""
    await tx.execute(DISABLE_ALL, merchant_id, now)
