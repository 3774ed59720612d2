"""The list of transfers that were applied to nothing: its filters, order and sums, and the same as CSV."""

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import TODAY, Line
from tests.rails.bank.steps import Bank, offer
from tests.running import Service
from tollhouse.http import lists
from tollhouse.pages.console import transfer_pages
from tollhouse.rails.bank.reconciliation import reconcile

AMOUNT = re.compile(r'class="amount e r1"><data class="tab" value="([^"]*)"')
NEXT = re.compile(r'href="([^"]+)" rel="next"')


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga is the operator."""
    async with signed_in_operator(service) as actor:
        yield actor


def amounts_of(page: str) -> list[str]:
    """The amounts of the list on a page, as numbers."""
    return AMOUNT.findall(page.partition('id="announced"')[0])


async def listed(olga: Actor, **query: str) -> tuple[list[str], str]:
    """The amounts of a page of the list, and the page."""
    page = (await olga.send("GET", f"/operator/transfers?{urlencode(query)}")).ok().text
    return amounts_of(page), page


async def exported(olga: Actor, **query: str) -> list[dict[str, str]]:
    """The rows of the CSV file."""
    text = (await olga.send("GET", f"/operator/transfers.csv?{urlencode(query)}")).ok().text
    return list(csv.DictReader(io.StringIO(text)))


async def test_transfers_are_filtered_sorted_and_exported(
    alice: Actor, olga: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, reference = await offer(alice, "20.00")
    mark, tomorrow = uuid4().hex, TODAY + timedelta(days=1)
    near = reference[:-1] + ("2" if reference[-1] != "2" else "3")
    await bank.shows(
        Line(2_000, words=f"{mark} {near}", name="=Nina", bic="BNPAFRPP"),
        Line(500, words=mark, day=tomorrow),
        Line(90, "DBIT", words=mark, day=tomorrow),
        on=tomorrow,
    )
    amounts, page = await listed(olga, search=mark)
    assert amounts == ["20.00", "5.00", "-0.90"]
    assert "3 transfers, €24.10 in all" in re.sub(r"<[^>]*>", "", page)
    assert f"?reference={reference}#assign" in page
    for query, expected in (
        ({"sort": "newest"}, ["-0.90", "5.00", "20.00"]),
        ({"sort": "largest"}, ["20.00", "5.00", "-0.90"]),
        ({"side": "debit"}, ["-0.90"]),
        ({"from": str(tomorrow)}, ["5.00", "-0.90"]),
        ({"to": str(TODAY)}, ["20.00"]),
        ({"outcome": "fee"}, []),
    ):
        assert (await listed(olga, search=mark, **query))[0] == expected
    assert (await listed(olga, search=near.lower()))[0] == ["20.00"]
    assert (await listed(olga, search="no such transfer"))[0] == []
    assert "The filter is not valid." in (await olga.send("GET", "/operator/transfers?from=yesterday")).ok(422).text
    (await olga.send("GET", "/operator/transfers.csv?from=yesterday")).ok(422)
    assert mark not in (await alice.send("GET", "/operator/transfers.csv")).text

    monkeypatch.setattr(transfer_pages, "ROWS_AT_ONCE", 2)
    for sort in ("oldest", "newest", "largest"):
        rows = await exported(olga, search=mark, sort=sort)
        assert len({row["transfer_id"] for row in rows}) == 3
    [row] = await exported(olga, search=near)
    assert (row["amount"], row["counterparty"], row["bic"], row["booked_on"]) == ("20.00", "'=Nina", "BNPAFRPP", str(TODAY))
    assert (row["suggested_reference"], row["result"]) == (reference, "unmatched")


async def test_pages_continue_after_the_numbered_ones(olga: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "DEEP_ROWS_MAX", 2)
    mark = uuid4().hex
    await bank.shows(*(Line(minor, words=mark) for minor in (100, 300, 200, 300, 500)))
    for sort, expected in (
        ("oldest", ["1.00", "3.00", "2.00", "3.00", "5.00"]),
        ("newest", ["5.00", "3.00", "2.00", "3.00", "1.00"]),
        ("largest", ["5.00", "3.00", "3.00", "2.00", "1.00"]),
    ):
        amounts, page = await listed(olga, search=mark, sort=sort, limit="1")
        while found := NEXT.findall(page):
            page = (await olga.send("GET", "/operator/transfers" + found[0].replace("&amp;", "&"))).ok().text
            amounts += amounts_of(page)
        assert amounts == expected
    assert (await listed(olga, search=mark, limit="1", page="9"))[0] == []


async def test_the_sums_are_those_of_the_ledger(olga: Actor, bank: Bank) -> None:
    mark = uuid4().hex
    await bank.shows(Line(1_200, words=mark), Line(300, "DBIT", words=mark), Line(77, words=mark))
    await bank.dismiss((await bank.waiting(mark))[2].id)
    [euros] = [found for found in await reconcile(bank.services.db) if found.currency == "EUR"]
    parts = {part.code: part.amount_minor for part in euros.parts}
    for outcome, code in (("unmatched", "unmatched:bank"), ("dismissed", "equity:dismissed")):
        rows = await exported(olga, outcome=outcome)
        assert sum(Decimal(row["amount"]) * 100 for row in rows) == -parts[code]
