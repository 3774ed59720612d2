"""SQL of events of test mode that are sent to another URL."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.webhooks.delivery.response_excerpts import ResponseExcerpt
from tollhouse.webhooks.endpoints import store
from tollhouse.webhooks.endpoints.model import AttemptExchange, DeliveryAttempt

INSERT = """
    INSERT INTO webhook_replays (id, merchant_id, mode, event_id, url, created_at) VALUES ($1, $2, $3, $4, $5, $6)
"""
# What a worker took is never taken again, whatever becomes of the worker.
CLAIM = """
    WITH mine AS (
        UPDATE webhook_replays SET started_at = now()
        WHERE id IN (SELECT id FROM webhook_replays WHERE duration_ms IS NULL AND started_at IS NULL
                     ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
        RETURNING id, merchant_id, mode, event_id, url, started_at
    )
    SELECT mine.*, e.type, e.position, e.body FROM mine JOIN webhook_events e ON e.id = mine.event_id
"""
END_LOST = """
    UPDATE webhook_replays SET error = 'worker_lost', duration_ms = extract(epoch FROM $1::interval) * 1000
    WHERE duration_ms IS NULL AND started_at < now() - $1::interval
"""
END = """
    UPDATE webhook_replays
    SET error = $2, http_status = $3, duration_ms = $4, response_headers = $5::jsonb, response_body = $6
    WHERE id = $1 AND merchant_id = $7 AND (duration_ms IS NULL OR error = 'worker_lost')
"""
NEWEST = """
    SELECT r.url, 1 AS attempt, r.started_at, r.duration_ms, r.error, r.http_status, r.response_headers, r.response_body,
           e.type, e.position
    FROM webhook_replays r JOIN webhook_events e ON e.id = r.event_id
    WHERE r.merchant_id = $1 AND r.mode = $2 AND r.event_id = $3 ORDER BY r.created_at DESC, r.id DESC LIMIT $4
"""
CANCEL_WAITING = "DELETE FROM webhook_replays WHERE merchant_id = $1 AND mode = $2 AND started_at IS NULL"
DELETE_OLD = "DELETE FROM webhook_replays WHERE id IN (SELECT id FROM webhook_replays WHERE created_at <= $1 LIMIT $2)"


class Replay(Struct, frozen=True):
    """An event sent to another URL. There is no attempt until it ended."""

    url: str
    attempt: DeliveryAttempt | None
    exchange: AttemptExchange | None


async def insert(tx: Tx, env: MerchantEnv, replay_id: UUID, event_id: UUID, url: str, now: datetime) -> None:
    """Record it for the worker."""
    await tx.execute(INSERT, replay_id, env.merchant_id, env.mode, event_id, url, now)


async def claim(db: Pool, limit: int) -> list[Row]:
    """The oldest that wait, with what is sent. They are this worker's alone."""
    return await db.fetch(CLAIM, limit)


async def end_lost(db: Pool, lease: timedelta) -> None:
    """End those whose worker recorded nothing for so long."""
    await db.execute(END_LOST, lease)


async def end(db: Pool, row: Row, outcome: Outcome, kept: ResponseExcerpt | None) -> None:
    """Record what came back for a claimed one."""
    headers = None if kept is None else msgspec.json.encode(kept.headers).decode()
    body = None if kept is None else kept.body
    result = (outcome.error, outcome.http_status, outcome.duration_ms, headers, body)
    await db.execute(END, row["id"], *result, row["merchant_id"])


async def cancel_waiting(tx: Tx, env: MerchantEnv) -> None:
    """Delete those that no worker has taken."""
    await tx.execute(CANCEL_WAITING, env.merchant_id, env.mode)


async def list_newest(db: Pool, env: MerchantEnv, event_id: UUID, limit: int) -> list[Replay]:
    """The newest of an event, newest first."""
    rows = await db.fetch(NEWEST, env.merchant_id, env.mode, event_id, limit)
    return [_replay(env, event_id, row) for row in rows]


def _replay(env: MerchantEnv, event_id: UUID, row: Row) -> Replay:
    if row["duration_ms"] is None:
        return Replay(row["url"], None, None)
    attempt = DeliveryAttempt(
        attempt=row["attempt"],
        status="succeeded" if row["error"] is None else "failed",
        error=row["error"],
        timestamp=stamp(row["started_at"]),
        http_status=row["http_status"],
        duration_ms=row["duration_ms"],
        trigger="manual",
    )
    return Replay(row["url"], attempt, store.exchange_of(env, event_id, row))
