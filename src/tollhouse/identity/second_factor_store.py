"""Every SQL statement about second factors and their backup codes."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.platform.encryption import Encrypted

STATE = """
    SELECT f.confirmed_at,
           (SELECT count(*) FROM backup_codes b WHERE b.holder_id = f.holder_id AND b.used_at IS NULL) AS codes_left
    FROM second_factors f WHERE f.holder_id = $1 AND f.confirmed_at IS NOT NULL
"""
WAITING = """
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
# Behind this lock the codes of an account are looked at one after another.
LOCK = """
    SELECT key_id, nonce, ciphertext, created_at, confirmed_at FROM second_factors WHERE holder_id = $1 FOR UPDATE
"""
USE_STEP = "UPDATE second_factors SET last_step = $2 WHERE holder_id = $1 AND last_step < $2"
USE_BACKUP_CODE = """
    UPDATE backup_codes SET used_at = $3 WHERE holder_id = $1 AND code_hash = $2 AND used_at IS NULL
"""
CONFIRM = "UPDATE second_factors SET confirmed_at = $2 WHERE holder_id = $1 AND confirmed_at IS NULL"
FORGET_CODES = "DELETE FROM backup_codes WHERE holder_id = $1"
KEEP_CODES = "INSERT INTO backup_codes (holder_id, code_hash) SELECT $1, unnest($2::bytea[])"
REMOVE = "DELETE FROM second_factors WHERE holder_id = $1"
# Whatever is locked by somebody is left for the next time round, so that nobody waits for anybody here.
LOCK_OLD = """
    SELECT holder_id, key_id, nonce, ciphertext FROM second_factors
    WHERE key_id <> $1 AND holder_id > $2 ORDER BY holder_id LIMIT $3 FOR UPDATE SKIP LOCKED
"""
ROTATE = """
    UPDATE second_factors f SET key_id = $1, nonce = anew.nonce, ciphertext = anew.ciphertext
    FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS anew (holder_id, nonce, ciphertext)
    WHERE f.holder_id = anew.holder_id
"""
BY_KEY = "SELECT key_id, count(*) AS count FROM second_factors GROUP BY key_id"


async def state(db: Pool, holder_id: UUID) -> Row | None:
    """Since when there is one, and how many backup codes are left; None where there is none."""
    return await db.fetchrow(STATE, holder_id)


async def waiting(db: Pool, holder_id: UUID, since: datetime) -> Encrypted | None:
    """The secret that waits for its first code since then."""
    return encrypted(await db.fetchrow(WAITING, holder_id, since))


async def enrol(tx: Tx, holder_id: UUID, secret: Encrypted, now: datetime) -> bool:
    """A secret that waits for its first code, in place of any that waited; False where a confirmed one stands."""
    return await tx.execute(ENROL, holder_id, secret.key_id, secret.nonce, secret.ciphertext, now) == 1


async def lock(tx: Tx, holder_id: UUID) -> Row | None:
    """The factor, confirmed or waiting, which nobody else can look at meanwhile."""
    return await tx.fetchrow(LOCK, holder_id)


async def use_step(tx: Tx, holder_id: UUID, step: int) -> bool:
    """Use up the code of these 30 seconds; False when it was, or a later one."""
    return await tx.execute(USE_STEP, holder_id, step) == 1


async def use_backup_code(tx: Tx, holder_id: UUID, code_hash: bytes, now: datetime) -> bool:
    """Use up a backup code; False when it is none, or was used."""
    return await tx.execute(USE_BACKUP_CODE, holder_id, code_hash, now) == 1


async def confirm(tx: Tx, holder_id: UUID, now: datetime) -> None:
    """From now on it is asked for."""
    await tx.execute(CONFIRM, holder_id, now)


async def replace_codes(tx: Tx, holder_id: UUID, hashes: Sequence[bytes]) -> None:
    """These backup codes, and no others."""
    await tx.execute(FORGET_CODES, holder_id)
    await tx.execute(KEEP_CODES, holder_id, list(hashes))


async def remove(tx: Tx, holder_id: UUID) -> bool:
    """Forget the factor and its backup codes; False where there was none."""
    return await tx.execute(REMOVE, holder_id) == 1


def encrypted(row: Row | None) -> Encrypted | None:
    """The sealed secret of a row."""
    return None if row is None else Encrypted(row["key_id"], row["nonce"], row["ciphertext"])
