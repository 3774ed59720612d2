"""The journal and the file for DATEV."""

import csv
import io
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.cast import Actor
from tests.ledger.accounting.test_trial_balance import HOURS_AGO, adjust
from tests.rails.bank.steps import Bank, earned
from tollhouse.kernel import clock
from tollhouse.ledger.accounting import journal
from tollhouse.ledger.accounting.model import DailyTotal

DAY = date(2026, 11, 3)
BATCH = journal.PostingBatch(1001, 42, date(2026, 11, 1), date(2026, 11, 30), datetime(2026, 12, 1, 9, 30, tzinfo=UTC))
NUMBERS = {"bank": "1800", "rail": "1460", "merchants": "1700", "income": "4400", "income:payment_fee": "44010"}


def bookings(*days: DailyTotal) -> list[list[str]]:
    """The lines of a file after the two of its head."""
    head, columns, *rows = journal.write_datev(BATCH, days, NUMBERS).decode("cp1252").split("\r\n")
    assert head.startswith('"EXTF";700;21;"Buchungsstapel";13;20261201093000000;;"TH";"";"";1001;42;20260101;4;20261101;')
    assert (head.count(";"), columns.count(";"), rows.pop()) == (30, 124, "")
    return [row.split(";") for row in rows]


def test_a_day_is_one_booking_for_each_pair_of_accounts() -> None:
    first, second = bookings(
        DailyTotal(DAY, "payment", "rail:bank", "available", 123_456, 7),
        DailyTotal(DAY, "hold", "available", "reserved", 500, 1),
        DailyTotal(DAY, "payment_fee", "available", "income:payment_fee", 5, 7),
    )
    assert first[:3] + first[6:8] + first[9:11] + [first[13]] == [
        *("1234,56", '"S"', '"EUR"', "1460", "1700", "0311", '"TH20261103"', '"payment (7)"'),
    ]
    assert (second[0], second[6], second[7]) == ("0,05", "1700", "44010")


def test_a_large_total_is_divided() -> None:
    rows = bookings(DailyTotal(DAY, "payment", "rail:bank", "available", 2 * journal.AMOUNT_MAX + 1, 9))
    assert [row[0] for row in rows] == ["9999999999,99", "9999999999,99", "0,01"]


def test_missing_numbers_are_listed() -> None:
    days = [DailyTotal(DAY, "bank_fee", "expense:bank_fee", "unmatched:bank", 5, 1)]
    assert journal.missing_accounts(days, NUMBERS) == ["expense:bank_fee", "unmatched:bank"]
    assert journal.missing_accounts(days, NUMBERS | {"expense": "6300", "unmatched:bank": "1590"}) == []


async def test_the_journal_has_every_posting_once(alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    services, start = bank.services, clock.now() - 2 * HOURS_AGO
    for amount_minor in (11, 22, 33):
        await services.transact(lambda work, minor=amount_minor: adjust(work, alice, "EUR", minor), start)
    await services.transact(lambda work: adjust(work, alice, "EUR", 44), start + HOURS_AGO)

    async def amounts(end: datetime) -> list[str]:
        text = "".join([part async for part in journal.as_csv(services.db, start, end, services.catalogue)])
        rows = csv.DictReader(io.StringIO(text))
        mine = [row for row in rows if row["credit_merchant_id"] == alice.merchant_id]
        assert {(row["debit_account"], row["credit_account"]) for row in mine} == {("equity:adjustment", "available")}
        return [row["amount"] for row in mine]

    whole = await amounts(clock.now())
    assert (sorted(whole[:3]), whole[3:]) == (["0.11", "0.22", "0.33"], ["0.44"])
    monkeypatch.setattr(journal, "ROWS_AT_ONCE", 1)
    assert await amounts(clock.now()) == whole
    assert await amounts(start + HOURS_AGO) == whole[:3]


async def test_files_of_the_page(alice: Actor, bank: Bank, olga: Actor) -> None:
    await earned(alice, bank, "10.00")
    today = clock.now().date()
    days = f"from={today}&to={today}"
    shown = (await olga.send("GET", "/operator/books/journal")).ok().text
    assert (today.replace(day=1) - timedelta(days=1)).isoformat() in shown
    postings = (await olga.send("GET", f"/operator/books/journal.csv?{days}")).ok().text
    assert ",payment,EUR,10.00,rail:bank,," in postings
    file = (await olga.send("GET", f"/operator/books/datev.csv?{days}")).ok()
    assert f"EXTF_Buchungsstapel_{today:%Y%m%d}_{today:%Y%m%d}.csv" in file.headers["Content-Disposition"]
    assert f'"EUR";;;;1460;1700;;{today:%d%m};"TH{today:%Y%m%d}"' in file.raw.decode(journal.ENCODING)
    for wrong in (
        f"from={today}&to=gone",
        f"from={today}&to={today - timedelta(days=1)}",
        f"to={today + timedelta(days=2)}",
    ):
        assert "Nothing was downloaded." in (await olga.send("GET", f"/operator/books/datev.csv?{wrong}")).ok(422).text
        (await olga.send("GET", f"/operator/books/journal.csv?{wrong}")).refused("validation_failed", 422)
    years = (await olga.send("GET", f"/operator/books/datev.csv?from=2025-12-31&to={today}")).ok(422)
    assert "All days of a file for DATEV must be of one year." in years.text
