"""SQL of emails that announce the expiry of connections."""

from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import GrantId, MerchantId
from tollhouse.platform.database.pool import Tx

# Each once, whoever looks. Not one that the merchant renewed: by a later connection that may do as much.
# What lasts no longer than the time of the reminder needs none.
CLAIM_EXPIRING = """
    UPDATE oauth_grants g SET reminded_at = $1 FROM oauth_clients c
    WHERE c.id = g.client_id AND g.id IN (
        SELECT d.id FROM oauth_grants d JOIN oauth_clients a ON a.id = d.client_id
        WHERE d.revoked_at IS NULL AND d.expiry_noted_at IS NULL AND d.expires_at > $1 AND d.expires_at <= $2
          AND d.mode = 'live' AND d.reminded_at IS NULL AND d.created_at + ($2 - $1) < d.expires_at
          AND d.grant_epoch = a.grant_epoch AND a.status = 'enabled' AND a.suspended_at IS NULL
          AND NOT EXISTS (
            SELECT FROM oauth_grants later
            WHERE later.merchant_id = d.merchant_id AND later.client_id = d.client_id AND later.mode = d.mode
              AND later.resource = d.resource AND later.created_at > d.created_at AND later.expires_at > d.expires_at
              AND later.grant_epoch = a.grant_epoch AND later.revoked_at IS NULL AND d.scope_mask & ~later.scope_mask = 0)
        ORDER BY d.expires_at LIMIT $3 FOR NO KEY UPDATE OF d SKIP LOCKED)
    RETURNING g.id AS grant_id, g.merchant_id, c.name, g.expires_at
"""


class ExpiringConnection(Struct, frozen=True):
    """A live connection that expires soon, with the name of its application."""

    grant_id: GrantId
    merchant_id: MerchantId
    name: str
    expires_at: datetime

    @property
    def env(self) -> MerchantEnv:
        """The environment of the connection."""
        return MerchantEnv(self.merchant_id, "live")


async def claim_expiring(tx: Tx, now: datetime, until: datetime, limit: int) -> list[ExpiringConnection]:
    """Claim live connections that expire until then, for the transaction that enqueues their emails."""
    return [ExpiringConnection(**row) for row in await tx.fetch(CLAIM_EXPIRING, now, until, limit)]
