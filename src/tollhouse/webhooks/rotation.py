"""Sealing signing secrets anew under the first key of the ring, in small batches, while everything else goes on."""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from tollhouse.events import secrets
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log import log
from tollhouse.webhooks import rotation_store

BATCH = 100
Place = tuple[UUID, str, int]
BEFORE_ALL: Place = (UUID(int=0), "", 0)


class Batch(Struct, frozen=True):
    """How many were sealed anew, and where the next batch begins; None at the end."""

    rotated: int
    last: Place | None


async def rotate(db: Pool, keys: KeyRing, notify: Callable[[int], None]) -> int:
    """Seal anew whatever is under another key; how many there were. `notify` hears that after each batch.

    Killed anywhere, it leaves every secret whole under one key or the other. What no key of the ring opens stays as it is.
    """
    total, before = 0, -1
    while total > before:  # once more after every round that found something: a row may have been locked by somebody
        before = total
        place: Place | None = BEFORE_ALL
        while place is not None:
            batch = await _rotate_batch(db, keys, place)
            total, place = total + batch.rotated, batch.last
            if batch.rotated:
                notify(total)
    return total


async def encrypted_by_key(db: Pool) -> dict[str, int]:
    """How many secrets are sealed under each key."""
    return {row["key_id"]: row["count"] for row in await db.fetch(rotation_store.BY_KEY)}


async def _rotate_batch(db: Pool, keys: KeyRing, place: Place) -> Batch:
    async def action(tx: Tx) -> Batch:
        rows = await tx.fetch(rotation_store.LOCK_OLD, keys.in_use, *place, BATCH)
        anew = [(_place(row), encrypted) for row in rows if (encrypted := _reencrypted(keys, row)) is not None]
        if anew:
            columns = [list(column) for column in zip(*(place for place, _ in anew), strict=True)]
            nonces, ciphertexts = [encrypted.nonce for _, encrypted in anew], [encrypted.ciphertext for _, encrypted in anew]
            await tx.execute(rotation_store.ROTATE, keys.in_use, *columns, nonces, ciphertexts)
        return Batch(len(anew), _place(rows[-1]) if rows else None)

    return await db.transact(action)


def _reencrypted(keys: KeyRing, row: Row) -> Encrypted | None:
    env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
    try:
        return secrets.rotate(keys, env, row["version"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))
    except DecryptionError as fault:
        log.error("cannot open a signing secret", merchant_id=str(env.merchant_id), mode=env.mode, detail=str(fault))
        return None


def _place(row: Row) -> Place:
    return row["merchant_id"], row["mode"], row["version"]
