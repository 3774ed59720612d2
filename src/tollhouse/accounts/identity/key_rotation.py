"""Re-encrypts the secrets of a table with the first key of the ring, in small batches, while the service runs."""

from collections.abc import Callable

from msgspec import Struct

from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing

BATCH = 100


class EncryptedTable(Struct, frozen=True):
    """A table of secrets: its key columns, a key below all others, its statements, and what each secret is bound to."""

    key: tuple[str, ...]
    first_key: tuple[object, ...]
    lock_old_keys: str
    reencrypt: str
    count_by_key: str
    bound_to: Callable[[Row], str]
    log_failure: Callable[[Row, str], None]
    """Logs a secret that no key of the ring decrypts, and the reason."""

    def key_of(self, row: Row) -> tuple[object, ...]:
        """The key of a row."""
        return tuple(row[column] for column in self.key)

    def encrypt_again(self, keys: KeyRing, row: Row) -> Encrypted:
        """The secret of a row, encrypted with the first key of the ring. Raises `DecryptionError`."""
        bound_to = self.bound_to(row)
        return keys.encrypt(keys.open(Encrypted.in_row(row), bound_to), bound_to)


async def rotate(db: Pool, keys: KeyRing, table: EncryptedTable, notify: Callable[[int], None]) -> int:
    """Re-encrypt the secrets under other keys; how many. `notify` gets the running total after each batch.

    It can be stopped at any time. A secret that no key of the ring decrypts stays as it is.
    """
    total, before = 0, -1
    while total > before:  # repeated, because locked rows are skipped
        before = total
        last: tuple[object, ...] | None = table.first_key
        while last is not None:
            rotated, last = await _rotate_batch(db, keys, table, last)
            total += rotated
            if rotated:
                notify(total)
    return total


async def count_by_key(db: Pool, table: EncryptedTable) -> dict[str, int]:
    """The number of secrets under each key."""
    return {row["key_id"]: row["count"] for row in await db.fetch(table.count_by_key)}


async def _rotate_batch(
    db: Pool, keys: KeyRing, table: EncryptedTable, after: tuple[object, ...]
) -> tuple[int, tuple[object, ...] | None]:
    """How many secrets after this key were re-encrypted, and the key of the batch's last row; None at the end."""

    async def action(tx: Tx) -> tuple[int, tuple[object, ...] | None]:
        rows = await tx.fetch(table.lock_old_keys, keys.in_use, *after, BATCH)
        changed = [
            (*table.key_of(row), encrypted.nonce, encrypted.ciphertext)
            for row in rows
            if (encrypted := _encrypted_again(keys, table, row)) is not None
        ]
        if changed:
            await tx.execute(table.reencrypt, keys.in_use, *map(list, zip(*changed, strict=True)))
        return len(changed), table.key_of(rows[-1]) if rows else None

    return await db.transact(action)


def _encrypted_again(keys: KeyRing, table: EncryptedTable, row: Row) -> Encrypted | None:
    try:
        return table.encrypt_again(keys, row)
    except DecryptionError as error:
        table.log_failure(row, str(error))
        return None
