"""Quotes: terms that are guaranteed for a limited time, for one order. Their times follow the merchant's test clock."""

from datetime import datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.database.records import Internal
from tollhouse.transfers.orders.errors import QuoteAlreadyUsed, QuoteExpired
from tollhouse.transfers.orders.store import clock_offset

T = TypeVar("T")
QUOTE_ERRORS = (NotFound, QuoteExpired, QuoteAlreadyUsed)
"""The errors of an order by the id of a quote."""

RETENTION = timedelta(days=30)
"""Quotes are deleted this long after they were created."""


class Quote(Struct, Generic[T], frozen=True, kw_only=True):
    """Terms that hold until `expires_at`, or until one order has used them."""

    id: UUID
    terms: T
    env: MerchantEnv
    created_at: datetime
    expires_at: datetime
    used_at: Internal[datetime | None] = None


async def create(tx: Tx, env: MerchantEnv, terms: T, now: datetime, valid_for: timedelta) -> Quote[T]:
    """A new quote, not stored yet."""
    expires_at = now + await clock_offset(tx, env) + valid_for
    return Quote(id=new_id(), env=env, terms=terms, created_at=now, expires_at=expires_at)


async def ensure_usable(tx: Tx, quote: Quote[T], now: datetime) -> None:
    """Raises `QuoteAlreadyUsed` and `QuoteExpired`."""
    if quote.used_at is not None:
        raise QuoteAlreadyUsed
    if quote.expires_at <= now + await clock_offset(tx, quote.env):
        raise QuoteExpired


async def mark_used(tx: Tx, sql: str, quote: Quote[T], now: datetime) -> None:
    """Record with this statement that a locked, usable quote was used."""
    if await tx.execute(sql, quote.env.merchant_id, quote.env.mode, quote.id, now) != 1:
        raise AssertionError("a locked quote cannot be used by another transaction")
