"""SQL that tells which keys of the ring are still needed for what we once vouched for: refresh tokens and consent forms."""

from datetime import datetime

from msgspec import Struct

from tollhouse.platform.db import Pool

# A replaced refresh token must be known for as long as its grant lives, so the key of the first one counts.
GRANTS = """
    SELECT g.mac_key_id AS key_id, count(*) AS count, max(g.expires_at) AS until
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.mac_key_id IS NOT NULL AND g.revoked_at IS NULL AND g.expires_at > $1 AND g.grant_epoch = c.grant_epoch
    GROUP BY g.mac_key_id
"""
FORMS = """
    SELECT mac_key_id AS key_id, count(*) AS count, max(expires_at) AS until
    FROM oauth_requests WHERE decision IS NULL AND expires_at > $1 GROUP BY mac_key_id
"""


class Need(Struct, frozen=True):
    """How many there are, and when the last of them is over by itself."""

    count: int
    until: datetime


async def connections_by_key(db: Pool, now: datetime) -> dict[str, Need]:
    """Living grants that have or had a refresh token, by the key in use when they began."""
    return {row["key_id"]: Need(row["count"], row["until"]) for row in await db.fetch(GRANTS, now)}


async def forms_by_key(db: Pool, now: datetime) -> dict[str, Need]:
    """Authorization requests that wait for a merchant's answer, by the key in use when they came."""
    return {row["key_id"]: Need(row["count"], row["until"]) for row in await db.fetch(FORMS, now)}
