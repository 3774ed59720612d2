"""The payments of a merchant as a CSV file, and the plan by which they are found."""

import csv
import io
from typing import Any

import msgspec
import pytest

from tests.cast import Actor
from tests.forms import seen, signed_out
from tests.payments.bank import attempt, sell
from tests.payments.shop import open_link
from tests.running import Service
from tollhouse.pages.dashboard.payments import payments_export
from tollhouse.pages.dashboard.payments.payments_export import HEADER
from tollhouse.payments.transactions import payment_list_store
from tollhouse.platform.database.pool import Pool

CROWD = """
    INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
                              instructions, currency, amount_minor, status, failure_code, created_at, updated_at)
    SELECT gen_random_uuid(), merchant_id, mode, payment_link_id, method_id, method_type, rail, id || '/' || n, instructions,
           currency, amount_minor, 'failed', 'card_declined', created_at - n * interval '1 min', updated_at
    FROM transactions, generate_series(1, 5000) AS n WHERE id = $1::uuid
"""


async def exported(actor: Actor, query: str = "") -> list[dict[str, str]]:
    """The lines of the file, by the names of its columns."""
    answer = (await actor.send("GET", f"/test/payments.csv{query}")).ok()
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="payments-test-')
    text = answer.raw.decode("utf-8")
    assert text.endswith("\r\n")
    first, *rest = csv.reader(io.StringIO(text, newline=""))
    assert tuple(first) == HEADER
    return [dict(zip(HEADER, line, strict=True)) for line in rest]


async def test_every_payment_is_in_the_file(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payments_export, "ROWS_AT_ONCE", 2)
    link = await open_link(alice, amount="10.00", max_payments=9, display_name='Fish, "fresh"', external_id="=1+1")
    ids = [(await attempt(alice, link, "succeed" if n % 2 else "fail"))["id"] for n in range(5)][::-1]
    found = await exported(alice)
    assert [row["id"] for row in found] == ids
    one = found[1]
    assert (one["status"], one["amount"], one["amount_received"], one["fee"], one["net"], one["currency"]) == (
        "succeeded",
        "10.00",
        "10.00",
        "0.00",
        "10.00",
        "EUR",
    )
    assert (one["display_name"], one["external_id"], one["late"]) == ('Fish, "fresh"', "'=1+1", "false")
    kept = (await alice.get(f"/transactions/{ids[1]}")).ok().body
    assert (one["created_at"], one["succeeded_at"]) == (kept["created_at"], kept["succeeded_at"])
    assert found[0]["failure_code"] == "card_declined"
    assert [one["id"] for one in await exported(alice, "?status=failed")] == ids[::2]
    assert await exported(alice, "?status=chargeback") == []
    assert [one["id"] for one in await exported(alice, f"?before={ids[3]}")] == ids


async def test_the_page_says_how_many(alice: Actor) -> None:
    assert "There are no payments to export." in await seen(alice, "/test/payments/export")
    await sell(alice)
    assert "One payment" in await seen(alice, "/test/payments/export")
    await sell(alice, "fail")
    shown = await seen(alice, "/test/payments/export?from=2020-01-01")
    assert "2 payments" in shown
    assert 'href="/test/payments.csv?from=2020-01-01"' in shown
    assert 'data-rows="2"' in shown
    assert 'data-rows="1"' in await seen(alice, "/test/payments/export?status=failed")
    wrong = (await alice.send("GET", "/test/payments/export?from=May")).ok(303)
    assert wrong.location == "/test/payments?from=May"
    (await alice.send("GET", "/test/payments.csv?from=May")).refused("validation_failed", 422)


async def test_nobody_elses(alice: Actor, carol: Actor) -> None:
    await sell(alice)
    assert await exported(carol) == []
    for path in ("/test/payments.csv", "/test/payments/export"):
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
    await seen(alice, "/prod/payments.csv", 404)
    assert "There are no payments to export." in await seen(alice, "/live/payments/export")


async def test_a_page_deep_in_the_list_is_found_by_the_index(alice: Actor, service: Service) -> None:
    """By the plan for this page of a merchant with many payments, as the list is planned for its values."""
    paid = await sell(alice)
    pool = Pool(service.dsn, 1)
    async with pool.connection() as tx:
        raw = tx.raw
        await raw.execute("BEGIN")
        await raw.execute(CROWD, paid["id"])
        await raw.execute("ANALYZE transactions")
        await raw.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await raw.execute(f"PREPARE said AS {payment_list_store.LIST}")
        asked = f"'{alice.merchant_id}', 'test', now(), {', '.join(['NULL'] * 11)}, '{paid['id']}', 21"
        found = msgspec.json.decode(await raw.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE said({asked})"))
        await raw.execute("ROLLBACK")
        await raw.execute("DEALLOCATE said")
    await pool.close()
    every = nodes(found[0]["Plan"])
    walked = [node for node in every if node.get("Index Name") == "transactions_of_merchant"]
    assert ["ROW(created_at, id) <" in node["Index Cond"] for node in walked] == [True]
    assert walked[0]["Actual Rows"] <= 21
    assert {node["Node Type"] for node in every if node.get("Relation Name") == "transactions"} == {"Index Scan"}
    assert "Sort" not in {node["Node Type"] for node in every}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for inner in plan.get("Plans", []) for node in nodes(inner))]


async def test_the_file_has_receipt_number_and_tax(alice: Actor) -> None:
    taxed = {"amount": "1.19", "tax_lines": [{"name": "VAT 19%", "amount": "0.19"}], "max_payments": None}
    sold = await attempt(alice, await open_link(alice, **taxed, quantity={"max": 3}))
    assert ((await exported(alice))[0]["receipt_number"], (await exported(alice))[0]["tax"]) == ("", "0.19")
    await alice.send("GET", f"/test/payments/{sold['id']}")
    [row] = await alice.sql("SELECT year, number FROM receipts WHERE transaction_id = $1::uuid", sold["id"])
    await sell(alice)
    untaxed, one = await exported(alice)
    assert one["receipt_number"] == f"{row['year']}-{row['number']:06d}"
    assert (one["tax"], one["tax_currency"], untaxed["tax"], untaxed["tax_currency"]) == ("0.19", "EUR", "", "")
