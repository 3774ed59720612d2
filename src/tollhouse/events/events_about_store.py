"""Which events told of one object, found by the moments at which something happened to it: for the page that shows it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool

# An event is of the same moment as the deed it tells, and the moments lead through the index that every event is in.
OF_SOURCE = """
    SELECT id, type, status, created_at FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND created_at = ANY ($3::timestamptz[]) AND source_type = $4 AND source_id = $5
    ORDER BY created_at, id
"""


class Told(Struct, frozen=True):
    """One event, and how far its delivery is."""

    id: UUID
    type: str
    status: str
    created_at: datetime


async def of_source(
    db: Pool, env: MerchantEnv, source_type: str, source_id: UUID, moments: Sequence[datetime]
) -> list[Told]:
    """The events that told of this object at these moments, oldest first; those that are still kept."""
    rows = await db.fetch(OF_SOURCE, env.merchant_id, env.mode, moments, source_type, source_id)
    return [Told(row["id"], row["type"], row["status"], row["created_at"]) for row in rows]
