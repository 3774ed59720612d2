"""The engine's statements look rows up one by one, also where vacuum has last seen their tables all but empty."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tollhouse.events import delivery_store
from tollhouse.events.delivery import engine_house
from tollhouse.web.house import House

IDS = "array_fill(gen_random_uuid(), ARRAY[90])"
ONES = "array_fill(1, ARRAY[90])"
TEXTS = "array_fill('automatic'::text, ARRAY[90])"
WAITS = "array_fill(interval '1 s', ARRAY[90])"
TIMES = "array_fill(now(), ARRAY[90])"
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
TABLES = ("webhook_deliveries", "webhook_deliveries_later")


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (delivery_store.CLAIM, f"array_fill(0, ARRAY[90]), {ONES}, {ONES}, gen_random_uuid(), '30 s'"),
        (delivery_store.SET_ASIDE, ONES),
        (delivery_store.PROMOTE, "1000"),
        (
            delivery_store.SETTLE,
            f"{IDS}, {IDS}, {ONES}, {TEXTS}, {TEXTS}, {ONES}, {TIMES}, {ONES}, {WAITS}, {ONES}, {ONES}, {ONES}",
        ),
    ],
    ids=["claim", "set aside", "promote", "settle"],
)
async def test_no_plan_reads_a_table_from_end_to_end(house: House, statement: str, values: str) -> None:
    engine = engine_house(house)
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
    looks = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") in TABLES and "Scan" in node["Node Type"]]
    assert looks
    assert [node for node in looks if "Index Cond" not in node] == []


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)
