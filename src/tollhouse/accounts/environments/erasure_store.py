"""SQL that removes what describes a merchant from its environments."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Tx

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


async def erase(tx: Tx, merchant_id: UUID, now: datetime) -> int:
    """Remove brand, logos and projects' descriptions. Returns the number of logos."""
    await tx.execute(CLEAR_SETTINGS, merchant_id, now)
    await tx.execute(CLEAR_PROJECTS, merchant_id, now)
    return await tx.execute(DELETE_LOGOS, merchant_id)
