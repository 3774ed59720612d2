"""The invariants notice what the constraints would not have let happen."""

import asyncpg
import pytest

from tests.invariants import ours
from tests.ledger.books.books import Books
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books import invariants
from tollhouse.ledger.books.model import Posting, rail

PAST_ALL_RULES = "SET LOCAL session_replication_role = replica"  # triggers and foreign keys sleep in this transaction

TWICE = """
    INSERT INTO ledger_entries
    SELECT account_id, version + 1, gen_random_uuid(), merchant_id, mode, currency, account, type, transaction_id, line + 1,
           delta, balance_after, created_at
    FROM ledger_entries WHERE transaction_id = $1
"""


SPOILT: list[tuple[str, str]] = [
    ("I1", "DELETE FROM ledger_postings WHERE transaction_id = $1"),
    ("I1", "DELETE FROM ledger_entries WHERE transaction_id = $1"),
    ("I2", "UPDATE ledger_accounts SET balance = balance + 1 WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I2", "UPDATE ledger_accounts SET version = version + 1 WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I2", "UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE transaction_id = $1"),
    ("I2", "UPDATE ledger_entries SET version = version + 5 WHERE transaction_id = $1"),
    ("I12", "UPDATE ledger_accounts SET balance = balance + 1 WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I12", "UPDATE ledger_entries SET created_at = created_at - interval '1 h' WHERE transaction_id = $1"),
    ("I12", "UPDATE ledger_entries SET type = 'release' WHERE transaction_id = $1"),
    ("I12", "UPDATE running_series SET amount = amount + 1 WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I12", "UPDATE running_series SET count = count + 1 WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I12", "DELETE FROM running_series WHERE merchant_id = $2 AND $1::uuid IS NOT NULL"),
    ("I12", TWICE),
    ("I4", "UPDATE ledger_postings SET amount = amount + 1 WHERE transaction_id = $1"),
    ("I5", "UPDATE ledger_postings SET currency = 'USD' WHERE transaction_id = $1"),
]


@pytest.mark.long
async def test_a_spoilt_ledger_is_noticed(books: Books) -> None:
    for number, spoil in SPOILT:
        posted = await books.post(Posting("payment", "EUR", 100, rail("sandbox"), books.mine))
        arguments = (posted.id, books.env.merchant_id) if "$2" in spoil else (posted.id,)
        async with books.undone() as tx:
            assert ours(await invariants.broken(tx)) == []
            await tx.execute(PAST_ALL_RULES)
            assert await tx.execute(spoil, *arguments) >= 1
            found = ours(await invariants.broken(tx))
            assert number in {line.partition(" ")[0] for line in found}, found


async def test_a_hold_without_money_is_noticed(books: Books) -> None:
    async with books.undone() as tx:
        await tx.execute(
            "INSERT INTO ledger_holds (id, merchant_id, mode, currency, source_type, source_id, amount, status, "
            "created_at) VALUES ($1, $2, 'test', 'EUR', 'test', $1, 5, 'active', now())",
            new_id(),
            books.env.merchant_id,
        )
        [line] = ours(await invariants.broken(tx))
        assert line.startswith("I6 ")
        assert "0 is reserved, active holds hold 5" in line


async def test_debt_beside_money_is_noticed(books: Books) -> None:
    await books.fund(10)
    async with books.undone() as tx:
        await tx.execute(
            "INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded, balance)"
            " VALUES ('test', 'EUR', $1, 'debt', 'debit', true, 5)",
            books.env.merchant_id,
        )
        assert {line.partition(" ")[0] for line in ours(await invariants.broken(tx))} == {"I2", "I4", "I10", "I12"}


async def test_the_constraints_would_not_have_let_it(books: Books) -> None:
    posted = await books.fund(10)
    for statement in (
        "DELETE FROM ledger_postings WHERE transaction_id = $1",
        "DELETE FROM ledger_entries WHERE transaction_id = $1",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await books.pool.execute(statement, posted.id)
