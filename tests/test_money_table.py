"""The page on the ways of money is complete: every kind of posting, everybody who can cause it, and tests that exist."""

import re

import pytest

from tests import money_table
from tests.money_paths import reached, ways
from tests.money_table import DECIDE, EVERYTHING, ROWS
from tests.running import Service
from tests.sources import OF_THE_SOURCE

pytestmark = OF_THE_SOURCE
TESTS = money_table.PAGE.parent.parent / "tests"
POSTED = """
    SELECT DISTINCT t.source_type, p.type, split_part(d.code, ':', 1) AS debit, split_part(c.code, ':', 1) AS credit
    FROM ledger_postings p JOIN ledger_transactions t ON t.id = p.transaction_id
    JOIN ledger_accounts d ON d.id = p.debit_account_id JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE t.source_type NOT IN ('test', 'experiment')
"""


@pytest.mark.long
def test_the_page_is_committed() -> None:
    assert money_table.PAGE.read_text() == money_table.page(), "run `just records`"


async def test_every_kind_of_posting_has_its_row(service: Service) -> None:
    assert len(money_table.kinds()) > 60
    assert {source for source, *_ in money_table.kinds()} == {row.source for row in ROWS}
    posted = {tuple(row.values()) for row in await service.sql(POSTED)}
    assert posted <= money_table.kinds()


@pytest.mark.long
def test_every_way_has_its_row_and_every_row_a_way() -> None:
    shown = {way for row in ROWS for taken in money_table.who_of(row.source).values() for way in taken}
    assert set(reached()) == shown | (EVERYTHING & set(reached()))
    assert all(money_table.who_of(row.source) for row in ROWS)
    known = {way for way, _ in ways()}
    assert known >= {way for decide in DECIDE.values() for way in decide}


def test_every_named_test_exists() -> None:
    for row in ROWS:
        for name in row.tests:
            file, _, function = name.partition("::")
            assert re.search(rf"^(async )?def {function}\(", (TESTS / file).read_text(), re.MULTILINE), name
