"""SQL of card payments and of the provider's events."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.db import Pool, Tx

INSERT_PAYMENT = """
    INSERT INTO card_payments (merchant_id, mode, transaction_id, rail, reference, created_at, next_poll_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
# Leased by moving the time: a payment whose worker died is read again.
LEASE_PAYMENTS = """
    UPDATE card_payments SET next_poll_at = $1::timestamptz + $2::interval
    WHERE (merchant_id, mode, transaction_id) IN (
        SELECT merchant_id, mode, transaction_id FROM card_payments WHERE next_poll_at <= $1
        ORDER BY next_poll_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING merchant_id, mode, transaction_id, rail, reference, created_at
"""
SCHEDULE_POLL = "UPDATE card_payments SET next_poll_at = $4 WHERE merchant_id = $1 AND mode = $2 AND transaction_id = $3"
INSERT_EVENT = """
    INSERT INTO provider_events (rail, mode, event_id, type, object_id, occurred_at, received_at, next_try_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING
"""
LEASE_EVENTS = """
    UPDATE provider_events SET next_try_at = $1::timestamptz + $2::interval, tries = tries + 1
    WHERE (rail, mode, event_id) IN (
        SELECT rail, mode, event_id FROM provider_events WHERE next_try_at <= $1
        ORDER BY next_try_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING rail, mode, event_id, type, object_id, tries
"""
SCHEDULE_EVENT = "UPDATE provider_events SET next_try_at = $4 WHERE rail = $1 AND mode = $2 AND event_id = $3"
DELETE_OLD_EVENTS = """
    DELETE FROM provider_events WHERE (rail, mode, event_id) IN (
        SELECT rail, mode, event_id FROM provider_events WHERE received_at <= $1 AND next_try_at IS NULL
        ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class CardPayment(Struct, frozen=True):
    """A payment whose page may still change."""

    env: MerchantEnv
    transaction_id: UUID
    rail: str
    reference: str
    created_at: datetime


class ProviderEvent(Struct, frozen=True):
    """An event, and how often its processing has begun."""

    rail: str
    mode: Mode
    event_id: str
    type: str
    object_id: str
    tries: int = 0


async def insert_payment(tx: Tx, payment: CardPayment, next_poll_at: datetime) -> None:
    """Follow a payment from `next_poll_at` on."""
    env = payment.env
    whose = (env.merchant_id, env.mode, payment.transaction_id)
    await tx.execute(INSERT_PAYMENT, *whose, payment.rail, payment.reference, payment.created_at, next_poll_at)


async def lease_payments(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[CardPayment]:
    """Lease the payments that are due."""
    return [
        CardPayment(
            MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
            row["transaction_id"],
            row["rail"],
            row["reference"],
            row["created_at"],
        )
        for row in await db.fetch(LEASE_PAYMENTS, now, lease, limit)
    ]


async def schedule_poll(db: Pool, payment: CardPayment, next_poll_at: datetime | None) -> None:
    """Read the payment again at this time; never with None."""
    env = payment.env
    await db.execute(SCHEDULE_POLL, env.merchant_id, env.mode, payment.transaction_id, next_poll_at)


async def insert_event(db: Pool, event: ProviderEvent, occurred_at: datetime, now: datetime) -> None:
    """Keep an event, due now. One that was kept before stays as it is."""
    what = (event.rail, event.mode, event.event_id, event.type, event.object_id)
    await db.execute(INSERT_EVENT, *what, occurred_at, now)


async def lease_events(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[ProviderEvent]:
    """Lease the events that are due."""
    return [ProviderEvent(*row.values()) for row in await db.fetch(LEASE_EVENTS, now, lease, limit)]


async def schedule_event(db: Pool, event: ProviderEvent, next_try_at: datetime | None) -> None:
    """Process the event again at this time; with None it is done."""
    await db.execute(SCHEDULE_EVENT, event.rail, event.mode, event.event_id, next_try_at)
