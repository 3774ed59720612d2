"""SQL that finds the objects and requests of a story. Every statement looks rows up by an index."""

import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.instance.trace.model import LoggedCall, ObjectRow, TracedObjects
from tollhouse.kernel.ids import ID_PATTERN, created_at_of
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.webhooks.request_log.store import CHANGES_AT_ONCE_MAX, first_id

PLANS_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
"""A few rows of tables of any size are read, also where the planner knows nothing of their size yet."""
PAYMENTS_OF_LINK_MAX = 20
REQUESTS_OF_CALLERS_ID_MAX = 20
SEARCHED_REQUESTS_MAX = 10_000
STEPS_MAX = 5
"""From a delivered event over its ledger entry, its ledger transaction and its refund to a payment."""
BEFORE, AFTER = timedelta(seconds=5), timedelta(seconds=30)
"""Around the time in the ID of a request: what it caused was recorded within."""
UUID_V7 = 7
OTHERS = ("withdrawal", "balance_payment", "fulfillment", "conversion")
ID = re.compile(ID_PATTERN)
FIRST_ID = re.compile('"id":"([0-9a-f-]{36})"')

# What has one of these IDs, and the object that it is about or a part of.
NAMED = """
    SELECT 'transaction' AS kind, id, NULL::uuid AS leads_to FROM transactions WHERE id = ANY ($1::uuid[])
    UNION ALL SELECT 'payment_link', id, NULL FROM payment_links WHERE id = ANY ($1)
    UNION ALL SELECT 'refund', id, transaction_id FROM refunds WHERE id = ANY ($1)
    UNION ALL SELECT 'chargeback', id, transaction_id FROM chargebacks WHERE id = ANY ($1)
    UNION ALL SELECT 'payment_reversal', id, transaction_id FROM payment_reversals WHERE id = ANY ($1)
    UNION ALL SELECT 'conversion', id, transaction_id FROM conversions WHERE id = ANY ($1)
    UNION ALL SELECT 'withdrawal', id, NULL FROM withdrawals WHERE id = ANY ($1)
    UNION ALL SELECT 'balance_payment', id, NULL FROM balance_payments WHERE id = ANY ($1)
    UNION ALL SELECT 'fulfillment', id, NULL FROM fulfillments WHERE id = ANY ($1)
    UNION ALL SELECT 'bank_transfer', p.id, coalesce(p.payout_id, t.id) FROM bank_entry_parts p
              LEFT JOIN transactions t ON t.rail = 'bank' AND t.mode = 'live' AND t.rail_reference = p.reference
              WHERE p.id = ANY ($1)
    UNION ALL SELECT 'ledger_transaction', id, source_id FROM ledger_transactions WHERE id = ANY ($1)
    UNION ALL SELECT 'ledger_entry', e.id, t.source_id FROM ledger_entries e
              JOIN ledger_transactions t ON t.id = e.transaction_id WHERE e.id = ANY ($1)
    UNION ALL SELECT 'ledger_hold', id, source_id FROM ledger_holds WHERE id = ANY ($1)
    UNION ALL SELECT 'event', id, source_id FROM webhook_events WHERE id = ANY ($1)
    UNION ALL SELECT 'operator_action', id, subject_id FROM operator_actions WHERE id = ANY ($1)
"""
PAYMENTS = """
    SELECT id, payment_link_id, rail, rail_reference FROM transactions WHERE id = ANY ($1::uuid[])
    UNION
    SELECT t.id, t.payment_link_id, t.rail, t.rail_reference FROM unnest($2::uuid[]) AS link (id)
    CROSS JOIN LATERAL (
        SELECT id, payment_link_id, rail, rail_reference FROM transactions
        WHERE payment_link_id = link.id ORDER BY created_at DESC, id DESC LIMIT $3) AS t
"""
# $1: payments, $2: links, $3: other objects.
OBJECTS = """
    SELECT 'payment_link' AS kind, id, merchant_id, NULL::uuid AS owner_id, mode, currency, amount_minor, status,
           external_id AS note, created_at, updated_at
    FROM payment_links WHERE id = ANY ($2::uuid[])
    UNION ALL
    SELECT 'transaction', id, merchant_id, NULL, mode, currency, amount_minor, status, coalesce(failure_code, method_id),
           created_at, updated_at
    FROM transactions WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT 'refund', id, merchant_id, NULL, mode, currency, amount_minor, status, coalesce(failure_code, reason),
           created_at, updated_at
    FROM refunds WHERE transaction_id = ANY ($1)
    UNION ALL
    SELECT 'chargeback', id, merchant_id, NULL, mode, currency, amount_minor, status, reason, opened_at,
           coalesce(closed_at, opened_at)
    FROM chargebacks WHERE transaction_id = ANY ($1)
    UNION ALL
    SELECT 'payment_reversal', id, merchant_id, NULL, mode, currency, reported_minor, status, reason, reported_at, updated_at
    FROM payment_reversals WHERE transaction_id = ANY ($1)
    UNION ALL
    SELECT 'conversion', id, merchant_id, NULL, mode, from_currency, from_amount_minor, status, to_currency, created_at,
           created_at
    FROM conversions WHERE transaction_id = ANY ($1)
    UNION
    SELECT 'conversion', id, merchant_id, NULL, mode, from_currency, from_amount_minor, status, to_currency, created_at,
           created_at
    FROM conversions WHERE id = ANY ($3::uuid[])
    UNION ALL
    SELECT 'withdrawal', id, merchant_id, NULL, mode, currency, amount_minor, status, coalesce(failure_code, method_id),
           created_at, updated_at
    FROM withdrawals WHERE id = ANY ($3)
    UNION ALL
    SELECT 'balance_payment', id, merchant_id, owner_id, mode, currency, amount_minor, status, client_id, created_at,
           updated_at
    FROM balance_payments WHERE id = ANY ($3)
    UNION ALL
    SELECT 'fulfillment', id, merchant_id, NULL, mode, currency, cost_minor, status, coalesce(failure_code, product_id),
           created_at, updated_at
    FROM fulfillments WHERE id = ANY ($3)
"""
CALL = """r.id, r.merchant_id, r.created_at, r.request_id, r.method, r.path, r.status, r.error, r.duration_us, r.credential,
           r.replayed, r.response_body, r.answered"""
