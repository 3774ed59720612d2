"""Sealing second factors anew under the first key of the ring, in small batches, while everything else goes on."""

from collections.abc import Callable
from uuid import UUID

from tollhouse.identity import second_factor
from tollhouse.identity import second_factor_store as store
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log import log

BATCH = 100
BEFORE_ALL = UUID(int=0)


async def rotate(db: Pool, keys: KeyRing, notify: Callable[[int], None]) -> int:
    """Seal anew whatever is under another key; how many there were. `notify` hears that after each batch.

    Killed anywhere, it leaves every secret whole under one key or the other. What no key of the ring opens stays as it is.
    """
    total, before = 0, -1
    while total > before:  # once more after every round that found something: a row may have been locked by somebody
        before = total
        last: UUID | None = BEFORE_ALL
        while last is not None:
            rotated, last = await _rotate_batch(db, keys, last)
            total += rotated
            if rotated:
                notify(total)
    return total


async def encrypted_by_key(db: Pool) -> dict[str, int]:
    """How many are sealed under each key."""
    return {row["key_id"]: row["count"] for row in await db.fetch(store.BY_KEY)}


async def _rotate_batch(db: Pool, keys: KeyRing, after: UUID) -> tuple[int, UUID | None]:
    """How many were sealed anew, and where the next batch begins; None at the end."""

    async def action(tx: Tx) -> tuple[int, UUID | None]:
        rows = await tx.fetch(store.LOCK_OLD, keys.in_use, after, BATCH)
        anew = [(row["holder_id"], encrypted) for row in rows if (encrypted := _reencrypted(keys, row)) is not None]
        if anew:
            nonces, ciphertexts = [encrypted.nonce for _, encrypted in anew], [encrypted.ciphertext for _, encrypted in anew]
            await tx.execute(store.ROTATE, keys.in_use, [holder_id for holder_id, _ in anew], nonces, ciphertexts)
        return len(anew), rows[-1]["holder_id"] if rows else None

    return await db.transact(action)


def _reencrypted(keys: KeyRing, row: Row) -> Encrypted | None:
    try:
        return second_factor.rotate(keys, row["holder_id"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))
    except DecryptionError as fault:
        log.error("cannot open a second factor", holder_id=str(row["holder_id"]), detail=str(fault))
        return None
