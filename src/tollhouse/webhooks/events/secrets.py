"""Signing secrets: encrypted at rest, shown once, one active per environment. Activating one releases held events."""

import base64
import secrets
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.key_rotation import EncryptedTable
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.limits import PENDING_SECRET_S
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import Encrypted, KeyRing
from tollhouse.platform.log.events import log
from tollhouse.webhooks.events import environments_store, store

PREFIX = "whsec_"
RANDOM_BYTES = 32
NO_OVERLAP = timedelta(0)
PENDING_FOR = timedelta(seconds=PENDING_SECRET_S)


class SecretState(Struct, frozen=True):
    """Whether a secret is active, since when, and whether another one is pending."""

    has_secret: bool
    pending: bool
    activated_at: datetime | None


class SigningSecret(Struct, frozen=True):
    """A stored secret, encrypted."""

    version: int
    encrypted: Encrypted


async def get_state(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SecretState:
    """The state of the signing secrets, without the secrets."""
    active = await db.fetchrow(environments_store.ACTIVE, env.merchant_id, env.mode)
    pending = await db.fetchrow(environments_store.PENDING, env.merchant_id, env.mode, now - PENDING_FOR)
    return SecretState(active is not None, pending is not None, None if active is None else active["activated_at"])


async def lock(tx: Tx, env: MerchantEnv) -> None:
    """Lock the webhook settings of this environment. Required by every function below."""
    await tx.execute(environments_store.INSERT_ENVIRONMENT, env.merchant_id, env.mode)
    await tx.fetchrow(environments_store.LOCK, env.merchant_id, env.mode)


async def generate(tx: Tx, env: MerchantEnv, keys: KeyRing, now: datetime) -> str:
    """Create a pending secret in place of an earlier one, and return it. It can be activated for an hour."""
    await tx.execute(environments_store.RETIRE, env.merchant_id, env.mode, "pending", now, None)
    return await _insert(tx, env, "pending", keys, now)


async def activate(tx: Tx, env: MerchantEnv, now: datetime, overlap: timedelta = NO_OVERLAP) -> bool:
    """Make the pending secret the active one; the one before signs too during the overlap. False if none is pending."""
    pending = await tx.fetchrow(environments_store.PENDING, env.merchant_id, env.mode, now - PENDING_FOR)
    if pending is None:
        return False
    await _retire_active(tx, env, now, overlap)
    await tx.execute(environments_store.ACTIVATE, env.merchant_id, env.mode, pending["version"], now)
    await tx.execute(store.RELEASE_HELD, env.merchant_id, env.mode)
    return True


async def replace(
    tx: Tx, env: MerchantEnv, keys: KeyRing, now: datetime, overlap: timedelta = NO_OVERLAP, secret: str | None = None
) -> str:
    """Create an active secret in place of the current one, and return it. That one signs beside it during the overlap."""
    await _retire_active(tx, env, now, overlap)
    secret = await _insert(tx, env, "active", keys, now, secret)
    await tx.execute(store.RELEASE_HELD, env.merchant_id, env.mode)
    return secret


async def list_signing(db: Pool | Tx, env: MerchantEnv, now: datetime) -> list[SigningSecret]:
    """The active secret, then the one before it during an overlap; nothing without an active one."""
    rows = await db.fetch(environments_store.SIGNING, env.merchant_id, env.mode, now)
    return [SigningSecret(row["version"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"])) for row in rows]


def decrypt(keys: KeyRing, env: MerchantEnv, version: int, encrypted: Encrypted) -> str:
    """The plaintext of a stored secret. Raises `DecryptionError`."""
    return _decrypt(keys, encrypted, _associated_data(env, version))


async def _retire_active(tx: Tx, env: MerchantEnv, now: datetime, overlap: timedelta) -> None:
    """Retire the active secret. An overlap of before ends: what was replaced twice signs no more."""
    await tx.execute(environments_store.END_OVERLAP, env.merchant_id, env.mode)
    signs_until = now + overlap if overlap else None
    await tx.execute(environments_store.RETIRE, env.merchant_id, env.mode, "active", now, signs_until)


def random_secret() -> str:
    """A new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(RANDOM_BYTES)).decode()


async def _insert(tx: Tx, env: MerchantEnv, state: str, keys: KeyRing, now: datetime, secret: str | None = None) -> str:
    secret = secret or random_secret()
    row = await tx.fetchrow(environments_store.NEXT_VERSION, env.merchant_id, env.mode)
    version: int = row["version"] if row is not None else 1
    encrypted = keys.encrypt(secret.encode(), _associated_data(env, version))
    await tx.execute(
        environments_store.INSERT,
        env.merchant_id,
        env.mode,
        version,
        state,
        encrypted.key_id,
        encrypted.nonce,
        encrypted.ciphertext,
        now,
    )
    return secret


@lru_cache(maxsize=1_024)
def _decrypt(keys: KeyRing, encrypted: Encrypted, associated_data: str) -> str:
    return keys.open(encrypted, associated_data).decode()


def _associated_data(env: MerchantEnv, version: int) -> str:
    return f"webhook_secret|{env.merchant_id}|{env.mode}|{version}"


def _bound_to(row: Row) -> str:
    return _associated_data(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["version"])


def _log_failure(row: Row, reason: str) -> None:
    log.error("signing_secret_undecryptable", merchant_id=str(row["merchant_id"]), mode=row["mode"], detail=reason)


ENCRYPTED = EncryptedTable(
    key=("merchant_id", "mode", "version"),
    first_key=(UUID(int=0), "", 0),
    lock_old_keys=environments_store.LOCK_OLD_KEYS,
    reencrypt=environments_store.REENCRYPT,
    count_by_key=environments_store.COUNT_BY_KEY,
    bound_to=_bound_to,
    log_failure=_log_failure,
)
