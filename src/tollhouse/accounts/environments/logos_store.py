"""SQL of uploaded logos."""

from datetime import datetime

from tollhouse.accounts.environments.logos_model import Logo
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Tx

# Changes of a merchant's logos follow each other, so that none is removed while another environment begins to use it.
LOCK_MERCHANT = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
INSERT = """
    INSERT INTO logos (merchant_id, digest, media_type, content, width, height, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (merchant_id, digest) DO NOTHING
"""
OWNS = "SELECT true FROM logos WHERE merchant_id = $1 AND digest = $2"
GET = "SELECT media_type, content, width, height FROM logos WHERE digest = $1 LIMIT 1"
DELETE_UNUSED = """
    DELETE FROM logos l WHERE l.merchant_id = $1 AND NOT EXISTS (
        SELECT FROM merchant_settings s
        WHERE s.merchant_id = $1 AND starts_with(s.branding->>'logo_url', '/logos/' || encode(l.digest, 'hex') || '.'))
"""


async def lock_merchant(tx: Tx, merchant_id: MerchantId) -> None:
    """Wait for other changes of this merchant's logos."""
    await tx.fetchval(LOCK_MERCHANT, merchant_id)


async def insert(tx: Tx, merchant_id: MerchantId, logo: Logo, now: datetime) -> None:
    """Store a logo; nothing happens if the merchant has it already."""
    await tx.execute(INSERT, merchant_id, logo.digest, logo.media_type, logo.content, logo.width, logo.height, now)


async def owns(tx: Tx, merchant_id: MerchantId, digest: bytes) -> bool:
    """Whether the merchant uploaded this logo."""
    return await tx.fetchval(OWNS, merchant_id, digest) is not None


async def get(db: Pool | Tx, digest: bytes) -> Logo | None:
    """A logo of any merchant."""
    row = await db.fetchrow(GET, digest)
    return None if row is None else Logo(row["media_type"], row["content"], row["width"], row["height"])


async def delete_unused(tx: Tx, merchant_id: MerchantId) -> None:
    """Delete the merchant's logos that neither environment uses."""
    await tx.execute(DELETE_UNUSED, merchant_id)
