"""Every SQL statement about the business settings of a merchant."""

from datetime import datetime

from msgspec.structs import astuple

from tollhouse.accounts.environments.legal_details import LEGAL_FIELDS, LegalDetails
from tollhouse.accounts.merchants.model import Business
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Tx

GET = """
    SELECT business_name, time_zone, legal_name, address_line1, address_line2, postal_code, city, country, tax_id,
           register_entry
    FROM merchants WHERE id = $1
"""
UPDATE_IF_UNCHANGED = """
    UPDATE merchants SET business_name = $2, time_zone = $3, legal_name = $4, address_line1 = $5, address_line2 = $6,
        postal_code = $7, city = $8, country = $9, tax_id = $10, register_entry = $11
    WHERE id = $1 AND suspended_at IS NULL AND (business_name, time_zone, legal_name, address_line1, address_line2,
        postal_code, city, country, tax_id, register_entry) = ($12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
"""

CLOSE = """
    UPDATE merchants SET closed_at = $2, business_name = 'Erased merchant', legal_name = '', address_line1 = '',
        address_line2 = '', postal_code = '', city = '', country = '', tax_id = '', register_entry = ''
    WHERE id = $1
"""


async def get(db: Pool | Tx, merchant_id: MerchantId) -> Business:
    """The current settings."""
    [row] = await db.fetch(GET, merchant_id)
    legal = LegalDetails(**{name: row[name] for name in LEGAL_FIELDS})
    return Business(row["business_name"], row["time_zone"], legal)


async def update(tx: Tx, merchant_id: MerchantId, new: Business, seen: Business) -> bool:
    """Save the settings; False if they are no longer as `seen`."""
    return await tx.execute(UPDATE_IF_UNCHANGED, merchant_id, *_values(new), *_values(seen)) == 1


async def close(tx: Tx, merchant_id: MerchantId, now: datetime) -> None:
    """Close a suspended merchant and remove its name and address."""
    await tx.execute(CLOSE, merchant_id, now)


def _values(business: Business) -> tuple[object, ...]:
    return (business.business_name, business.time_zone, *astuple(business.legal))
