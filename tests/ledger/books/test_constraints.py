"""What the database itself refuses, whoever asks it: the last line behind the rules in Python."""

from typing import Any

import asyncpg
import pytest

from tests.ledger.books.books import Books
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Tx

INSERT_TRANSACTION = """
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, created_at) VALUES ($1, $2, 'x', 'test', $1, $3)
"""
INSERT_POSTING = """
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    VALUES ($1, 1, 'adjustment', $2, $3, $4, $5, $6)
"""
ACCOUNT = """
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING id
"""


async def refused(books: Books, kind: type[asyncpg.PostgresError], statement: str, *args: Any) -> None:
    """The statement is refused so; nothing of it stays."""
    with pytest.raises(kind):
        async with books.pool.transaction() as tx:
            await tx.execute(statement, *args)


async def test_what_is_posted_is_never_changed(books: Books) -> None:
    await books.fund(1)
    for table in ("ledger_transactions", "ledger_postings", "ledger_entries"):
        for change in ("UPDATE {} SET mode = mode", "DELETE FROM {}", "TRUNCATE {} CASCADE"):
            await refused(books, asyncpg.IntegrityConstraintViolationError, change.format(table))


async def test_an_account_stays_what_it_is(books: Books) -> None:
    await books.fund(1)
    for change in (
        "DELETE FROM ledger_accounts",
        "TRUNCATE ledger_accounts CASCADE",
        "UPDATE ledger_accounts SET mode = 'live'",
        "UPDATE ledger_accounts SET currency = 'USD'",
        "UPDATE ledger_accounts SET guarded = false",
        "UPDATE ledger_accounts SET code = 'pending'",
        "UPDATE ledger_accounts SET merchant_id = NULL",
        "TRUNCATE ledger_holds CASCADE",
    ):
        await refused(books, asyncpg.IntegrityConstraintViolationError, change)


async def test_no_balance_falls_below_zero(books: Books) -> None:
    await books.fund(1)
    statement = "UPDATE ledger_accounts SET balance = -1 WHERE merchant_id = $1"
    await refused(books, asyncpg.CheckViolationError, statement, books.env.merchant_id)


async def test_a_platform_account_has_no_balance_to_update(books: Books) -> None:
    await books.fund(1)
    statement = "UPDATE ledger_accounts SET balance = 1 WHERE merchant_id IS NULL"
    await refused(books, asyncpg.CheckViolationError, statement)


@pytest.mark.parametrize(
    ("mine", "code", "side", "guarded"),
    [
        (True, "available", "debit", True),
        (True, "available", "credit", False),
        (True, "rail:sandbox", "debit", True),
        (False, "available", "credit", False),
        (False, "fx", "credit", True),
        (False, "rail:", "debit", False),
        (True, "savings", "credit", True),
    ],
)
async def test_only_accounts_of_the_chart_exist(books: Books, mine: bool, code: str, side: str, guarded: bool) -> None:
    owner = books.env.merchant_id if mine else None
    await refused(books, asyncpg.CheckViolationError, ACCOUNT, "test", "XAU", owner, code, side, guarded)


async def test_an_account_exists_once(books: Books) -> None:
    await books.fund(1)
    facts = ("test", "EUR", books.env.merchant_id, "available", "credit", True)
    await refused(books, asyncpg.UniqueViolationError, ACCOUNT, *facts)
    facts = ("test", "EUR", None, "equity:test_funding", "credit", False)
    await refused(books, asyncpg.UniqueViolationError, ACCOUNT, *facts)


@pytest.mark.parametrize(
    ("posted", "said", "debit", "credit"),
    [
        (("test", "EUR"), ("test", "EUR"), ("test", "USD"), ("test", "EUR")),
        (("test", "EUR"), ("test", "EUR"), ("test", "EUR"), ("test", "USD")),
        (("test", "EUR"), ("test", "EUR"), ("live", "EUR"), ("test", "EUR")),
        (("test", "EUR"), ("test", "EUR"), ("test", "EUR"), ("live", "EUR")),
        (("test", "EUR"), ("live", "EUR"), ("live", "EUR"), ("live", "EUR")),
    ],
)
async def test_currencies_and_environments_never_meet(
    books: Books, posted: tuple[str, str], said: tuple[str, str], debit: tuple[str, str], credit: tuple[str, str]
) -> None:
    """Between accounts of two currencies or modes, and in a transaction of another mode than its posting's."""
    transaction_id, now = new_id(), clock.now()

    async def account(tx: Tx, place: tuple[str, str], code: str) -> int:
        sql = "SELECT id FROM ledger_accounts WHERE merchant_id IS NULL AND mode = $1 AND currency = $2 AND code = $3"
        found = await tx.fetchval(sql, *place, code)
        return found or await tx.fetchval(ACCOUNT, *place, None, code, "credit", False)

    async with books.undone() as tx:
        debit_id = await account(tx, debit, "equity:adjustment")
        credit_id = await account(tx, credit, "income:payment_fee")
        await tx.execute(INSERT_TRANSACTION, transaction_id, posted[0], now)
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await tx.execute(INSERT_POSTING, transaction_id, *said, debit_id, credit_id, 5)


async def test_the_posting_function_keeps_to_one_index(books: Books) -> None:
    """An account is found by one probe of its unique index, at whatever size the table has."""
    sql = """
        EXPLAIN SELECT id FROM ledger_accounts
        WHERE owner = '00000000-0000-0000-0000-000000000000' AND mode = 'test' AND currency = 'EUR' AND code = 'fx'
    """
    async with books.pool.transaction() as tx:
        await tx.execute("SET LOCAL enable_seqscan = off")
        plan = " ".join(str(row[0]) for row in await tx.fetch(sql))
    assert "ledger_accounts_owner_mode_currency_code_key" in plan
    assert "Filter" not in plan
