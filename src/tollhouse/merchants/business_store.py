"""Every SQL statement about what a merchant says of its business."""

from tollhouse.kernel.ids import MerchantId
from tollhouse.merchants.model import Business
from tollhouse.platform.db import Pool, Tx

BUSINESS = "SELECT business_name, time_zone FROM merchants WHERE id = $1"
CHANGE_IF_SAME = """
    UPDATE merchants SET business_name = $2, time_zone = $3
    WHERE id = $1 AND business_name = $4 AND time_zone = $5 AND suspended_at IS NULL
"""


async def business(db: Pool | Tx, merchant_id: MerchantId) -> Business:
    """What is said now."""
    [row] = await db.fetch(BUSINESS, merchant_id)
    return Business(row["business_name"], row["time_zone"])


async def change(tx: Tx, merchant_id: MerchantId, new: Business, seen: Business) -> bool:
    """Say something else, where what was seen is still what is said; False where somebody else was first."""
    said, before = (new.business_name, new.time_zone), (seen.business_name, seen.time_zone)
    return await tx.execute(CHANGE_IF_SAME, merchant_id, *said, *before) == 1
