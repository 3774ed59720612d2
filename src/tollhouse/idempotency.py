"""Idempotency-Key: the claim, the deed and the stored answer are one transaction.

A concurrent twin waits on the claim's unique index, then reads the answer; after two seconds it is told to come back.
A refusal rolls the claim back, so that the corrected request may use its key again. Only success is stored.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg

from tollhouse.http.dispatch import CANONICAL, StoredResponse
from tollhouse.http.request import Request
from tollhouse.identity.model import Caller
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.tokens import digest
from tollhouse.platform.db import Tx

SEE_OTHER = 303

CLAIM = """
    INSERT INTO idempotency_keys (merchant_id, mode, caller, key_hash, fingerprint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""
READ = """
    SELECT fingerprint, status, answer FROM idempotency_keys
    WHERE merchant_id = $1 AND mode = $2 AND caller = $3 AND key_hash = $4
"""
KEEP = """
    UPDATE idempotency_keys SET status = $5, answer = $6
    WHERE merchant_id = $1 AND mode = $2 AND caller = $3 AND key_hash = $4
"""


class KeyReused(ApiError):
    """422: the key belongs to another request."""

    code, status = "idempotency_key_reused", 422
    message = "This Idempotency-Key was used for a different request."


class KeyInProgress(ApiError):
    """409: the first request with this key has not ended yet."""

    code, status, message = "idempotency_in_progress", 409, "The first request with this Idempotency-Key is still running."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "1"})


class DatabaseIdempotencyStore:
    """Keeps answers in `idempotency_keys`, per merchant, mode and caller."""

    async def claim(self, tx: Tx, caller: Caller, key: str, fingerprint: bytes, request: Request) -> StoredResponse | None:
        """Claim the key (None), or the stored answer. Raises `KeyReused` and `KeyInProgress`."""
        try:
            won = await tx.execute(CLAIM, *_whose(caller, key), fingerprint, request.now)
        except asyncpg.LockNotAvailableError:
            raise KeyInProgress from None
        if won:
            return None
        earlier = await tx.fetchrow(READ, *_whose(caller, key))
        if earlier is None:  # the first request was rolled back between our two statements
            raise KeyInProgress
        if earlier["fingerprint"] != fingerprint:
            raise KeyReused
        return StoredResponse(earlier["status"], earlier["answer"])

    async def store_response(self, tx: Tx, caller: Caller, key: str, stored: StoredResponse) -> None:
        """Keep the answer under the claimed key."""
        await tx.execute(KEEP, *_whose(caller, key), stored.status, stored.body)


IDEMPOTENCY = DatabaseIdempotencyStore()


async def made_once(
    tx: Tx, request: Request, env: MerchantEnv, key: str, said: Any, make: Callable[[], Awaitable[UUID]]
) -> UUID:
    """The id of what a form made under the key of its page: now, or before, where the form was posted twice.

    `said` is what the form says, in anything msgspec encodes. Raises what `make` raises, `KeyReused` and `KeyInProgress`.
    """
    merchant = Caller(env, "", Scopes(0))
    fingerprint = hashlib.sha256(CANONICAL.encode([request.path, said])).digest()
    earlier = await IDEMPOTENCY.claim(tx, merchant, key, fingerprint, request)
    if earlier is not None:
        return UUID(earlier.body.decode())
    made_id = await make()
    await IDEMPOTENCY.store_response(tx, merchant, key, StoredResponse(SEE_OTHER, str(made_id).encode()))
    return made_id


def _whose(caller: Caller, key: str) -> tuple[object, ...]:
    return caller.env.merchant_id, caller.env.mode, caller.idempotency_name, digest(key)
