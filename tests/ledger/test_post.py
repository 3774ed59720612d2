"""Posting: what it writes, what it refuses, and that many at once add up."""

import asyncio
from uuid import UUID

import asyncpg
import pytest

from tests.invariants import broken_invariants
from tests.ledger.books import Books
from tests.running import Service
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.model import (
    Account,
    AlreadyPosted,
    InsufficientFunds,
    JournalEntry,
    PostedTransaction,
    Posting,
    Source,
    available,
    equity,
    income,
    rail,
)


async def test_a_payment_with_its_fee_is_two_lines_and_two_entries(books: Books) -> None:
    posted = await books.post(
        Posting("payment", "EUR", 1_000, rail("sandbox"), books.mine),
        Posting("payment_fee", "EUR", 30, books.mine, income("payment_fee")),
        kind="payment",
    )
    assert [(entry.type, entry.delta_minor, entry.balance_after_minor, entry.sequence) for entry in posted.entries] == [
        ("payment", 1_000, 1_000, 1),
        ("payment_fee", -30, 970, 2),
    ]
    assert await books.available_minor() == 970


async def test_a_transaction_is_judged_on_its_end_not_line_by_line(books: Books) -> None:
    """The fee may come first: what counts is where the balance ends."""
    posted = await books.post(
        Posting("payment_fee", "EUR", 30, books.mine, income("payment_fee")),
        Posting("payment", "EUR", 1_000, rail("sandbox"), books.mine),
    )
    assert [entry.balance_after_minor for entry in posted.entries] == [-30, 970]
    assert await books.available_minor() == 970


async def test_one_line_between_two_accounts_of_a_merchant_makes_two_entries(books: Books) -> None:
    await books.fund(500)
    posted = await books.post(Posting("settlement", "EUR", 200, books.mine, books.pending))
    assert {(entry.account, entry.delta_minor, entry.sequence) for entry in posted.entries} == {
        ("available", -200, 2),
        ("pending", 200, 1),
    }


async def test_nobody_spends_what_is_not_there(books: Books) -> None:
    await books.fund(100)
    with pytest.raises(InsufficientFunds):
        await books.spend(101)
    assert await books.available_minor() == 100
    assert len(await books.entries()) == 1


async def test_a_transition_posts_once_ever(books: Books) -> None:
    source = Source("test", new_id())
    posting = Posting("test_funding", "EUR", 100, equity("test_funding"), books.mine)
    await books.post(posting, source=source)
    with pytest.raises(AlreadyPosted):
        await books.post(posting, source=source)
    await books.post(posting, source=Source("test", source.id, step=1))
    assert await books.available_minor() == 200


async def test_thirty_at_once_race_for_one_balance(books: Books, service: Service) -> None:
    """Ten can be paid out of the balance, however many ask; the entries are numbered without gaps."""
    await books.fund(1_000)
    ended = await asyncio.gather(*(books.spend(100) for _ in range(30)), return_exceptions=True)
    assert sum(isinstance(one, PostedTransaction) for one in ended) == 10
    assert sum(isinstance(one, InsufficientFunds) for one in ended) == 20
    assert await books.available_minor() == 0
    entries = await books.entries()
    assert [entry["version"] for entry in entries] == list(range(1, 12))
    assert [entry["balance_after"] for entry in entries] == list(range(1_000, -1, -100))
    assert [entry["created_at"] for entry in entries] == sorted(entry["created_at"] for entry in entries)
    assert await broken_invariants(service.dsn) == []


async def test_thirty_at_once_make_the_same_new_account(books: Books, service: Service) -> None:
    await asyncio.gather(*(books.fund(1, "USDC") for _ in range(30)))
    assert await books.available_minor("USDC") == 30
    assert [entry["version"] for entry in await books.entries()] == list(range(1, 31))
    assert await broken_invariants(service.dsn) == []


async def test_opposite_directions_do_not_deadlock(books: Books, service: Service) -> None:
    """Available to pending and back at once: both lock the two accounts in one order."""
    await books.fund(1_000)
    there = Posting("settlement", "EUR", 10, books.mine, books.pending)
    back = Posting("settlement", "EUR", 10, books.pending, books.mine)
    await books.post(Posting("settlement", "EUR", 500, books.mine, books.pending))
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    before = await books.pool.fetchrow(deadlocks)
    await asyncio.gather(*(books.post(posting) for posting in [there, back] * 15))
    assert await books.pool.fetchrow(deadlocks) == before
    assert await books.available_minor() == 500
    assert await broken_invariants(service.dsn) == []


@pytest.mark.parametrize("amount_minor", [0, -1, 2**53])
def test_a_line_moves_an_amount_above_zero(amount_minor: int) -> None:
    with pytest.raises(ValueError, match="above zero"):
        Posting("payment", "EUR", amount_minor, rail("sandbox"), equity("adjustment"))


async def test_a_line_needs_two_accounts_and_a_posting_a_line(books: Books) -> None:
    with pytest.raises(ValueError, match="two accounts"):
        Posting("payment", "EUR", 1, books.mine, available(books.env))
    with pytest.raises(ValueError, match="at least one posting"):
        JournalEntry("test", "payment", Source("test", new_id()), ())
    with pytest.raises(ValueError, match="no account"):
        Account("rail:Sand box")
    with pytest.raises(ValueError, match="no account"):
        Account("rail:sandbox", books.env.merchant_id)


@pytest.mark.parametrize(
    ("amount_minor", "debit", "credit"),
    [
        (0, "equity:adjustment", "rail:sandbox"),
        (-5, "equity:adjustment", "rail:sandbox"),
        (2**53, "equity:adjustment", "rail:sandbox"),
        (5, "rail:sandbox", "rail:sandbox"),
        (5, "available", "rail:sandbox"),
        (5, "pocket", "rail:sandbox"),
        (5, "fx:x", "rail:sandbox"),
    ],
)
async def test_the_function_itself_refuses(books: Books, amount_minor: int, debit: str, credit: str) -> None:
    """Zero, negative or too large amounts, one account twice, and accounts that are not in the chart."""
    with pytest.raises((asyncpg.CheckViolationError, asyncpg.NotNullViolationError)):
        await books.raw([("EUR", amount_minor, None, debit, None, credit)])


async def test_a_merchant_has_no_account_of_the_platform(books: Books) -> None:
    mine: UUID = books.env.merchant_id
    with pytest.raises((asyncpg.CheckViolationError, asyncpg.NotNullViolationError)):
        await books.raw([("EUR", 5, mine, "rail:sandbox", None, "rail:sandbox")])


async def test_a_transaction_without_lines_is_refused(books: Books) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await books.raw([])


async def test_too_few_ids_lose_no_entry(books: Books) -> None:
    with pytest.raises(asyncpg.NotNullViolationError):
        await books.raw([("EUR", 5, None, "equity:adjustment", books.env.merchant_id, "available")], ids=[])
    assert await books.entries() == []


async def test_the_statements_of_a_posting_are_planned_once_per_connection(books: Books) -> None:
    row = await books.services.db.fetchrow("SELECT proconfig FROM pg_proc WHERE proname = 'ledger_post'")
    assert row is not None
    assert row["proconfig"] == ["plan_cache_mode=force_generic_plan"]
