"""The financial summary over HTTP: identity, lines, periods, CSV, and what is refused."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cast import Actor, application
from tests.ledger.reports.conftest import Harness
from tests.payments.shop import open_link, pay
from tollhouse.http.csv_table import escape_formula
from tollhouse.ledger.books.model import EntryType
from tollhouse.ledger.reports.model import LINE_OF, LINES

PATH = "/reports/financial-summary"
MARCH = datetime(2026, 3, 1, tzinfo=UTC)
YEAR = "from=2026-01-01&to=2027-01-01"


async def rows(actor: Actor, query: str = YEAR) -> list[dict[str, Any]]:
    """The rows of a report; each adds up."""
    found = (await actor.get(f"{PATH}?{query}")).ok().body["financial_summaries"]
    for row in found:
        assert row["opening_minor"] + sum(row[f"{line}_minor"] for line in LINES) == row["closing_minor"], row
        assert set(row["counts"]) == set(LINES)
    return found


async def test_a_report_without_history_has_no_rows(alice: Actor) -> None:
    answer = (await alice.get(PATH)).ok().body
    assert answer["financial_summaries"] == []
    assert (answer["object"], answer["group_by"], answer["mode"], answer["livemode"]) == (
        "financial_summary", "none", "test", False,
    )  # fmt: skip
    begin, end = (datetime.fromisoformat(answer[name]) for name in ("from", "to"))
    assert end - begin == timedelta(days=30)


@pytest.mark.covers("P-153")
async def test_a_payment_is_reported_as_it_is_in_the_balance(alice: Actor) -> None:
    await pay(await open_link(alice, amount="10.00"))
    await pay(await open_link(alice, amount="1500", currency="JPY"))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    euro, yen = await rows(alice, f"to={tomorrow}")
    assert (euro["currency"], euro["opening"], euro["payments_gross"], euro["closing"]) == ("EUR", "0.00", "10.00", "10.00")
    assert (yen["currency"], yen["decimals"], yen["closing"], yen["closing_minor"]) == ("JPY", 0, "1500", 1500)
    assert (euro["counts"]["payments_gross"], euro["counts"]["refunds"]) == (1, 0)
    assert euro["closing_minor"] == (await alice.get("/balances/EUR")).ok().body["total_minor"]
    assert (await alice.get(f"{PATH}?to={tomorrow}", mode="live")).ok().body["financial_summaries"] == []


EVERY: tuple[tuple[EntryType, int, str], ...] = (
    ("payment", 10_000, "payments_gross"),
    ("payment_fee", -100, "payment_fees"),
    ("refund", -300, "refunds"),
    ("refund_reversal", 30, "refunds"),
    ("chargeback", -500, "chargebacks"),
    ("chargeback_reversal", 50, "chargebacks"),
    ("chargeback_fee", -15, "chargeback_fees"),
    ("withdrawal", -1_000, "withdrawals"),
    ("withdrawal_return", 100, "withdrawals"),
    ("withdrawal_fee", -10, "withdrawal_fees"),
    ("network_fee", -5, "withdrawal_fees"),
    ("conversion_in", 700, "conversions_in"),
    ("conversion_out", -70, "conversions_out"),
    ("conversion_fee", -7, "conversion_fees"),
    ("fulfillment", -40, "fulfillments"),
    ("fulfillment_refund", 4, "fulfillments"),
    ("balance_payment_in", 60, "balance_payments_in"),
    ("balance_payment_refund", -6, "balance_payments_in"),
    ("balance_payment_out", -80, "balance_payments_out"),
    ("balance_payment_refund", 8, "balance_payments_out"),
    ("adjustment", 9, "adjustments"),
    ("test_funding", 1, "adjustments"),
)


@pytest.mark.covers("P-153")
async def test_every_type_of_entry_has_its_line(alice: Actor, harness: Harness) -> None:
    for entry_type, amount_minor, _ in EVERY:
        await harness.post(MARCH, entry_type, amount_minor)
    [row] = await rows(alice)
    expected = {line: sum(amount for _, amount, its_line in EVERY if its_line == line) for line in LINES}
    assert {line: row[f"{line}_minor"] for line in LINES} == expected
    assert row["counts"] == {line: sum(1 for *_, its_line in EVERY if its_line == line) for line in LINES}
    assert set(LINE_OF) < {entry_type for entry_type, *_ in EVERY}


@pytest.mark.covers("P-156")
async def test_what_is_set_aside_changes_no_total(alice: Actor, harness: Harness) -> None:
    await harness.post(MARCH, "payment", 1_000)
    await harness.move(MARCH + timedelta(days=1), "hold", 400)
    await harness.post(MARCH + timedelta(days=3), "withdrawal", -400, code="reserved")
    first, second = await rows(alice, "from=2026-03-01&to=2026-03-03"), await rows(alice, "from=2026-03-03&to=2026-03-05")
    assert [(row["closing_minor"], row["withdrawals_minor"], row["counts"]["withdrawals"]) for row in first] == [
        (1_000, 0, 0)
    ]
    assert [(row["closing_minor"], row["withdrawals_minor"], row["counts"]["withdrawals"]) for row in second] == [
        (600, -400, 1)
    ]
    assert first[0]["counts"]["adjustments"] == 0


async def test_a_project_is_reported_by_itself(alice: Actor, carol: Actor, harness: Harness) -> None:
    body = {"name": "Second shop", "mode": "test"}
    second = (await alice.dashboard("POST", "/projects", body)).ok(201).body["id"]
    [first] = [project["id"] for project in (await alice.get("/projects")).ok().body["projects"] if project["id"] != second]
    for project_id, amount in ((first, "3.00"), (second, "4.00"), (second, "5.00")):
        await pay(await open_link(alice, amount=amount, project_id=project_id))
    await harness.post(datetime.now(UTC), "adjustment", 100)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")
    for project_id, gross, count in ((first, 300, 1), (second, 900, 2)):
        [row] = await rows(alice, f"to={tomorrow}&project_id={project_id}")
        assert (row["payments_gross_minor"], row["counts"]["payments_gross"], row["closing_minor"]) == (gross, count, gross)
        assert row["adjustments_minor"] == 0
        later = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%d")
        [row] = await rows(alice, f"from={tomorrow}&to={later}&project_id={project_id}")
        assert row["opening_minor"] == row["closing_minor"] == gross
    assert (await carol.get(f"{PATH}?project_id={second}")).field_errors() == {"project_id": "invalid_project"}
    assert (await alice.get(f"{PATH}?project_id=mine")).field_errors() == {"project_id": "invalid_value"}


async def test_debt_is_taken_off_the_total(alice: Actor, harness: Harness) -> None:
    await harness.post(MARCH, "chargeback", -300, code="debt")
    [row] = await rows(alice)
    assert (row["chargebacks_minor"], row["closing_minor"]) == (-300, -300)
    await harness.post(MARCH, "payment", 500)
    [row] = await rows(alice)
    assert (row["closing_minor"], row["closing"]) == (200, "2.00")
    assert row["closing_minor"] == (await alice.get("/balances/EUR")).ok().body["total_minor"]


@pytest.mark.covers("P-154")
async def test_a_period_in_which_nothing_happened(alice: Actor, harness: Harness) -> None:
    await harness.post(MARCH, "payment", 1_000)
    [row] = await rows(alice, "from=2026-03-02&to=2026-03-03")
    assert row["opening_minor"] == row["closing_minor"] == 1_000
    assert not any(row[f"{line}_minor"] for line in LINES)
    [row] = await rows(alice, "from=2026-02-01&to=2026-03-01")
    assert row["opening_minor"] == row["closing_minor"] == 0
    [row] = await rows(alice, "from=2026-02-01&to=2026-03-02&currency=JPY")
    assert (row["currency"], row["closing"]) == ("JPY", "0")


async def test_an_interval_has_its_beginning_and_not_its_end(alice: Actor, harness: Harness) -> None:
    await harness.post(MARCH, "payment", 100)
    edge = "2026-03-01T00:00:00"
    assert [row["payments_gross_minor"] for row in await rows(alice, f"from={edge}.000Z&to={edge}.001Z")] == [100]
    assert [row["payments_gross_minor"] for row in await rows(alice, f"from=2026-02-28&to={edge}Z")] == [0]
    east = "2026-03-01T03:00:00%2B03:00"
    assert [row["payments_gross_minor"] for row in await rows(alice, f"from={east}&to=2026-03-02")] == [100]


async def test_days_and_months_are_those_of_utc(alice: Actor, harness: Harness) -> None:
    for day in (0, 0, 1, 31):
        await harness.post(MARCH + timedelta(days=day, hours=23), "payment", 100)
    days = await rows(alice, "from=2026-03-01T12:00:00Z&to=2026-03-04&group_by=day")
    assert [(row["from"], row["to"], row["payments_gross_minor"], row["closing_minor"]) for row in days] == [
        ("2026-03-01T12:00:00.000Z", "2026-03-02T00:00:00.000Z", 200, 200),
        ("2026-03-02T00:00:00.000Z", "2026-03-03T00:00:00.000Z", 100, 300),
        ("2026-03-03T00:00:00.000Z", "2026-03-04T00:00:00.000Z", 0, 300),
    ]
    months = await rows(alice, "from=2026-02-15&to=2026-04-03&group_by=month")
    assert [(row["from"][:10], row["opening_minor"], row["payments_gross_minor"]) for row in months] == [
        ("2026-02-15", 0, 0),
        ("2026-03-01", 0, 300),
        ("2026-04-01", 300, 100),
    ]
    assert len(await rows(alice, f"{YEAR}&group_by=month")) == 12
    assert len(await rows(alice, f"{YEAR}&group_by=day")) == 365


REFUSED: list[tuple[str, dict[str, str]]] = [
    ("from=2026-03-02&to=2026-03-01", {"from": "out_of_range"}),
    ("from=2026-03-01&to=2026-03-01", {"from": "out_of_range"}),
    ("from=2026-01-01&to=2027-01-03", {"from": "out_of_range"}),
    ("from=2026-01-01&to=2027-01-02T00:00:00.001Z", {"from": "out_of_range"}),
    ("from=2026-03-01T00:00:00&to=2026-03-02", {"from": "invalid_time"}),
    ("from=yesterday&to=1772323200", {"from": "invalid_time", "to": "invalid_time"}),
    ("from=0001-01-01&to=9999-12-31", {"from": "invalid_time", "to": "invalid_time"}),
    ("from=2026-02-30", {"from": "invalid_time"}),
    ("currency=eur", {"currency": "invalid_currency"}),
    ("group_by=week", {"group_by": "invalid_value"}),
    ("format=pdf", {"format": "invalid_value"}),
    ("form=2026-03-01", {"form": "unknown_field"}),
    ("from=2026-03-01&from=2026-03-02", {"from": "repeated"}),
]


@pytest.mark.covers("P-154")
async def test_what_cannot_be_reported(alice: Actor) -> None:
    for query, problems in REFUSED:
        assert (await alice.get(f"{PATH}?{query}")).field_errors() == problems


async def test_a_leap_year_is_not_too_long(alice: Actor) -> None:
    (await alice.get(f"{PATH}?from=2024-01-01&to=2025-01-01&group_by=day")).ok()


async def test_reports_have_a_permission_of_their_own(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "reports:read"))["access_token"]
    (await app.api(token, "GET", PATH)).ok()
    token = (await app.connect(alice, "balances:read payments:read"))["access_token"]
    assert (await app.api(token, "GET", PATH)).refused("missing_scope", 403).body["scope"] == "reports:read"


@pytest.mark.covers("P-155")
async def test_csv_says_what_json_says(alice: Actor, harness: Harness) -> None:
    await harness.post(MARCH, "payment", 123_456)
    await harness.post(MARCH + timedelta(days=1), "payment_fee", -5)
    await harness.post(MARCH, "payment", 7, currency="BTC")
    query = "from=2026-03-01&to=2026-03-03&group_by=day"
    answer = (await alice.get(f"{PATH}?{query}&format=csv")).ok()
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="financial-summary-20260301-20260303.csv"'
    assert answer.raw.count(b"\r\n") == answer.raw.count(b"\n") == 5
    table = list(csv.DictReader(io.StringIO(answer.text)))
    shown = await rows(alice, query)
    for cells, row in zip(table, shown, strict=True):
        for name in ("from", "to", "currency", "opening", *LINES, "closing"):
            assert cells[name] == row[name], name
        assert {line: int(cells[f"{line}_count"]) for line in LINES} == row["counts"]
    assert table[-1]["payment_fees"] == "-0.05"
    assert table[0]["closing"] == "0.00000007"


@pytest.mark.covers("P-155")
@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1+1", "'-1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-1.50", "-1.50"),
        ("-7", "-7"),
        ("EUR", "EUR"),
        ("", ""),
    ],
)
def test_no_cell_begins_a_formula(cell: str, safe: str) -> None:
    assert escape_formula(cell) == safe
