"""SQL of recording, redelivering, releasing and canceling events."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx

RECORD = "SELECT webhook_events_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
RECORD_OF_CONNECTIONS = """
    SELECT webhook_events_record(e.id, e.sender, e.mode, $1, 'connection', e.grant_id, e.sequence, e.body, e.url, e.key,
                                 'request', false, $10, $11, $12)
    FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::bigint[], $7::bytea[], $8::text[], $9::bigint[])
        AS e (id, sender, mode, grant_id, sequence, body, url, key)
"""
RECORD_BALANCE = "SELECT webhook_events_record_balance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
BALANCE_VALUES = (
    "available", "pending", "reserved", "debt", "total", "withdrawals", "balance_payments", "refunds", "fulfillments",
    "version", "updated_at",
)  # fmt: skip
ENTRY_VALUES = ("balance_after", "sequence", "created_at")
"""What `RECORD_BALANCE` appends to the body of an event: the values of the balance, then those of each entry."""

RELEASE_HELD = """
    WITH released AS (
        DELETE FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2 AND held
        RETURNING event_id, destination_key, trigger, tries, lost
    ), ready AS (
        INSERT INTO webhook_deliveries
            (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger, tries, lost)
        SELECT event_id, $1, $2, destination_key, now(), now(), trigger, tries, lost FROM released
        ON CONFLICT (event_id) DO UPDATE SET automatic_at = excluded.automatic_at
    )
    UPDATE webhook_events e SET status = 'pending', next_attempt_at = now()
    FROM released WHERE e.id = released.event_id AND e.merchant_id = $1 AND e.mode = $2
"""

# A pending event has one delivery row: a redelivery updates the queued or leased one, or moves the scheduled one. The row is
# locked before the event, as everywhere, against deadlocks.
REDELIVER = """
    WITH planned AS (
        DELETE FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2 AND event_id = $3
        RETURNING CASE WHEN held THEN now() ELSE run_at END AS automatic_at, trigger, tries, lost
    )
    INSERT INTO webhook_deliveries AS d
        (event_id, merchant_id, mode, destination_key, lane, redeliveries, run_at, automatic_at, trigger, tries, lost)
    SELECT $3, $1, $2, $4, 1, 1, now(), p.automatic_at, coalesce(p.trigger, 'automatic'), coalesce(p.tries, 0),
           coalesce(p.lost, 0)
    FROM (VALUES (1)) AS always LEFT JOIN planned p ON true
    ON CONFLICT (event_id) DO UPDATE
    SET redeliveries = d.redeliveries + 1, held = false, run_at = now(),
        automatic_at = coalesce(d.automatic_at, excluded.automatic_at)
"""
# An attempt that ended while the statement above waited for its row may have scheduled the next one. The row is locked now.
REDELIVER_RESCHEDULED = """
    WITH planned AS (
        DELETE FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2 AND event_id = $3
        RETURNING event_id, run_at, trigger, tries, lost
    )
    UPDATE webhook_deliveries d
    SET automatic_at = p.run_at, trigger = p.trigger, tries = p.tries, lost = p.lost
    FROM planned p WHERE d.event_id = p.event_id
"""
MARK_REDELIVERY = """
    UPDATE webhook_events
    SET next_attempt_at = now(), status = CASE WHEN status IN ('skipped', 'canceled', 'held') THEN 'pending' ELSE status END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""

# Attempts under way end by themselves: the worker checks before each attempt whether delivery is enabled.
CANCEL_PENDING = """
    WITH deleted AS (
        DELETE FROM webhook_deliveries WHERE merchant_id = $1 AND mode = $2 AND lease_until IS NULL RETURNING event_id
    ), later AS (
        DELETE FROM webhook_deliveries_later WHERE merchant_id = $1 AND mode = $2 RETURNING event_id
    )
    UPDATE webhook_events e
    SET next_attempt_at = NULL,
        status = CASE WHEN e.status IN ('pending', 'retrying', 'held') THEN 'canceled' ELSE e.status END
    FROM (SELECT event_id FROM deleted UNION SELECT event_id FROM later) AS ended
    WHERE e.id = ended.event_id AND e.merchant_id = $1 AND e.mode = $2
"""
# An event has the time of the change it reports, which leads to it through the index on time.
BY_SOURCE = """
    SELECT e.id, e.type, e.status, e.created_at, a.http_status, a.duration_ms
    FROM webhook_events e LEFT JOIN webhook_attempts a ON a.event_id = e.id AND a.attempt = e.attempts
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.created_at = ANY ($3::timestamptz[])
      AND e.source_type = $4 AND e.source_id = $5
    ORDER BY e.created_at, e.id
"""


class SourceEvent(Struct, frozen=True):
    """An event of an object, the status of its delivery, and the answer to the last attempt; None without one."""

    id: UUID
    type: str
    status: str
    created_at: datetime
    http_status: int | None
    duration_ms: int | None


async def redeliver(tx: Tx, env: MerchantEnv, event_id: UUID, destination_key: int) -> None:
    """Send an event once more, now, beside its schedule."""
    await tx.execute(REDELIVER, env.merchant_id, env.mode, event_id, destination_key)
    await tx.execute(REDELIVER_RESCHEDULED, env.merchant_id, env.mode, event_id)
    await tx.execute(MARK_REDELIVERY, env.merchant_id, env.mode, event_id)


async def cancel_pending(tx: Tx, env: MerchantEnv) -> None:
    """Cancel the pending events of this environment. Attempts under way end by themselves."""
    await tx.execute(CANCEL_PENDING, env.merchant_id, env.mode)


async def list_by_source(
    db: Pool, env: MerchantEnv, source_type: str, source_id: UUID, times: Sequence[datetime]
) -> list[SourceEvent]:
    """The retained events of an object that were recorded at one of these times, oldest first."""
    rows = await db.fetch(BY_SOURCE, env.merchant_id, env.mode, times, source_type, source_id)
    return [SourceEvent(*row.values()) for row in rows]
