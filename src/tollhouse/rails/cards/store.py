"""SQL of card payments, and of the provider's events and disputes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.cards.stripe.objects import StripeDispute
from tollhouse.rails.cards.stripe.observed import closed, due_at

INSERT_PAYMENT = """
    INSERT INTO card_payments (merchant_id, mode, transaction_id, created_at, next_poll_at) VALUES ($1, $2, $3, $4, $5)
"""
# Leased by moving the time: a payment whose worker died is read again.
LEASE_PAYMENTS = """
    UPDATE card_payments c SET next_poll_at = $1::timestamptz + $2::interval
    FROM (SELECT merchant_id, mode, transaction_id FROM card_payments WHERE next_poll_at <= $1
          ORDER BY next_poll_at LIMIT $3 FOR UPDATE SKIP LOCKED) due
    JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (due.merchant_id, due.mode, due.transaction_id)
    WHERE (c.merchant_id, c.mode, c.transaction_id) = (due.merchant_id, due.mode, due.transaction_id)
    RETURNING c.merchant_id, c.mode, c.transaction_id, t.rail, t.rail_reference AS reference, c.created_at
"""
SCHEDULE_POLL = "UPDATE card_payments SET next_poll_at = $4 WHERE merchant_id = $1 AND mode = $2 AND transaction_id = $3"
INSERT_EVENT = """
    INSERT INTO provider_events (rail, mode, event_id, type, object_id, received_at, next_try_at)
    VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO NOTHING
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
# Disputes of confirmed payments that are not known here, have ended otherwise, or have another deadline. A reversal
# without a chargeback took nothing from the merchant, so that nothing is left to be decided.
LIST_CHANGED_DISPUTES = """
    SELECT d.id, t.rail_reference
    FROM unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS d (id, intent, closed, due_at)
    JOIN rail_observations o
        ON (o.rail, o.mode, o.external_ref, o.outcome) = ($1, $2, d.intent, 'confirmed')
    JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (o.merchant_id, o.mode, o.transaction_id)
    LEFT JOIN payment_reversals v
        ON (v.merchant_id, v.mode, v.rail, v.external_ref, v.reversal_ref) = (o.merchant_id, o.mode, $1, d.intent, d.id)
    LEFT JOIN chargebacks c ON (c.merchant_id, c.mode, c.id) = (v.merchant_id, v.mode, v.chargeback_id)
    WHERE v.id IS NULL
       OR CASE d.closed WHEN 'won' THEN v.status <> 'reinstated' WHEN 'lost' THEN c.status = 'open'
          ELSE c.status = 'open' AND c.respond_by <> d.due_at END
"""


class CardPayment(Struct, frozen=True):
    """A payment whose page may still change."""

    env: MerchantEnv
    transaction_id: UUID
    rail: str
    reference: str
    created_at: datetime


PAYMENT = Record(CardPayment, "card_payments")


class ProviderEvent(Struct, frozen=True):
    """An event, and how often its processing has begun."""

    rail: str
    mode: Mode
    event_id: str
    type: str
    object_id: str
    tries: int = 0


async def insert_payment(tx: Tx, env: MerchantEnv, transaction_id: UUID, now: datetime, next_poll_at: datetime) -> None:
    """Follow a payment from `next_poll_at` on."""
    await tx.execute(INSERT_PAYMENT, env.merchant_id, env.mode, transaction_id, now, next_poll_at)


async def lease_payments(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[CardPayment]:
    """Lease the payments that are due."""
    return await PAYMENT.find_all(db, LEASE_PAYMENTS, now, lease, limit)


async def schedule_poll(db: Pool, payment: CardPayment, next_poll_at: datetime | None) -> None:
    """Read the payment again at this time; never with None."""
    env = payment.env
    await db.execute(SCHEDULE_POLL, env.merchant_id, env.mode, payment.transaction_id, next_poll_at)


async def insert_event(db: Pool, event: ProviderEvent, now: datetime) -> None:
    """Keep an event, due now. One that was kept before stays as it is."""
    await db.execute(INSERT_EVENT, event.rail, event.mode, event.event_id, event.type, event.object_id, now)


async def lease_events(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[ProviderEvent]:
    """Lease the events that are due."""
    return [ProviderEvent(*row.values()) for row in await db.fetch(LEASE_EVENTS, now, lease, limit)]


async def schedule_event(db: Pool, event: ProviderEvent, next_try_at: datetime | None) -> None:
    """Process the event again at this time; with None it is done."""
    await db.execute(SCHEDULE_EVENT, event.rail, event.mode, event.event_id, next_try_at)


async def list_changed_disputes(db: Pool, rail: str, mode: Mode, disputes: Sequence[StripeDispute]) -> list[tuple[str, str]]:
    """The IDs of those of these disputes that say something new, each with the reference of its payment."""
    known = [dispute for dispute in disputes if dispute.payment_intent is not None]
    columns = (
        [dispute.id for dispute in known],
        [dispute.payment_intent for dispute in known],
        [closed(dispute) for dispute in known],
        [due_at(dispute) for dispute in known],
    )
    return [(row["id"], row["rail_reference"]) for row in await db.fetch(LIST_CHANGED_DISPUTES, rail, mode, *columns)]
