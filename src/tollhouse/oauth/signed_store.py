"""SQL that counts what was signed by a key of the key ring and is still valid."""

from datetime import datetime

from msgspec import Struct

from tollhouse.platform.database.pool import Pool

# A replaced refresh token must be recognized until its grant expires, so the key of the first token counts.
COUNT_GRANTS_BY_KEY = """
    SELECT g.mac_key_id AS key_id, count(*) AS count, max(g.expires_at) AS last_expires_at
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.mac_key_id IS NOT NULL AND g.revoked_at IS NULL AND g.expires_at > $1 AND g.grant_epoch = c.grant_epoch
    GROUP BY g.mac_key_id
"""
COUNT_FORMS_BY_KEY = """
    SELECT mac_key_id AS key_id, count(*) AS count, max(expires_at) AS last_expires_at
    FROM oauth_requests WHERE decision IS NULL AND expires_at > $1 GROUP BY mac_key_id
"""


class SignedCount(Struct, frozen=True):
    """A number of grants or requests, and when the last one expires."""

    count: int
    last_expires_at: datetime


async def connections_by_key(db: Pool, now: datetime) -> dict[str, SignedCount]:
    """Active grants with refresh tokens, by the key in use when they were created."""
    return await _count_by_key(db, COUNT_GRANTS_BY_KEY, now)


async def forms_by_key(db: Pool, now: datetime) -> dict[str, SignedCount]:
    """Undecided authorization requests, by the key in use when they were created."""
    return await _count_by_key(db, COUNT_FORMS_BY_KEY, now)


async def _count_by_key(db: Pool, statement: str, now: datetime) -> dict[str, SignedCount]:
    return {row["key_id"]: SignedCount(row["count"], row["last_expires_at"]) for row in await db.fetch(statement, now)}
