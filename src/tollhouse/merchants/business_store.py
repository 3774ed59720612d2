"""Every SQL statement about the business settings of a merchant."""

from tollhouse.kernel.ids import MerchantId
from tollhouse.merchants.model import Business
from tollhouse.platform.db import Pool, Tx

GET = "SELECT business_name, time_zone FROM merchants WHERE id = $1"
UPDATE_IF_UNCHANGED = """
    UPDATE merchants SET business_name = $2, time_zone = $3
    WHERE id = $1 AND business_name = $4 AND time_zone = $5 AND suspended_at IS NULL
"""


async def get(db: Pool | Tx, merchant_id: MerchantId) -> Business:
    """The current settings."""
    [row] = await db.fetch(GET, merchant_id)
    return Business(row["business_name"], row["time_zone"])


async def update(tx: Tx, merchant_id: MerchantId, new: Business, seen: Business) -> bool:
    """Save the settings; False if they are no longer as `seen`."""
    values, seen_values = (new.business_name, new.time_zone), (seen.business_name, seen.time_zone)
    return await tx.execute(UPDATE_IF_UNCHANGED, merchant_id, *values, *seen_values) == 1
