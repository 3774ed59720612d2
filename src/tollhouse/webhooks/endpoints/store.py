"""SQL of the saved configuration, events and attempts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.webhooks.delivery.signed_request import shown_headers
from tollhouse.webhooks.endpoints.model import (
    EVENT,
    NOT_SENT,
    AttemptExchange,
    DeliveryAttempt,
    EventsPageQuery,
    WebhookConfiguration,
    WebhookEvent,
)

SEARCHED_EVENTS_MAX = 50_000
COMMON_TYPES = frozenset({"payment.succeeded", "balance.updated"})
"""The types that are not in the index by type: every payment has them."""
RARE_STATUSES = frozenset({"retrying", "failed", "canceled", "held"})
"""The statuses of which `webhook_event_statuses` has all events, in the order of the list."""
QUEUED_EVENTS_MAX = 1_000
"""With more events in the queue, the pending ones are found along the list."""

CONFIGURATION = """
    SELECT n.url, n.event_types, n.delivery_disabled_at, n.created_at, n.updated_at,
           EXISTS (SELECT FROM webhook_secrets s
                   WHERE s.merchant_id = $1 AND s.mode = $2 AND s.state = 'active') AS has_secret
    FROM webhook_environments n WHERE n.merchant_id = $1 AND n.mode = $2
"""
EVENTS = f"""
    SELECT {EVENT.columns}
    FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text[] IS NULL OR type = ANY($4)) AND ($5::uuid IS NULL OR source_id = $5)
      AND created_at >= $6 AND (created_at, id) < ($7, $8)
    ORDER BY created_at DESC, id DESC LIMIT $9 OFFSET $10
"""
# The same for statuses that few events have: no other events are read.
EVENTS_OF_STATUSES = f"""
    SELECT {EVENT.columns_of("found")}
    FROM (SELECT DISTINCT unnest($3::text[]) AS status) AS wanted
    CROSS JOIN LATERAL (
        SELECT e.* FROM webhook_event_statuses s
        JOIN webhook_events e ON e.id = s.event_id AND e.merchant_id = $1 AND e.mode = $2 AND e.status = wanted.status
        WHERE s.merchant_id = $1 AND s.mode = $2 AND s.status = wanted.status
          AND ($4::text[] IS NULL OR e.type = ANY($4)) AND ($5::uuid IS NULL OR e.source_id = $5)
          AND s.created_at >= $6 AND (s.created_at, s.event_id) < ($7, $8)
        ORDER BY s.created_at DESC, s.event_id DESC LIMIT $9::bigint + $10::bigint) AS found
    ORDER BY found.created_at DESC, found.id DESC LIMIT $9 OFFSET $10
"""
# Every pending event is in the queue.
QUEUED = "SELECT event_id FROM webhook_deliveries WHERE merchant_id = $1 AND mode = $2 LIMIT $3"
QUEUED_EVENTS = f"""
    SELECT {EVENT.columns}
    FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND status = ANY($3::text[])
      AND ($4::text[] IS NULL OR type = ANY($4)) AND ($5::uuid IS NULL OR source_id = $5)
      AND created_at >= $6 AND (created_at, id) < ($7, $8) AND id = ANY($11::uuid[])
    ORDER BY created_at DESC, id DESC LIMIT $9 OFFSET $10
"""
# Only the newest $5 events are searched, which bounds the cost of rare matches.
FILTERED_EVENTS = f"""
    SELECT {EVENT.columns_of("newest")}
    FROM (SELECT * FROM webhook_events WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $5)
         AS newest
    WHERE ($3::text = '' OR status = $3) AND ($4::text = '' OR type = $4)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
GET_EVENT = f"SELECT {EVENT.columns} FROM webhook_events WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# Uses the clock of the database, as `next_attempt_at` does.
IS_DUE = """
    SELECT next_attempt_at <= clock_timestamp() AS due FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
HISTORY = """
    SELECT a.attempt, a.status, a.error, a.started_at AS timestamp, a.http_status, a.duration_ms, a.trigger
    FROM webhook_attempts a JOIN webhook_events e ON e.id = a.event_id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3 ORDER BY a.attempt
"""
# The newest attempts with what was received.
EXCHANGES = """
    SELECT e.type, e.position, a.attempt, a.error, a.started_at, a.http_status, a.response_headers, a.response_body
    FROM webhook_attempts a JOIN webhook_events e ON e.id = a.event_id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3 ORDER BY a.attempt DESC LIMIT $4
"""
# Test events, and events sent to another URL.
TESTS_SINCE = """
    SELECT count(*) AS count, min(created_at) AS oldest FROM (
        SELECT created_at FROM webhook_events
        WHERE merchant_id = $1 AND mode = $2 AND destination_source = 'test' AND created_at > $3
        UNION ALL SELECT created_at FROM webhook_replays WHERE merchant_id = $1 AND mode = $2 AND created_at > $3) AS sent
