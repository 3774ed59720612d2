"""Quotes: terms that are guaranteed for a limited time, for one order. Their times follow the merchant's test clock."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.database.records import Internal
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.orders.errors import QuoteAlreadyUsed, QuoteExpired
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.webhooks.events.destination import check_destination_url

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


async def ensure_funds(tx: Tx, env: MerchantEnv, currency: str, required_minor: int) -> None:
    """Raises `InsufficientFunds` with the available and the required amount."""
    available_minor = (await get_balance(tx, env, currency)).available_minor
    if available_minor < required_minor:
        details = {"available_minor": available_minor, "required_minor": required_minor, "currency": currency}
        raise InsufficientFunds(details)


def destination_errors(webhook_url: str | None, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    """The error of an address that events cannot be delivered to."""
    if webhook_url is not None:
        message = check_destination_url(webhook_url, livemode=env.livemode, settings=settings)
        if message is not None:
            yield FieldError("webhook_url", "invalid_url", message)
