"""With many payments the home page and the ledger look up what they show by an index, and read no table from end to end."""

from collections.abc import Iterator
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tollhouse.pages.dashboard.balances import ledger_store as books
from tollhouse.pages.dashboard.home import home_store as home

FILLED = """
    INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
        instructions, currency, amount_minor, received_minor, credited_minor, status, failure_code, created_at, updated_at,
        succeeded_at)
    SELECT gen_random_uuid(), $1, 'test', gen_random_uuid(), 'sandbox:EUR', 'simulator', 'sandbox', gen_random_uuid(), '{}',
           'EUR', 100, CASE WHEN good THEN 100 ELSE 0 END, CASE WHEN good THEN 100 ELSE 0 END,
           CASE WHEN good THEN 'succeeded' ELSE 'failed' END, CASE WHEN good THEN NULL ELSE 'declined' END,
           now() - n * interval '1 hour', now() - n * interval '1 hour',
           CASE WHEN good THEN now() - n * interval '1 hour' END
    FROM (SELECT n, n % 9 > 0 AS good FROM generate_series(1, 4000) AS n) AS these;
"""
POSTED = """
    INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id, line,
        delta, balance_after, created_at)
    SELECT -1, n, gen_random_uuid(), $1, 'test', 'EUR', 'available', 'payment', gen_random_uuid(), 1, 1, n,
           now() - n * interval '1 hour'
    FROM generate_series(1, 4000) AS n
"""
EVER = "'1970-01-01Z'::timestamptz, '3000-01-01Z'::timestamptz, '', '', ''"
EVER_IN_EUROS = EVER.replace("''", "'EUR'", 1)

PLANNED = {books.OLDER}
"""The statements that are planned for their values."""


@pytest.mark.parametrize(
    ("statement", "values", "index"),
    [
        (home.SUCCEEDED, "now() - interval '15 minutes', now()", "transactions_succeeded"),
        (home.FAILED, "now() - interval '15 minutes', now()", "transactions_failed"),
        (home.TO_DECIDE, "1000", "transactions_to_decide"),
        (home.LATEST, "now(), 8", "transactions_of_merchant"),
        (books.OLDER, f"now(), gen_random_uuid(), {EVER}, 21, NULL", "ledger_entries_of_merchant"),
        (books.OLDER, f"now(), gen_random_uuid(), {EVER_IN_EUROS}, 21, NULL", "ledger_entries_of_merchant"),
    ],
    ids=["came", "failed", "to decide", "latest", "older", "older in a currency"],
)
async def test_what_is_shown_is_found_by_an_index(alice: Actor, statement: str, values: str, index: str) -> None:
    raw = await asyncpg.connect(alice.service.dsn)
    try:
        await raw.execute("BEGIN")
        await raw.execute("SET LOCAL session_replication_role = replica")  # the rows alone: nothing that they belong to
        for statement_of_rows in (FILLED, POSTED):
            await raw.execute(statement_of_rows.replace("$1", f"'{alice.merchant_id}'"))
        await raw.execute("ANALYZE transactions, ledger_entries")
        await raw.execute(
            f"SET LOCAL plan_cache_mode = {'force_custom_plan' if statement in PLANNED else 'force_generic_plan'}"
        )
        await raw.execute(f"PREPARE said AS {statement}")
        said = f"EXPLAIN (FORMAT JSON) EXECUTE said('{alice.merchant_id}', 'test', {values})"
        plan = msgspec.json.decode(await raw.fetchval(said))
    finally:
        await raw.close()
    looks = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") in {"transactions", "ledger_entries"}]
    assert [node.get("Index Name") for node in looks] == [index], looks
    assert all("Index Cond" in node for node in looks)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)
