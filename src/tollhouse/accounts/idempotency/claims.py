"""Idempotency keys: the claim of a key, the action and the stored response are one transaction.

An optimistic run claims the key with its deferred writes. If another request holds it, or the action refuses, the action
runs again and claims it first: it then waits for the unique index of the claim, two seconds at most. An error rolls the
claim back, so that a corrected request may reuse its key: only successful responses are stored.
"""

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from tollhouse.accounts.idempotency import store
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.dispatch import CANONICAL, StoredResponse
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.pool import Row, Tx

SEE_OTHER = 303


class IdempotencyKeyReused(ApiError):
    """422: the key was used for a different request."""

    code, status = "idempotency_key_reused", 422
    message = "This Idempotency-Key was used for a different request."


class IdempotencyInProgress(ApiError):
    """409: the first request with this key has not finished."""

    code, status, message = "idempotency_in_progress", 409, "The first request with this Idempotency-Key is still running."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "1"})


class DatabaseIdempotencyStore:
    """Stores responses in `idempotency_keys`, by merchant, mode and caller."""

    async def claim(self, tx: Tx, caller: Caller, key: str, fingerprint: bytes, now: datetime) -> StoredResponse | None:
        """Claim the key; the stored response if it was used before.

        Raises `IdempotencyKeyReused` and `IdempotencyInProgress`.
        """
        if tx.is_optimistic:
            earlier = await tx.read_row_in_batch(store.READ_MANY, _primary_key(caller, key))
            if earlier is not None:
                return _stored_response(earlier, fingerprint)
            tx.retries_errors = True  # what refuses this request may be what the first one with the key has done
            return None
        if tx.has_waited:
            await tx.run("SET LOCAL lock_timeout = '10ms'")
        try:
            claimed = await tx.execute(store.CLAIM, *_primary_key(caller, key), fingerprint, now)
        except asyncpg.LockNotAvailableError:
            raise IdempotencyInProgress from None
        if tx.has_waited:
            await tx.run("SET LOCAL lock_timeout TO DEFAULT")
        if claimed:
            return None
        earlier = await tx.fetchrow(store.READ, *_primary_key(caller, key))
        if earlier is None:  # the first request was rolled back between the two statements
            raise IdempotencyInProgress
        return _stored_response(earlier, fingerprint)

    async def store_response(
        self, tx: Tx, caller: Caller, key: str, fingerprint: bytes, stored: StoredResponse, now: datetime
    ) -> None:
        """Store the response of the claimed key. In an optimistic run this claims it, before the other deferred writes."""
        primary_key = _primary_key(caller, key)
        if tx.is_optimistic:
            await tx.defer(store.STORE, *primary_key, fingerprint, stored.status, stored.body, now, first=True)
        else:
            await tx.execute(store.STORE_RESPONSE, *primary_key, stored.status, stored.body)


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
