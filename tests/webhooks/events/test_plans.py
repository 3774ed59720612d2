"""The engine's statements look rows up one by one, also where vacuum has last seen their tables all but empty."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.webhooks.events.harness import eventually
from tollhouse.http.services import Services
from tollhouse.kernel.ids import new_id
from tollhouse.webhooks.delivery.worker import engine_services
from tollhouse.webhooks.events import delivery_store

IDS = "array_fill(gen_random_uuid(), ARRAY[90])"
ONES = "array_fill(1, ARRAY[90])"
TEXTS = "array_fill('automatic'::text, ARRAY[90])"
WAITS = "array_fill(interval '1 s', ARRAY[90])"
TIMES = "array_fill(now(), ARRAY[90])"
CLAIMED = f"array_fill(0, ARRAY[90]), {ONES}, {ONES}, gen_random_uuid(), '30 s'"
SEEN_EMPTY = """
    SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', t, 'relpages', 160, 'reltuples', 1::real)
    FROM unnest($1::text[]) AS t
"""
FILLED = """
    INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at)
    SELECT gen_random_uuid(), gen_random_uuid(), 'test', n, now(), now() FROM generate_series(1, 5000) AS n;
    INSERT INTO webhook_deliveries_later (event_id, merchant_id, mode, destination_key, run_at, trigger)
    SELECT gen_random_uuid(), gen_random_uuid(), 'test', n, now(), 'automatic' FROM generate_series(1, 5000) AS n;
"""
TABLES = ("webhook_deliveries", "webhook_deliveries_later", "webhook_secrets")
SENT = """
    INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at)
    SELECT gen_random_uuid(), $1, 'test', n % 40, now(), now() FROM generate_series(1, 12000) AS n
"""
GONE = """
    DELETE FROM webhook_deliveries
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM webhook_deliveries WHERE destination_key = 7 ORDER BY ctid LIMIT 100))
"""
NEXT = """
    EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT event_id FROM webhook_deliveries
    WHERE lane = 0 AND destination_key = 7 AND lease_until IS NULL ORDER BY run_at LIMIT 1
"""


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (delivery_store.CLAIM, CLAIMED),
        (delivery_store.DEFER, ONES),
        (delivery_store.PROMOTE, "1000"),
        (
            delivery_store.SETTLE,
            (
                f"{IDS}, {IDS}, {ONES}, {TEXTS}, {TEXTS}, {ONES}, {TIMES}, {ONES}, {WAITS}, {ONES}, {ONES}, {ONES}, "
                f"{TEXTS}, {TEXTS}"
            ),
        ),
    ],
    ids=["claim", "set aside", "promote", "settle"],
)
async def test_no_plan_reads_a_table_from_end_to_end(services: Services, statement: str, values: str) -> None:
    engine = engine_services(services)
    async with engine.db.connection() as tx:
        raw = tx.raw
        await raw.execute("BEGIN")
        await raw.execute(FILLED)
        await raw.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await raw.fetch(SEEN_EMPTY, TABLES)
        await raw.execute(f"PREPARE said AS {statement}")
        plan = msgspec.json.decode(await raw.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE said({values})"))
        await raw.execute("ROLLBACK")
        await raw.execute("DEALLOCATE said")
    await engine.db.close()
    assert looks_at(plan)
    assert [node for node in looks_at(plan) if "Bitmap" in node["Node Type"] or "Index Cond" not in node] == [], plan


async def test_nothing_but_its_index_is_considered_for_a_claim(services: Services) -> None:
    """What another index cost by the statistics of a bad moment cannot matter then."""
    engine = engine_services(services)
    async with engine.db.connection() as tx:
        raw = tx.raw
        await raw.execute("BEGIN")
        await raw.execute("DROP INDEX webhook_deliveries_ready")
        await raw.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await raw.execute(f"PREPARE said AS {delivery_store.CLAIM}")
        plan = msgspec.json.decode(await raw.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE said({CLAIMED})"))
        await raw.execute("ROLLBACK")
        await raw.execute("DEALLOCATE said")
    await engine.db.close()
    assert looks_at(plan)[0]["Node Type"] == "Seq Scan"


@pytest.mark.covers("W-54")
async def test_what_was_sent_is_passed_over_also_where_it_was_due_at_one_moment(services: Services) -> None:
    engine = engine_services(services)
    async with engine.db.connection() as tx:
        merchant = new_id()
        await tx.raw.execute(SENT, merchant)
        await tx.raw.execute(GONE)

        async def reads_little() -> bool:
            plan = msgspec.json.decode(await tx.raw.fetchval(NEXT))[0]["Plan"]
            return bool(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 20)

        await eventually(reads_little)  # once nobody else's snapshot holds it any more
        await tx.raw.execute("DELETE FROM webhook_deliveries WHERE merchant_id = $1", merchant)
    await engine.db.close()


def looks_at(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scans of the tables, in the plan's order."""
    return [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") in TABLES and "Scan" in node["Node Type"]]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)