CALL_BY_ID = f"""
    SELECT {CALL} FROM merchants m CROSS JOIN (VALUES ('live'), ('test')) AS e (mode)
    JOIN api_requests r ON r.merchant_id = m.id AND r.mode = e.mode AND r.id = $1
"""
CALLS_BY_CALLERS_ID = f"""
    SELECT {CALL} FROM api_requests r WHERE r.request_id = $1 AND r.request_id <> r.id ORDER BY r.id DESC LIMIT $2
"""
CALLS = f"""
    SELECT {CALL} FROM api_requests r
    WHERE r.merchant_id = ANY ($1::uuid[]) AND r.mode = ANY ('{{live,test}}') AND r.id = ANY ($2::uuid[])
"""
# Requests that were refused changed nothing, and are found by their path among the newest $4 of a merchant.
CALLS_BY_PATH = f"""
    SELECT {CALL} FROM unnest($1::uuid[]) AS m (id) CROSS JOIN (VALUES ('live'), ('test')) AS e (mode)
    CROSS JOIN LATERAL (
        SELECT * FROM api_requests
        WHERE merchant_id = m.id AND mode = e.mode AND id >= $2 ORDER BY id DESC LIMIT $4) AS r
    WHERE r.method <> 'GET' AND EXISTS (SELECT FROM unnest($3::text[]) AS one (id) WHERE strpos(r.path, one.id) > 0)
"""
# Changes that succeeded at one of the times $2, with ids from $3 to before $4 at the same position.
CALLS_AT = f"""
    SELECT {CALL} FROM unnest($1::uuid[]) AS m (id) CROSS JOIN (VALUES ('live'), ('test')) AS e (mode)
    CROSS JOIN unnest($2::timestamptz[], $3::uuid[], $4::uuid[]) AS moment (at, first, behind)
    CROSS JOIN LATERAL (
        SELECT * FROM api_requests
        WHERE merchant_id = m.id AND mode = e.mode AND id >= moment.first AND id < moment.behind AND created_at = moment.at
          AND method <> 'GET' AND status < 400 AND NOT replayed
        LIMIT $5) AS r
"""
# $2, $3: the smallest IDs of the first moment and of the one behind the last.
CAUSED_EVENTS = """
    SELECT id, source_id FROM webhook_events WHERE id >= $2 AND id < $3 AND request_id = $1
"""
CAUSED_AUDIT_EVENTS = """
    SELECT subject FROM audit_lines WHERE created_at >= $2 AND created_at < $3 AND request_id = $1
"""


@asynccontextmanager
async def connection(db: Pool) -> AsyncGenerator[Tx]:
    """A connection with one snapshot, on which statements look rows up one by one."""
    async with db.connection() as tx, tx.snapshot():
        await tx.run(PLANS_BY_INDEX)
        yield tx


