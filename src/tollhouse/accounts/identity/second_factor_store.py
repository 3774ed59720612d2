"""Every SQL statement about second factors and their backup codes. `holder_id` is a user or an operator."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import Encrypted

STATE = """
    SELECT f.confirmed_at, p.passkeys,
           (SELECT count(*) FROM backup_codes b WHERE b.holder_id = $1 AND b.used_at IS NULL) AS codes_left
    FROM (SELECT count(*) AS passkeys FROM passkeys WHERE holder_id = $1) p
    LEFT JOIN second_factors f ON f.holder_id = $1 AND f.confirmed_at IS NOT NULL
    WHERE f.holder_id IS NOT NULL OR p.passkeys > 0
"""
HAS_ANY = "SELECT has_second_factor($1)"
PENDING = """
    SELECT key_id, nonce, ciphertext FROM second_factors
    WHERE holder_id = $1 AND confirmed_at IS NULL AND created_at > $2
"""
ENROL = """
    INSERT INTO second_factors (holder_id, key_id, nonce, ciphertext, created_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (holder_id) DO UPDATE
        SET key_id = excluded.key_id, nonce = excluded.nonce, ciphertext = excluded.ciphertext, last_step = 0,
            created_at = excluded.created_at
        WHERE second_factors.confirmed_at IS NULL
"""
# Serializes the verification of an account's codes.
LOCK = """
    SELECT key_id, nonce, ciphertext, created_at, confirmed_at FROM second_factors WHERE holder_id = $1 FOR UPDATE
"""
LOCK_PASSKEYS = "SELECT true FROM passkeys WHERE holder_id = $1 ORDER BY id FOR UPDATE"
USE_STEP = "UPDATE second_factors SET last_step = $2 WHERE holder_id = $1 AND last_step < $2"
USE_BACKUP_CODE = """
    UPDATE backup_codes SET used_at = $3 WHERE holder_id = $1 AND code_hash = $2 AND used_at IS NULL
"""
CONFIRM = "UPDATE second_factors SET confirmed_at = $2 WHERE holder_id = $1 AND confirmed_at IS NULL"
DELETE_CODES = "DELETE FROM backup_codes WHERE holder_id = $1"
INSERT_CODES = "INSERT INTO backup_codes (holder_id, code_hash) SELECT $1, unnest($2::bytea[])"
REMOVE_AUTHENTICATOR = "DELETE FROM second_factors WHERE holder_id = $1"
REMOVE_PASSKEYS = "DELETE FROM passkeys WHERE holder_id = $1"
DELETE_UNPROTECTED_CODES = "DELETE FROM backup_codes WHERE holder_id = $1 AND NOT has_second_factor($1)"
REQUIRING = """
    SELECT business_name, second_factors_required_at IS NOT NULL AS is_required FROM merchants
    WHERE closed_at IS NULL AND id IN (SELECT merchant_id FROM members WHERE user_id = $1 AND removed_at IS NULL)
    ORDER BY id
"""
# Requiring second factors waits, and then sees what was removed; or it is seen here.
LOCK_REQUIRING = f"{REQUIRING} FOR SHARE"
# Locked rows are left to the next round.
LOCK_OLD_KEYS = """
    SELECT holder_id, key_id, nonce, ciphertext FROM second_factors
    WHERE key_id <> $1 AND holder_id > $2 ORDER BY holder_id LIMIT $3 FOR UPDATE SKIP LOCKED
"""
REENCRYPT = """
    UPDATE second_factors f SET key_id = $1, nonce = new.nonce, ciphertext = new.ciphertext
    FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS new (holder_id, nonce, ciphertext)
    WHERE f.holder_id = new.holder_id
"""
COUNT_BY_KEY = "SELECT key_id, count(*) AS count FROM second_factors GROUP BY key_id"


async def state(db: Pool | Tx, holder_id: UUID) -> Row | None:
    """`confirmed_at` of the authenticator, the number of `passkeys`, and `codes_left`; None if there is neither."""
    return await db.fetchrow(STATE, holder_id)


async def has_any(tx: Tx, holder_id: UUID) -> bool:
    """Whether the account has two-factor authentication."""
    return bool(await tx.fetchval(HAS_ANY, holder_id))


async def find_requiring(db: Pool | Tx, user_id: UUID, *, lock: bool) -> str | None:
    """The name of a merchant of a user that requires second factors; `lock` keeps what all of them require."""
    rows = await db.fetch(LOCK_REQUIRING if lock else REQUIRING, user_id)
    return next((row["business_name"] for row in rows if row["is_required"]), None)


async def pending_secret(db: Pool, holder_id: UUID, since: datetime) -> Encrypted | None:
    """The secret that was created after `since` and not confirmed."""
    return encrypted(await db.fetchrow(PENDING, holder_id, since))


async def enrol(tx: Tx, holder_id: UUID, secret: Encrypted, now: datetime) -> bool:
    """Store a pending secret in place of an earlier one; False if a factor is active."""
    return await tx.execute(ENROL, holder_id, secret.key_id, secret.nonce, secret.ciphertext, now) == 1


async def lock(tx: Tx, holder_id: UUID) -> Row | None:
    """Lock the factor, active or pending, and return it."""
    return await tx.fetchrow(LOCK, holder_id)


async def lock_passkeys(tx: Tx, holder_id: UUID) -> bool:
    """Lock the passkeys of an account; False if it has none."""
    return bool(await tx.fetch(LOCK_PASSKEYS, holder_id))


async def use_step(tx: Tx, holder_id: UUID, step: int) -> bool:
    """Use the code of a time step; False if it or a later one was used."""
    return await tx.execute(USE_STEP, holder_id, step) == 1


async def use_backup_code(tx: Tx, holder_id: UUID, code_hash: bytes, now: datetime) -> bool:
    """Use a backup code; False if it is unknown or used."""
    return await tx.execute(USE_BACKUP_CODE, holder_id, code_hash, now) == 1


async def confirm(tx: Tx, holder_id: UUID, now: datetime) -> None:
    """Activate the pending secret."""
    await tx.execute(CONFIRM, holder_id, now)


async def replace_codes(tx: Tx, holder_id: UUID, hashes: Sequence[bytes]) -> None:
    """Replace all backup codes."""
    await tx.execute(DELETE_CODES, holder_id)
    await tx.execute(INSERT_CODES, holder_id, list(hashes))


async def remove(tx: Tx, holder_id: UUID) -> bool:
    """Delete authenticator, passkeys and backup codes; False if there was none of the first two."""
    removed = await tx.execute(REMOVE_AUTHENTICATOR, holder_id) + await tx.execute(REMOVE_PASSKEYS, holder_id)
    await tx.execute(DELETE_CODES, holder_id)
    return removed > 0


async def remove_authenticator(tx: Tx, holder_id: UUID) -> None:
    """Delete the authenticator, and the backup codes unless there are passkeys."""
    await tx.execute(REMOVE_AUTHENTICATOR, holder_id)
    await delete_unprotected_codes(tx, holder_id)


async def delete_unprotected_codes(tx: Tx, holder_id: UUID) -> bool:
    """Delete the backup codes of an account that has neither authenticator nor passkeys; whether it had some."""
    return await tx.execute(DELETE_UNPROTECTED_CODES, holder_id) > 0


def encrypted(row: Row | None) -> Encrypted | None:
    """The encrypted secret of a row."""
    return None if row is None else Encrypted.in_row(row)
