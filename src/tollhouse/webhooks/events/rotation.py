"""Re-encrypts signing secrets with the first key of the ring, in small batches, while the service runs."""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log.events import log
from tollhouse.webhooks.events import rotation_store, secrets

BATCH = 100
Place = tuple[UUID, str, int]
FIRST_PLACE: Place = (UUID(int=0), "", 0)


class RotationBatch(Struct, frozen=True):
    """How many secrets were re-encrypted, and the last one looked at; None at the end."""

    rotated: int
    last: Place | None


async def rotate(db: Pool, keys: KeyRing, notify: Callable[[int], None]) -> int:
    """Re-encrypt the secrets of other keys and return how many. `notify` gets the count after each batch.

    It can be stopped at any time. A secret that no key of the ring decrypts stays as it is.
    """
    total, before = 0, -1
    while total > before:  # repeated, because locked rows are skipped
        before = total
        place: Place | None = FIRST_PLACE
        while place is not None:
            batch = await _rotate_batch(db, keys, place)
            total, place = total + batch.rotated, batch.last
            if batch.rotated:
                notify(total)
    return total


async def count_by_key(db: Pool) -> dict[str, int]:
    """How many secrets each key encrypts."""
    return {row["key_id"]: row["count"] for row in await db.fetch(rotation_store.BY_KEY)}


async def _rotate_batch(db: Pool, keys: KeyRing, place: Place) -> RotationBatch:
    async def action(tx: Tx) -> RotationBatch:
        rows = await tx.fetch(rotation_store.LOCK_OLD, keys.in_use, *place, BATCH)
        rotated = [(_place(row), encrypted) for row in rows if (encrypted := _reencrypted(keys, row)) is not None]
        if rotated:
            columns = [list(column) for column in zip(*(place for place, _ in rotated), strict=True)]
            nonces, ciphertexts = (
                [encrypted.nonce for _, encrypted in rotated],
                [encrypted.ciphertext for _, encrypted in rotated],
            )
            await tx.execute(rotation_store.ROTATE, keys.in_use, *columns, nonces, ciphertexts)
        return RotationBatch(len(rotated), _place(rows[-1]) if rows else None)

    return await db.transact(action)


def _reencrypted(keys: KeyRing, row: Row) -> Encrypted | None:
    env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
    try:
        return secrets.rotate(keys, env, row["version"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))
    except DecryptionError as error:
        log.error("signing_secret_undecryptable", merchant_id=str(env.merchant_id), mode=env.mode, detail=str(error))
        return None


def _place(row: Row) -> Place:
    return row["merchant_id"], row["mode"], row["version"]
