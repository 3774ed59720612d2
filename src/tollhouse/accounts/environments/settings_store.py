"""SQL of payment settings and uploaded logos, and of their erasure."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.accounts.environments.logos_model import Logo
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx

COLUMNS = """version, default_currency, payment_methods, link_expiry_minutes, underpayment_tolerance_bps, overpayment,
           late_payments, late_monitoring_days, success_url, cancel_url, branding, confirmations, updated_at,
           additional_currencies, settlement"""
SIGNS_WEBHOOKS = "SELECT FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active'"
SETTINGS = f"SELECT {COLUMNS} FROM merchant_settings WHERE merchant_id = $1 AND mode = $2"
# $3 to $17 are the values of the record; of these, $16 is the version that was read: 1 without a row. Both branches are
# compare-and-set.
SAVE = """
    INSERT INTO merchant_settings AS s (merchant_id, mode, default_currency, payment_methods, link_expiry_minutes,
                                   underpayment_tolerance_bps, overpayment, late_payments, late_monitoring_days,
                                   success_url, cancel_url, branding, confirmations, additional_currencies, settlement,
                                   version, updated_at)
    SELECT $1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10, $11, $12::jsonb, $13::jsonb, $14, $15, 2, $17
    WHERE $16 = 1 OR EXISTS (SELECT FROM merchant_settings WHERE merchant_id = $1 AND mode = $2)
    ON CONFLICT (merchant_id, mode) DO UPDATE SET
        version = s.version + 1, default_currency = excluded.default_currency,
        payment_methods = excluded.payment_methods, link_expiry_minutes = excluded.link_expiry_minutes,
        underpayment_tolerance_bps = excluded.underpayment_tolerance_bps, overpayment = excluded.overpayment,
        late_payments = excluded.late_payments, late_monitoring_days = excluded.late_monitoring_days,
        success_url = excluded.success_url, cancel_url = excluded.cancel_url, branding = excluded.branding,
        confirmations = excluded.confirmations, updated_at = excluded.updated_at,
        additional_currencies = excluded.additional_currencies, settlement = excluded.settlement
    WHERE s.version = $16
    RETURNING version
"""

# Changes of a merchant's logos follow each other, so that none is removed while another environment begins to use it.
LOCK_MERCHANT = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
INSERT_LOGO = """
    INSERT INTO logos (merchant_id, digest, media_type, content, width, height, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (merchant_id, digest) DO NOTHING
"""
OWNS_LOGO = "SELECT true FROM logos WHERE merchant_id = $1 AND digest = $2"
GET_LOGO = "SELECT media_type, content, width, height FROM logos WHERE digest = $1 LIMIT 1"
DELETE_UNUSED_LOGOS = """
    DELETE FROM logos l WHERE l.merchant_id = $1 AND NOT EXISTS (
        SELECT FROM merchant_settings s
        WHERE s.merchant_id = $1 AND starts_with(s.branding->>'logo_url', '/logos/' || encode(l.digest, 'hex') || '.'))
"""

CLEAR_SETTINGS = """
    UPDATE merchant_settings
    SET branding = '{}', success_url = NULL, cancel_url = NULL, version = version + 1, updated_at = $2
    WHERE merchant_id = $1
"""
CLEAR_PROJECTS = """
    UPDATE projects SET name = 'Erased', website_url = NULL, description = NULL, rejected_because = NULL, updated_at = $2,
        pending_changes = NULL, changes_rejected_because = NULL
    WHERE merchant_id = $1
"""
DELETE_LOGOS = "DELETE FROM logos WHERE merchant_id = $1"


async def get(db: Pool | Tx, env: MerchantEnv) -> Row | None:
    """The stored settings, if any."""
    return await db.read_row(SETTINGS, env.merchant_id, env.mode)


async def has_signing_secret(db: Pool | Tx, env: MerchantEnv) -> bool:
    """Whether a secret signs the webhooks of this environment."""
    return await db.fetchrow(SIGNS_WEBHOOKS, env.merchant_id, env.mode) is not None


async def save(tx: Tx, env: MerchantEnv, values: Sequence[object]) -> int | None:
    """Replace the settings by the values of the record if its version is current. Returns the new version, or None."""
    row = await tx.fetchrow(SAVE, env.merchant_id, env.mode, *values)
    return None if row is None else row["version"]


async def lock_merchant(tx: Tx, merchant_id: MerchantId) -> None:
    """Wait for other changes of this merchant's logos."""
    await tx.fetchval(LOCK_MERCHANT, merchant_id)


async def insert_logo(tx: Tx, merchant_id: MerchantId, logo: Logo, now: datetime) -> None:
    """Store a logo; nothing happens if the merchant has it already."""
    await tx.execute(INSERT_LOGO, merchant_id, logo.digest, logo.media_type, logo.content, logo.width, logo.height, now)


async def owns_logo(tx: Tx, merchant_id: MerchantId, digest: bytes) -> bool:
    """Whether the merchant uploaded this logo."""
    return await tx.fetchval(OWNS_LOGO, merchant_id, digest) is not None


async def get_logo(db: Pool | Tx, digest: bytes) -> Logo | None:
    """A logo of any merchant."""
    row = await db.fetchrow(GET_LOGO, digest)
    return None if row is None else Logo(row["media_type"], row["content"], row["width"], row["height"])


async def delete_unused_logos(tx: Tx, merchant_id: MerchantId) -> None:
    """Delete the merchant's logos that neither environment uses."""
    await tx.execute(DELETE_UNUSED_LOGOS, merchant_id)


async def erase(tx: Tx, merchant_id: UUID, now: datetime) -> int:
    """Remove brand, logos and projects' descriptions. Returns the number of logos."""
    await tx.execute(CLEAR_SETTINGS, merchant_id, now)
    await tx.execute(CLEAR_PROJECTS, merchant_id, now)
    return await tx.execute(DELETE_LOGOS, merchant_id)
