"""The dashboard's page of reports, as a browser without scripts gets it; and its files."""

import csv
import io
import re
import zipfile
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from lxml import etree

from tests.cast import Actor, Answer
from tests.forms import seen, signed_out, wrong
from tests.ledger.reports.conftest import Harness
from tests.payments.bank import bank_says, refund, sell
from tests.payments.shop import open_link, pay
from tollhouse.ledger.reports.model import LINES
from tollhouse.ledger.reports.tables import COLUMNS

SECTION = re.compile(r'<section[^>]* aria-labelledby="((?!menu)[^"]+)"[^>]*>(.*?)</section>', re.DOTALL)
ROW = re.compile(r'<tr[^>]*><th role="rowheader"[^>]*>(.*?)</th>(.*?)</tr>', re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
TAGS = re.compile(r"<[^>]+>")
SHEETS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
MARCH = "?period=custom&from=2026-03-01&to=2026-03-31"
YEAR = "?period=custom&from=2026-01-01&to=2026-12-31"
METHODS = "reports/methods"
Table = dict[str, list[str]]


async def tables(actor: Actor, query: str = "", mode: str = "test", page: str = "reports") -> dict[str, Table]:
    """The rows of each part of the page, by their names."""
    shown = await seen(actor, f"/{mode}/{page}{query}")
    return {
        name: {
            TAGS.sub("", row).strip(): [TAGS.sub("", cell) for cell in CELL.findall(cells)]
            for row, cells in ROW.findall(part)
        }
        for name, part in SECTION.findall(shown)
    }


async def file(actor: Actor, ending: str, query: str = "", mode: str = "test", **headers: str) -> Answer:
    answer = (await actor.send("GET", f"/{mode}/reports.{ending}{query}", headers=headers)).ok()
    assert re.fullmatch(
        rf'attachment; filename="report-{mode}-[0-9-]+-to-[0-9-]+\.{ending}"', answer.headers["Content-Disposition"]
    )
    return answer


async def cells(actor: Actor, query: str = "", **headers: str) -> list[list[list[tuple[str, str]]]]:
    """What stands in each row of each sheet of the workbook: the kind of a cell, and its text."""
    answer = await file(actor, "xlsx", query, **headers)
    with zipfile.ZipFile(io.BytesIO(answer.raw)) as book:
        names = sorted(name for name in book.namelist() if name.startswith("xl/worksheets/sheet"))
        sheets = [etree.fromstring(book.read(name)) for name in names]
    return [
        [
            [(cell.get("t", "n"), "".join(str(text) for text in cell.itertext())) for cell in row.iterfind("s:c", SHEETS)]
            for row in sheet.iterfind(".//s:row", SHEETS)
        ]
        for sheet in sheets
    ]


def test_every_line_counts_in_one_column() -> None:
    assert sorted(line for of in COLUMNS.values() for line in of) == sorted(LINES)


async def test_without_history(alice: Actor) -> None:
    page = await seen(alice, "/test/reports")
    assert "No entries yet" in page
    assert "Create a test payment link and pay it in the simulator." in page
    assert "Download:" not in page
    assert "No payments in this period." in await seen(alice, f"/test/{METHODS}")
    assert "Reports appear here with your first payment." in await seen(alice, "/live/reports")
    assert len((await cells(alice))[1]) == 1
    assert (await file(alice, "csv", mode="live")).text.count("\r\n") == 1


async def test_the_page_says_what_the_api_says(alice: Actor) -> None:
    paid = await sell(alice, amount="30.00")
    given = (await refund(alice, paid, "12.00")).ok(201).body
    (await bank_says(alice, given, "succeed")).ok()
    await sell(alice, amount="7.00", currency="USD")
    shown = await tables(alice)
    assert shown["currencies"] == {
        "EUR": ["€0.00", "€30.00", "€0.00", "\N{MINUS SIGN}€12.00", "€0.00", "€0.00", "€18.00"],
        "USD": ["$0.00", "$7.00", "$0.00", "$0.00", "$0.00", "$0.00", "$7.00"],
    }
    assert shown["lines"] == {
        "Opening": ["", "€0.00"],
        "Payments": ["1", "€30.00"],
        "Refunds": ["1", "\N{MINUS SIGN}€12.00"],
        "Closing": ["", "€18.00"],
    }
    assert await tables(alice, page=METHODS) == {
        "methods-EUR": {"Test payment in EUR": ["1", "€30.00", "€0.00", "\N{MINUS SIGN}€12.00", "€18.00"]},
        "methods-USD": {"Test payment in USD": ["1", "$7.00", "$0.00", "$0.00", "$7.00"]},
    }
    days = list((await tables(alice, "?period=7d"))["over-time"].values())
    assert len(days) == 7
    assert all(one[-1] == after[0] for one, after in pairwise(days))
    assert days[-1] == shown["currencies"]["EUR"]
    assert (await tables(alice, mode="live")).keys() == {"currencies"}


async def test_the_ledger_alone_is_reported(alice: Actor, harness: Harness) -> None:
    """Fees, days and months, at the clocks of the merchant."""
    await harness.post(datetime(2026, 2, 27, tzinfo=UTC), "payment", 10_000)
    await harness.post(datetime(2026, 3, 31, 22, 30, tzinfo=UTC), "payment", 20_000)
    await harness.post(datetime(2026, 3, 31, 22, 30, tzinfo=UTC), "payment_fee", -500)
    await harness.post(datetime(2026, 3, 31, 22, 30, tzinfo=UTC), "withdrawal_fee", -100)
    shown = await tables(alice, MARCH)
    assert shown["currencies"] == {
        "EUR": ["€100.00", "€200.00", "\N{MINUS SIGN}€6.00", "€0.00", "€0.00", "€0.00", "€294.00"]
    }
    assert shown["fees"] == {
        "Payment fees": ["\N{MINUS SIGN}€5.00", "2.5%"],
        "Withdrawal fees": ["\N{MINUS SIGN}€1.00", "0.5%"],
        "Total fees": ["\N{MINUS SIGN}€6.00", "3.0%"],
    }
    assert shown["over-time"]["31 Mar"][1] == "€200.00"
    months = (await tables(alice, YEAR))["over-time"]
    assert (months["Feb 2026"][1], months["Mar 2026"][1], months["Apr 2026"][1]) == ("€100.00", "€200.00", "€0.00")
    await alice.sql("UPDATE merchants SET time_zone = 'Europe/Berlin' WHERE id = $1::uuid", alice.merchant_id)
    assert (await tables(alice, MARCH))["currencies"] == {"EUR": ["€100.00", *["€0.00"] * 5, "€100.00"]}
    assert (await tables(alice, YEAR))["over-time"]["Apr 2026"][1] == "€200.00"
    by_day = await seen(alice, f"/test/reports{YEAR}&group_by=day")
    assert "The period is longer than 93 days" in by_day
    rows = list(csv.DictReader((await file(alice, "csv", f"{YEAR}&group_by=day")).text.splitlines()))
    assert len(rows) > 93
    assert {row["from"][10:] for row in rows} == {"T22:00:00.000Z", "T23:00:00.000Z"}
    assert sum(float(row["payments_gross"]) for row in rows) == 300


async def test_one_project_alone(alice: Actor) -> None:
    await pay(await open_link(alice, amount="10.00"))
    body = {"name": "Other", "website_url": "https://other.example", "mode": "test"}
    other = (await alice.dashboard("POST", "/projects", body)).ok(201)
    await pay(await open_link(alice, amount="4.00", project_id=other.body["id"]))
    shown = await tables(alice, f"?project_id={other.body['id']}")
    assert shown["currencies"] == {"EUR": ["€0.00", "€4.00", *["€0.00"] * 4, "€4.00"]}
    of_project = await tables(alice, f"?project_id={other.body['id']}", page=METHODS)
    assert of_project == {"methods-EUR": {"Test payment in EUR": ["1", "€4.00", "€0.00", "€0.00", "€4.00"]}}
    assert "Other</option>" in await seen(alice, "/test/reports")


async def test_the_workbook_holds_numbers_and_no_formulas(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET business_name = '=1+1' WHERE id = $1::uuid", alice.merchant_id)
    await sell(alice, amount="30.00")
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "90000000000000.00"})).ok(201)
    whole, days, methods = await cells(alice, "?period=7d")
    assert whole[0][0][1].endswith(": =1+1")
    euro = next(row for row in whole if row and row[0][1] == "EUR")
    assert euro[1:3] == [("n", "0.00"), ("n", "30.00")]
    assert euro[-1][0] != "n"
    assert euro[-1][1] == "90000000000030.00"
    assert len(days) == 8
    assert all(kind != "str" for sheet in (whole, days, methods) for row in sheet for kind, _ in row)
    assert methods[1][2:4] == [("n", "1"), ("n", "30.00")]


