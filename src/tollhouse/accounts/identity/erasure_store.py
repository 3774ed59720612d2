"""SQL that deletes a user with everything that is the user's own."""

from uuid import UUID

from tollhouse.platform.database.pool import Tx

DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = $1"
DELETE_DEVICES = "DELETE FROM known_devices WHERE user_id = $1"
DELETE_FACTOR = "DELETE FROM second_factors WHERE holder_id = $1"
DELETE_CODES = "DELETE FROM backup_codes WHERE holder_id = $1"
DELETE_USER = "DELETE FROM users WHERE id = $1"
STATEMENTS = {
    "sessions": DELETE_SESSIONS,
    "known_devices": DELETE_DEVICES,
    "second_factors": DELETE_FACTOR,
    "backup_codes": DELETE_CODES,
    "users": DELETE_USER,
}


async def delete_user(tx: Tx, user_id: UUID) -> dict[str, int]:
    """Delete a user without emails and saved filters. Returns the number of rows by table."""
    return {table: await tx.execute(sql, user_id) for table, sql in STATEMENTS.items()}
