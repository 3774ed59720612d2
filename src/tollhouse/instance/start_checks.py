"""What a database was used with before must be what it is used with now: the key ring, and the decimals of currencies.

A lost or wrong key and a changed currency are noticed before anything starts.
"""

from tollhouse.accounts.identity import key_rotation, second_factor
from tollhouse.instance import start_checks_store as store
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.encryption import CHECK_BYTES, DecryptionError, KeyRing
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.webhooks.events import secrets

RING = "TOLLHOUSE_SECRET_KEYS"


async def verify(db: Pool, keys: KeyRing) -> None:
    """Compare the ring with the database, and remember new keys. Raises `InvalidSettingsError`, having changed nothing."""
    field_errors, new = await compare(db, keys)
    if field_errors:
        raise InvalidSettingsError(field_errors)
    for key_id in new:
        await db.execute(store.ADD, key_id, keys.check_values[key_id], clock.now())


async def compare(db: Pool, keys: KeyRing) -> tuple[list[str], list[str]]:
    """What is wrong with the ring, and its keys that this database does not know yet."""
    rows = {row["key_id"]: row for row in await db.fetch(store.ALL)}
    used = {key_id for key_id, row in rows.items() if row["given_up_at"] is None}
    field_errors = [
        f"{RING}: {key_id} is not the key with this ID that was used with this database. Restore the right key."
        for key_id, check_value in keys.check_values.items()
        if (row := rows.get(key_id)) is not None and row["check_value"] != check_value
    ]
    needed = await _encrypted(db)
    field_errors += [
        f"{RING}: the key {key_id} is missing, and {count} secrets are encrypted with it. Add it at the end. If it is "
        f"permanently lost, run `tollhouse keys forget {key_id}`; these secrets then stay unreadable (docs/keys.md)."
        for key_id, count in sorted(needed.items())
        if key_id not in keys.check_values and (key_id in used or key_id not in rows)
    ]
    if not field_errors and used and not used & set(keys.check_values):
        field_errors.append(
            f"{RING}: this database uses the keys {', '.join(sorted(used))}, but the ring has none of them. Restore them. "
            "To rotate keys, add the new key before the others; do not replace them (docs/keys.md)."
        )
    new = [key_id for key_id in keys.check_values if key_id not in rows]
    field_errors += [
        f"{RING}: {key_id} is not the key that this database was encrypted with. Restore the right key."
        for key_id in new
        if key_id in needed and not await _opens(db, keys, key_id)
    ]
    return field_errors, new


async def give_up(db: Pool, key_id: str) -> None:
    """Remember that a key is lost, so that the service starts without it."""
    await db.execute(store.GIVE_UP, key_id, bytes(CHECK_BYTES), clock.now())


async def _encrypted(db: Pool) -> dict[str, int]:
    """How many secrets are encrypted under each key."""
    counts = dict(await key_rotation.count_by_key(db, secrets.ENCRYPTED))
    for key_id, count in (await key_rotation.count_by_key(db, second_factor.ENCRYPTED)).items():
        counts[key_id] = counts.get(key_id, 0) + count
    return counts


async def _opens(db: Pool, keys: KeyRing, key_id: str) -> bool:
    row = await db.fetchrow(store.ENCRYPTED_UNDER, key_id)
    if row is None:
        return True
    try:
        secrets.ENCRYPTED.encrypt_again(keys, row)
    except DecryptionError:
        return False
    return True


async def verify_scales(db: Pool, catalogue: Catalogue) -> None:
    """Store the decimals of new currencies. Raises `InvalidSettingsError` if those of a stored one changed."""
    scales = {code: currency.decimals for code, currency in catalogue.currencies.items()}
    if changed := await store.list_changed(db, scales):
        raise InvalidSettingsError(
            [
                f"TOLLHOUSE_CATALOGUE_FILE currencies.{row['code']}: amounts in the database have {row['decimals']} "
                "decimals, which cannot change. To stop using the currency, turn off its operations."
                for row in changed
            ]
        )
    await store.insert_new(db, scales)