async def test_files_are_in_the_language_of_the_reader(alice: Actor) -> None:
    await sell(alice, amount="30.00")
    whole, *_ = await cells(alice, **{"Accept-Language": "de"})
    assert any(text.startswith("Währung") for row in whole for _, text in row)
    page = (await file(alice, "pdf", **{"Accept-Language": "de"})).raw
    assert page.startswith(b"%PDF-")
    assert b"/Lang (de)" in page
    assert page.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("?period=custom&from=x&to=2026-01-01", {"from"}),
        ("?period=custom&from=2020-01-01&to=2026-01-01", {"from"}),
        ("?project_id=x", {"project_id"}),
        ("?project_id=00000000-0000-7000-8000-000000000000", {"project_id"}),
    ],
)
async def test_what_cannot_be_reported_is_reported(alice: Actor, query: str, fields: set[str]) -> None:
    page = (await alice.send("GET", f"/test/reports{query}", headers={"Accept": "text/html"})).ok(422)
    assert wrong(page).keys() == fields
    await seen(alice, f"/test/reports.xlsx{query}", 422)


async def test_nobody_else_sees_it(alice: Actor, carol: Actor) -> None:
    await sell(alice, amount="30.00")
    assert (await tables(carol))["currencies"] == {}
    for ending in ("", ".csv", ".xlsx", ".pdf"):
        path = f"/test/reports{ending}"
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
        await seen(alice, f"/prod/reports{ending}", 404)
