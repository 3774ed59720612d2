"""Signing secrets: sealed at rest, shown once, one active per environment; what was held for want of one is let go."""

import base64
import secrets
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct

from tollhouse.events import secrets_store, store
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.limits import PENDING_SECRET_S
from tollhouse.platform.db import Pool, Tx
from tollhouse.platform.encryption import Encrypted, KeyRing

PREFIX = "whsec_"
RANDOM_BYTES = 32
PENDING_FOR = timedelta(seconds=PENDING_SECRET_S)


class SecretState(Struct, frozen=True):
    """Whether one signs, since when, and whether another one waits to be activated."""

    has_secret: bool
    pending: bool
    activated_at: datetime | None


async def state_of(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SecretState:
    """What is there; never the secret itself."""
    active = await db.fetchrow(secrets_store.ACTIVE, env.merchant_id, env.mode)
    pending = await db.fetchrow(secrets_store.PENDING, env.merchant_id, env.mode, now - PENDING_FOR)
    return SecretState(active is not None, pending is not None, None if active is None else active["activated_at"])


async def lock(tx: Tx, env: MerchantEnv) -> None:
    """Make whoever else changes this environment's webhooks wait. Everything below asks for it first."""
    await tx.execute(secrets_store.MAKE_ENVIRONMENT, env.merchant_id, env.mode)
    await tx.fetchrow(secrets_store.LOCK_ENVIRONMENT, env.merchant_id, env.mode)


async def generate(tx: Tx, env: MerchantEnv, keys: KeyRing, now: datetime) -> str:
    """A new secret that waits an hour to be activated, in place of an earlier one that waits; the only time it is shown."""
    await tx.execute(secrets_store.RETIRE, env.merchant_id, env.mode, "pending", now)
    return await _add(tx, env, "pending", keys, now)


async def activate(tx: Tx, env: MerchantEnv, now: datetime) -> bool:
    """The waiting secret signs from now on. False: none waits, and nothing happens."""
    waiting = await tx.fetchrow(secrets_store.PENDING, env.merchant_id, env.mode, now - PENDING_FOR)
    if waiting is None:
        return False
    await tx.execute(secrets_store.RETIRE, env.merchant_id, env.mode, "active", now)
    await tx.execute(secrets_store.ACTIVATE, env.merchant_id, env.mode, waiting["version"], now)
    await tx.execute(store.FREE_HELD, env.merchant_id, env.mode)
    return True


async def replace(tx: Tx, env: MerchantEnv, keys: KeyRing, now: datetime) -> str:
    """A new secret that signs at once, in place of the active one, if there is one; the only time it is shown."""
    await tx.execute(secrets_store.RETIRE, env.merchant_id, env.mode, "active", now)
    secret = await _add(tx, env, "active", keys, now)
    await tx.execute(store.FREE_HELD, env.merchant_id, env.mode)
    return secret


def reveal(keys: KeyRing, env: MerchantEnv, version: int, encrypted: Encrypted) -> str:
    """The secret of a row, to sign with. Raises `DecryptionError`."""
    return _opened(keys, encrypted, _bound_to(env, version))


def rotate(keys: KeyRing, env: MerchantEnv, version: int, encrypted: Encrypted) -> Encrypted:
    """The same secret under the first key of the ring. Raises `DecryptionError`."""
    bound_to = _bound_to(env, version)
    return keys.encrypt(keys.open(encrypted, bound_to), bound_to)


async def _add(tx: Tx, env: MerchantEnv, state: str, keys: KeyRing, now: datetime) -> str:
    secret = PREFIX + base64.b64encode(secrets.token_bytes(RANDOM_BYTES)).decode()
    row = await tx.fetchrow(secrets_store.NEXT_VERSION, env.merchant_id, env.mode)
    version: int = row["version"] if row is not None else 1
    encrypted = keys.encrypt(secret.encode(), _bound_to(env, version))
    await tx.execute(
        secrets_store.ADD,
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
def _opened(keys: KeyRing, encrypted: Encrypted, bound_to: str) -> str:
    """The same events are signed with the same secrets."""
    return keys.open(encrypted, bound_to).decode()


def _bound_to(env: MerchantEnv, version: int) -> str:
    return f"webhook_secret|{env.merchant_id}|{env.mode}|{version}"
