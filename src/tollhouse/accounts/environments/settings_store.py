"""SQL of payment settings."""

from collections.abc import Sequence

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Row, Tx

COLUMNS = """version, default_currency, payment_methods, link_expiry_minutes, underpayment_tolerance_bps, overpayment,
           late_payments, late_monitoring_days, success_url, cancel_url, branding, confirmations, updated_at,
           additional_currencies, settlement"""
SIGNS_WEBHOOKS = "SELECT FROM webhook_secrets WHERE merchant_id = $1 AND mode = $2 AND state = 'active'"
SETTINGS = f"SELECT {COLUMNS} FROM merchant_settings WHERE merchant_id = $1 AND mode = $2"
# $3 is the version that was read; 1 without a row. Both branches are compare-and-set.
SAVE = """
    INSERT INTO merchant_settings AS s (merchant_id, mode, version, default_currency, payment_methods, link_expiry_minutes,
                                   underpayment_tolerance_bps, overpayment, late_payments, late_monitoring_days,
                                   success_url, cancel_url, branding, confirmations, updated_at, additional_currencies,
                                   settlement)
    SELECT $1, $2, 2, $4, $5::jsonb, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, $14::jsonb, $15, $16, $17
    WHERE $3 = 1 OR EXISTS (SELECT FROM merchant_settings WHERE merchant_id = $1 AND mode = $2)
    ON CONFLICT (merchant_id, mode) DO UPDATE SET
        version = s.version + 1, default_currency = excluded.default_currency,
        payment_methods = excluded.payment_methods, link_expiry_minutes = excluded.link_expiry_minutes,
        underpayment_tolerance_bps = excluded.underpayment_tolerance_bps, overpayment = excluded.overpayment,
        late_payments = excluded.late_payments, late_monitoring_days = excluded.late_monitoring_days,
        success_url = excluded.success_url, cancel_url = excluded.cancel_url, branding = excluded.branding,
        confirmations = excluded.confirmations, updated_at = excluded.updated_at,
        additional_currencies = excluded.additional_currencies, settlement = excluded.settlement
    WHERE s.version = $3
    RETURNING version
"""


async def get(db: Pool | Tx, env: MerchantEnv) -> Row | None:
    """The stored settings, if any."""
    return await db.read_row(SETTINGS, env.merchant_id, env.mode)


async def has_signing_secret(db: Pool | Tx, env: MerchantEnv) -> bool:
    """Whether a secret signs the webhooks of this environment."""
    return await db.fetchrow(SIGNS_WEBHOOKS, env.merchant_id, env.mode) is not None


async def save(tx: Tx, env: MerchantEnv, version: int, facts: Sequence[object]) -> int | None:
    """Replace the settings if `version` is current. Returns the new version, or None."""
    row = await tx.fetchrow(SAVE, env.merchant_id, env.mode, version, *facts)
    return None if row is None else row["version"]
