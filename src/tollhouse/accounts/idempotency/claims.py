"""Idempotency keys: the claim of a key, the action and the stored response are one transaction.

A request waits for another one with its key, two seconds at most. An error rolls the claim back, so that a corrected
request may reuse its key: only successful responses are stored.
"""

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from tollhouse.accounts.idempotency import store
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.dispatch import CANONICAL, StoredResponse
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database import claims
from tollhouse.platform.database.pool import Row, Tx

SEE_OTHER = 303


class IdempotencyKeyReused(ApiError):
    """422: the key was used for a different request."""

    code, status = "idempotency_key_reused", 422
    message = "This Idempotency-Key was used for a different request."
    solution = "Send a new key for a new action. To repeat the first request, send exactly its body."


class IdempotencyInProgress(ApiError):
    """409: the first request with this key has not finished."""

    code, status, message = "idempotency_in_progress", 409, "The first request with this Idempotency-Key is still running."
    solution = "Wait for the seconds in `Retry-After` and repeat the request with the same key."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "1"})


class DatabaseIdempotencyStore:
    """Stores responses in `idempotency_keys`, by merchant, mode and caller."""

    async def claim(self, tx: Tx, caller: Caller, key: str, fingerprint: bytes, now: datetime) -> StoredResponse | None:
        """Claim the key; the stored response if it was used before.

        Raises `IdempotencyKeyReused` and `IdempotencyInProgress`.
        """
        try:
            earlier = await claims.claim(tx, store.CLAIMS, _primary_key(caller, key), fingerprint, now)
        except claims.ClaimedByOtherError:
            raise IdempotencyInProgress from None
        return None if earlier is None else _stored_response(earlier, fingerprint)

    async def store_response(
        self, tx: Tx, caller: Caller, key: str, fingerprint: bytes, stored: StoredResponse, now: datetime
    ) -> None:
        """Store the response of the claimed key."""
        completed = (*_primary_key(caller, key), stored.status, stored.body)
        await claims.complete(tx, store.CLAIMS, completed, fingerprint, now)


IDEMPOTENCY = DatabaseIdempotencyStore()


async def create_once(work: Work, env: MerchantEnv, key: str, form: Any, create: Callable[[], Awaitable[UUID]]) -> UUID:
    """The ID of the object that a form creates, once per `key` of the page, however often the form is submitted.

    `form` is its path and its content, in anything msgspec encodes. Raises what `create` raises, `IdempotencyKeyReused` and
    `IdempotencyInProgress`.
    """
    merchant = Caller(env, "", Scopes(0))
    fingerprint = hashlib.sha256(CANONICAL.encode(form)).digest()
    earlier = await IDEMPOTENCY.claim(work.tx, merchant, key, fingerprint, work.now)
    if earlier is not None:
        return UUID(earlier.body.decode())
    created_id = await create()
    stored = StoredResponse(SEE_OTHER, str(created_id).encode())
    await IDEMPOTENCY.store_response(work.tx, merchant, key, fingerprint, stored, work.now)
    return created_id


def _stored_response(earlier: Row, fingerprint: bytes) -> StoredResponse:
    if earlier["fingerprint"] != fingerprint:
        raise IdempotencyKeyReused
    return StoredResponse(earlier["status"], earlier["answer"])


def _primary_key(caller: Caller, key: str) -> tuple[object, ...]:
    return caller.env.merchant_id, caller.env.mode, caller.idempotency_name, digest(key)