"""


class EventFilter(Struct, frozen=True):
    """Which events to list; None matches all. In the order of the parameters of `EVENTS`."""

    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    resource_id: UUID | None = None


async def get_configuration(db: Pool | Tx, env: MerchantEnv) -> WebhookConfiguration | None:
    """The saved configuration, if any."""
    row = await db.fetchrow(CONFIGURATION, env.merchant_id, env.mode)
    if row is None or row["url"] is None:
        return None
    return WebhookConfiguration(
        url=row["url"],
        event_types=row["event_types"],
        enabled=row["delivery_disabled_at"] is None,
        has_secret=row["has_secret"],
        mode=env.mode,
        livemode=env.livemode,
        created_at=stamp(row["created_at"]),
        updated_at=stamp(row["updated_at"]),
    )


async def is_delivery_enabled(db: Pool | Tx, env: MerchantEnv) -> bool:
    """Whether delivery is enabled in this environment."""
    row = await db.fetchrow(CONFIGURATION, env.merchant_id, env.mode)
    return row is None or row["delivery_disabled_at"] is None


async def list_events(db: Pool, env: MerchantEnv, event_filter: EventFilter, window: Window) -> list[WebhookEvent]:
    """A page of events, newest first."""
    values = (*msgspec.structs.astuple(event_filter), *msgspec.structs.astuple(window))
    statement, whose = EVENTS, (env.merchant_id, env.mode)
    statuses = set(event_filter.status or ())
    if statuses and statuses <= RARE_STATUSES:
        statement = EVENTS_OF_STATUSES
    elif statuses == {"pending"}:
        queued = [row["event_id"] for row in await db.fetch(QUEUED, *whose, QUEUED_EVENTS_MAX + 1)]
        if len(queued) <= QUEUED_EVENTS_MAX:
            statement, values = QUEUED_EVENTS, (*values, queued)
    return [EVENT.read(row) for row in await db.fetch_custom_plan(statement, *whose, *values)]


def is_search_bounded(query: EventsPageQuery) -> bool:
    """Whether only the newest events are searched: those of this type and status cannot be found without the others."""
    return query.type in {"", *COMMON_TYPES} and query.status not in {"pending", *RARE_STATUSES}


async def list_filtered_events(db: Pool, env: MerchantEnv, query: EventsPageQuery) -> list[WebhookEvent]:
    """A page of matching events; among the newest ones, where the search is bounded."""
    if not is_search_bounded(query):
        event_filter = EventFilter([query.status] if query.status else None, [query.type] if query.type else None)
        return await list_events(db, env, event_filter, query.window)
    values = (query.status, query.type, SEARCHED_EVENTS_MAX, query.fetch, query.offset)
    return [EVENT.read(row) for row in await db.fetch(FILTERED_EVENTS, env.merchant_id, env.mode, *values)]


async def get_event(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> WebhookEvent | None:
    """An event of this environment; None if there is none."""
    row = await db.fetchrow(GET_EVENT, env.merchant_id, env.mode, event_id)
    return None if row is None else EVENT.read(row)


async def is_attempt_due(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> bool:
    """Whether an attempt is due or under way."""
    row = await db.fetchrow(IS_DUE, env.merchant_id, env.mode, event_id)
    return row is not None and bool(row["due"])


async def list_attempts(db: Pool | Tx, env: MerchantEnv, event_id: UUID) -> list[DeliveryAttempt]:
    """The finished attempts in order."""
    rows = await db.fetch(HISTORY, env.merchant_id, env.mode, event_id)
    return [DeliveryAttempt(**dict[str, Any](row, timestamp=stamp(row["timestamp"]))) for row in rows]


async def list_exchanges(db: Pool | Tx, env: MerchantEnv, event_id: UUID, limit: int) -> list[AttemptExchange]:
    """The newest attempts with what was sent and received."""
    rows = await db.fetch(EXCHANGES, env.merchant_id, env.mode, event_id, limit)
    return [exchange_of(env, event_id, row) for row in rows]


def exchange_of(env: MerchantEnv, event_id: UUID, row: Row) -> AttemptExchange:
    """What was sent and received."""
    sent = row["error"] not in NOT_SENT
    headers = (
        shown_headers(event_id, row["type"], row["position"], env.mode, row["attempt"], row["started_at"]) if sent else {}
    )
    received = row["response_headers"]
    return AttemptExchange(
        attempt=row["attempt"],
        request_headers=headers,
        http_status=row["http_status"],
        response_headers=None if received is None else msgspec.json.decode(received, type=dict[str, str]),
        response_body=row["response_body"],
    )


async def count_tests_since(tx: Tx, env: MerchantEnv, since: datetime) -> tuple[int, datetime]:
    """How many events were sent to a URL of a form since then, and the time of the first."""
    row = await tx.fetchrow(TESTS_SINCE, env.merchant_id, env.mode, since)
    return (0, since) if row is None else (row["count"], row["oldest"] or since)
