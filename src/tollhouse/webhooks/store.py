"""SQL of the saved configuration, and of reading events and their history."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.paging import Place, Window
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.webhooks.model import Attempt, Configuration, EventsQuery, EventView

SEARCHED_EVENTS_MAX = 50_000

CONFIGURATION = """
    SELECT n.url, n.event_types, n.delivery_disabled_at, n.created_at, n.updated_at,
           EXISTS (SELECT FROM webhook_secrets s
                   WHERE s.merchant_id = $1 AND s.mode = $2 AND s.state = 'active') AS has_secret
    FROM webhook_environments n WHERE n.merchant_id = $1 AND n.mode = $2
"""
SAVE = """
    UPDATE webhook_environments
    SET url = $3, destination_key = $4, event_types = $5, created_at = coalesce(created_at, $7), updated_at = $7,
        delivery_disabled_at = CASE WHEN $6 THEN NULL ELSE coalesce(delivery_disabled_at, $7) END
    WHERE merchant_id = $1 AND mode = $2
"""
SWITCH_ON = "UPDATE webhook_environments SET delivery_disabled_at = NULL WHERE merchant_id = $1 AND mode = $2"
SWITCH_OFF = """
    UPDATE webhook_environments SET delivery_disabled_at = coalesce(delivery_disabled_at, $3)
    WHERE merchant_id = $1 AND mode = $2
"""
EVENTS = """
    SELECT id, type, mode, created_at, destination_url, destination_source, status, attempts, next_attempt_at,
           delivered_at, body
    FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text[] IS NULL OR type = ANY($4)) AND ($5::uuid IS NULL OR source_id = $5)
      AND created_at >= $6 AND (created_at, id) < ($7, $8)
    ORDER BY created_at DESC, id DESC LIMIT $9 OFFSET $10
"""
# Only the newest $5 events are looked through, so that what is rare costs a busy merchant no more than that.
MATCHING = """
    SELECT id, type, mode, created_at, destination_url, destination_source, status, attempts, next_attempt_at,
           delivered_at, body
    FROM (SELECT * FROM webhook_events WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $5)
         AS newest
    WHERE ($3::text = '' OR status = $3) AND ($4::text = '' OR type = $4)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
EVENT = """
    SELECT id, type, mode, created_at, destination_url, destination_source, status, attempts, next_attempt_at,
           delivered_at, body
    FROM webhook_events WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
# By the clock of the database, which planned the attempt.
IS_DUE = """
    SELECT next_attempt_at <= clock_timestamp() AS due FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
HISTORY = """
    SELECT a.attempt, a.status, a.error, a.started_at, a.http_status, a.duration_ms, a.trigger
    FROM webhook_attempts a JOIN webhook_events e ON e.id = a.event_id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3 ORDER BY a.attempt
"""
TESTS_SINCE = """
    SELECT count(*) AS count, min(created_at) AS oldest FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND destination_source = 'test' AND created_at > $3
"""


class EventFilter(Struct, frozen=True):
    """Which events to list; None leaves a filter out. In the order of the statement's parameters."""

    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    resource_id: UUID | None = None


async def configuration(db: Pool | Tx, env: MerchantEnv) -> Configuration | None:
    """The saved configuration; None when there is none."""
    row = await db.fetchrow(CONFIGURATION, env.merchant_id, env.mode)
    if row is None or row["url"] is None:
        return None
    return Configuration(
        url=row["url"],
        event_types=row["event_types"],
        enabled=row["delivery_disabled_at"] is None,
        has_secret=row["has_secret"],
        mode=env.mode,
        livemode=env.livemode,
        created_at=stamp(row["created_at"]),
        updated_at=stamp(row["updated_at"]),
    )


async def delivery_is_on(db: Pool | Tx, env: MerchantEnv) -> bool:
    """Whether anything is sent in this environment at all."""
    row = await db.fetchrow(CONFIGURATION, env.merchant_id, env.mode)
    return row is None or row["delivery_disabled_at"] is None


async def events(db: Pool, env: MerchantEnv, wanted: EventFilter, window: Window) -> list[tuple[EventView, Place]]:
    """A page of events and where they stand in the list, newest first."""
    which = (*msgspec.structs.astuple(wanted), *msgspec.structs.astuple(window))
    rows = await db.fetch_fresh(EVENTS, env.merchant_id, env.mode, *which)
    return [(_event(row), Place(row["created_at"], row["id"])) for row in rows]


async def matching(db: Pool, env: MerchantEnv, query: EventsQuery) -> list[EventView]:
    """A page of the events that a filter lets through, among the newest ones."""
    asked = (query.status, query.type, SEARCHED_EVENTS_MAX, query.fetch, query.offset)
    return [_event(row) for row in await db.fetch(MATCHING, env.merchant_id, env.mode, *asked)]


async def event(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> EventView | None:
    """One event; None when it is nobody's, another merchant's or the other mode's."""
    row = await db.fetchrow(EVENT, env.merchant_id, env.mode, event_id)
    return None if row is None else _event(row)


async def destination(tx: Tx, env: MerchantEnv, event_id: UUID) -> tuple[str, str | None] | None:
    """Where an event's address came from, and the address; None when there is no such event."""
    row = await tx.fetchrow(EVENT, env.merchant_id, env.mode, event_id)
    return None if row is None else (row["destination_source"], row["destination_url"])


async def attempt_is_due(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> bool:
    """Whether an attempt is on its way, or as good as."""
    row = await db.fetchrow(IS_DUE, env.merchant_id, env.mode, event_id)
    return row is not None and bool(row["due"])


async def history(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> list[Attempt]:
    """Every finished attempt, in order."""
    return [
        Attempt(
            attempt=row["attempt"],
            status=row["status"],
            error=row["error"],
            timestamp=stamp(row["started_at"]),
            http_status=row["http_status"],
            duration_ms=row["duration_ms"],
            trigger=row["trigger"],
        )
        for row in await db.fetch(HISTORY, env.merchant_id, env.mode, event_id)
    ]


async def tests_since(tx: Tx, env: MerchantEnv, since: datetime) -> tuple[int, datetime]:
    """How many test events there were since then, and when the first of them was."""
    row = await tx.fetchrow(TESTS_SINCE, env.merchant_id, env.mode, since)
    return (0, since) if row is None else (row["count"], row["oldest"] or since)


def _event(row: Row) -> EventView:
    return EventView(
        id=str(row["id"]),
        type=row["type"],
        mode=row["mode"],
        livemode=row["mode"] == "live",
        created_at=stamp(row["created_at"]),
        destination_url=row["destination_url"],
        status=row["status"],
        attempts=row["attempts"],
        next_attempt_at=stamp_or_none(row["next_attempt_at"]),
        delivered_at=stamp_or_none(row["delivered_at"]),
        payload=msgspec.Raw(row["body"]),
    )
