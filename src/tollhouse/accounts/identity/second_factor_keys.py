"""Key rotation of second factors: re-encryption under the first key of the ring, in small batches while the service runs."""

from collections.abc import Callable
from uuid import UUID

from tollhouse.accounts.identity import second_factor
from tollhouse.accounts.identity import second_factor_store as store
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log.events import log

BATCH = 100
FIRST_ID = UUID(int=0)


async def rotate(db: Pool, keys: KeyRing, notify: Callable[[int], None]) -> int:
    """Re-encrypt every secret under another key; the number of secrets. `notify` gets the running total after each batch.

    Each row is updated atomically, so the rotation can be interrupted. Secrets that no key decrypts are left unchanged.
    """
    total, before = 0, -1
    while total > before:  # repeat while rows were found, since locked rows are skipped
        before = total
        last: UUID | None = FIRST_ID
        while last is not None:
            rotated, last = await _rotate_batch(db, keys, last)
            total += rotated
            if rotated:
                notify(total)
    return total


async def count_by_key(db: Pool) -> dict[str, int]:
    """The number of secrets under each key."""
    return {row["key_id"]: row["count"] for row in await db.fetch(store.COUNT_BY_KEY)}


async def _rotate_batch(db: Pool, keys: KeyRing, after: UUID) -> tuple[int, UUID | None]:
    """The number of re-encrypted secrets and the last ID of the batch, None at the end."""

    async def action(tx: Tx) -> tuple[int, UUID | None]:
        rows = await tx.fetch(store.LOCK_OLD_KEYS, keys.in_use, after, BATCH)
        new = [(row["holder_id"], encrypted) for row in rows if (encrypted := _reencrypt(keys, row)) is not None]
        if new:
            nonces, ciphertexts = [encrypted.nonce for _, encrypted in new], [encrypted.ciphertext for _, encrypted in new]
            await tx.execute(store.REENCRYPT, keys.in_use, [holder_id for holder_id, _ in new], nonces, ciphertexts)
        return len(new), rows[-1]["holder_id"] if rows else None

    return await db.transact(action)


def _reencrypt(keys: KeyRing, row: Row) -> Encrypted | None:
    try:
        return second_factor.rotate(keys, row["holder_id"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))
    except DecryptionError as error:
        log.error("second_factor_not_decrypted", holder_id=str(row["holder_id"]), detail=str(error))
        return None
