"""SQL of the filters that users have saved."""

from datetime import datetime
from urllib.parse import quote_plus
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode, UserId
from tollhouse.platform.database.pool import Pool, Tx

PER_LIST_MAX = 20

LIST = """
    SELECT id, list_name, name, query FROM saved_filters
    WHERE user_id = $1 AND mode = $2 AND ($3::text IS NULL OR list_name = $3) ORDER BY list_name, lower(name), id
"""
# Requests of a user save and rename one after the other.
LOCK_USER = "SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE"
SAVE = """
    INSERT INTO saved_filters (id, user_id, mode, list_name, name, query, created_at)
    SELECT $1, $2, $3, $4, $5, $6, $7
    WHERE (SELECT count(*) FROM saved_filters WHERE user_id = $2 AND mode = $3 AND list_name = $4 AND name <> $5) < $8
    ON CONFLICT (user_id, mode, list_name, name) DO UPDATE SET query = excluded.query
"""
# Whether another filter of the same list has the name.
IS_TAKEN = """
    SELECT EXISTS (
        SELECT FROM saved_filters one JOIN saved_filters other USING (user_id, mode, list_name)
        WHERE user_id = $1 AND mode = $2 AND one.id = $3 AND other.id <> $3 AND other.name = $4)
"""
RENAME = "UPDATE saved_filters SET name = $4 WHERE user_id = $1 AND mode = $2 AND id = $3"
DELETE = "DELETE FROM saved_filters WHERE user_id = $1 AND mode = $2 AND id = $3"
DELETE_OF_USER = "DELETE FROM saved_filters WHERE user_id = $1"
# A whole value of the query, as it is typed or as it is encoded, so that no longer text with the same end is found.
DELETE_CONTAINING = """
    DELETE FROM saved_filters
    WHERE strpos('&' || lower(query) || '&', '=' || lower($1) || '&') > 0
       OR strpos('&' || lower(query) || '&', '=' || lower($2) || '&') > 0 OR lower(name) = lower($1)
"""


class SavedFilter(Struct, frozen=True):
    """A saved filter: the name of the list, its own, and the query string."""

    id: UUID
    list_name: str
    name: str
    query: str


async def list_filters(db: Pool, user_id: UserId, mode: Mode, list_name: str | None = None) -> list[SavedFilter]:
    """The saved filters of this list, or of all lists."""
    return [SavedFilter(**row) for row in await db.fetch(LIST, user_id, mode, list_name)]


async def save(tx: Tx, user_id: UserId, mode: Mode, new: SavedFilter, now: datetime) -> bool:
    """Save a filter, in place of one with its name. False if the list has `PER_LIST_MAX` others."""
    await tx.execute(LOCK_USER, user_id)
    return await tx.execute(SAVE, new.id, user_id, mode, new.list_name, new.name, new.query, now, PER_LIST_MAX) == 1


async def rename(tx: Tx, user_id: UserId, mode: Mode, filter_id: UUID, name: str) -> bool:
    """Change the name; a filter that is gone stays gone. False if another one of the list has the name."""
    await tx.execute(LOCK_USER, user_id)
    if await tx.fetchval(IS_TAKEN, user_id, mode, filter_id, name):
        return False
    await tx.execute(RENAME, user_id, mode, filter_id, name)
    return True


async def delete(tx: Tx, user_id: UserId, mode: Mode, filter_id: UUID) -> None:
    """Delete a filter, if it is there."""
    await tx.execute(DELETE, user_id, mode, filter_id)


async def delete_of_user(tx: Tx, user_id: UUID) -> int:
    """Delete the filters of a user. Returns their number."""
    return await tx.execute(DELETE_OF_USER, user_id)


async def delete_containing(tx: Tx, text: str) -> int:
    """Delete the filters of all users that have this text as a value or as their name. Returns their number."""
    return await tx.execute(DELETE_CONTAINING, text, quote_plus(text))