async def find_named(tx: Tx, ids: Collection[UUID]) -> dict[str, set[UUID]]:
    """What has these IDs, and what it leads to, by kind."""
    found: defaultdict[str, set[UUID]] = defaultdict(set)
    seen: set[UUID] = set()
    next_ids = set(ids)
    for _ in range(STEPS_MAX):
        if not next_ids:
            break
        seen |= next_ids
        rows = await tx.fetch_custom_plan(NAMED, list(next_ids))
        for row in rows:
            found[row["kind"]].add(row["id"])
            if row["kind"] in {"ledger_transaction", "ledger_entry"}:
                found["ledger_source"].add(row["leads_to"])
        next_ids = {row["leads_to"] for row in rows if row["leads_to"] is not None} - seen
    return found


async def find_related(tx: Tx, named: dict[str, set[UUID]]) -> TracedObjects:
    """The payments of these links, the links of these payments, and the rest."""
    links = named.get("payment_link", set())
    rows = await tx.fetch_custom_plan(PAYMENTS, list(named.get("transaction", ())), list(links), PAYMENTS_OF_LINK_MAX)
    return TracedObjects(
        payments=[row["id"] for row in rows],
        links=list({*links, *(row["payment_link_id"] for row in rows)}),
        others=[object_id for kind in OTHERS for object_id in named.get(kind, ())],
        bank_references=[row["rail_reference"] for row in rows if row["rail"] == "bank"],
    )


async def list_objects(tx: Tx, traced: TracedObjects) -> list[ObjectRow]:
    """The objects with their amounts and states."""
    rows = await tx.fetch_custom_plan(OBJECTS, traced.payments, traced.links, traced.others)
    return [ObjectRow(*row.values()) for row in rows]


async def find_calls(tx: Tx, request: UUID) -> list[LoggedCall]:
    """Requests with this ID, which the service gave them or their caller chose."""
    rows = await tx.fetch_custom_plan(CALL_BY_ID, request)
    rows += await tx.fetch_custom_plan(CALLS_BY_CALLERS_ID, request, REQUESTS_OF_CALLERS_ID_MAX)
    return [_call(row) for row in rows]


async def list_calls(
    tx: Tx, merchants: list[UUID], requests: Collection[UUID], since: datetime, objects: Collection[UUID]
) -> list[LoggedCall]:
    """These requests, and others since then that were to change one of these objects."""
    rows = await tx.fetch_custom_plan(CALLS, merchants, list(requests))
    named = [str(object_id) for object_id in objects]
    rows += await tx.fetch_custom_plan(CALLS_BY_PATH, merchants, first_id(since), named, SEARCHED_REQUESTS_MAX)
    return [_call(row) for row in rows]


async def list_makers(
    tx: Tx, merchants: list[UUID], objects: Collection[UUID], times: Collection[datetime], since: datetime
) -> list[LoggedCall]:
    """The requests since then that made one of these objects, at one of these times. Not every object has an event."""
    kept = [at for at in set(times) if at >= since]
    bounds = [first_id(at - BEFORE) for at in kept], [first_id(at + BEFORE) for at in kept]
    calls = [_call(row) for row in await tx.fetch_custom_plan(CALLS_AT, merchants, kept, *bounds, CHANGES_AT_ONCE_MAX)]
    return [call for call in calls if not call.object_ids.isdisjoint(objects)]


async def list_caused(tx: Tx, request: UUID) -> set[UUID]:
    """The events that a request caused, and the objects that it changed: what was recorded about the time in its ID."""
    if request.version != UUID_V7:
        return set()
    at = created_at_of(request)
    start, end = at - BEFORE, at + AFTER
    events = await tx.fetch_custom_plan(CAUSED_EVENTS, request, first_id(start), first_id(end))
    audited = await tx.fetch_custom_plan(CAUSED_AUDIT_EVENTS, request, start, end)
    caused = {event_id for row in events for event_id in row.values()}
    return caused | {UUID(row["subject"]) for row in audited if ID.fullmatch(row["subject"] or "")}


def _call(row: Row) -> LoggedCall:
    body = row["answered"] if row["response_body"] is None else unpack(row["response_body"]).decode()
    answered = FIRST_ID.search(body or "") if row["method"] != "GET" else None
    named = {*ID.findall(row["path"]), *((answered[1],) if answered else ())}
    return LoggedCall(
        **{name: row[name] for name in LoggedCall.__struct_fields__ if name != "object_ids"},
        object_ids=frozenset(map(UUID, named)),
    )
