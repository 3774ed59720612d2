"""Posting: what it writes, what it refuses, and that many at once add up."""

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.invariants import broken_invariants
from tests.ledger.books.books import Books
from tests.running import Service
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import (
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
from tollhouse.ledger.books.post import post_now, post_platform
from tollhouse.ledger.books.store import POST_PLATFORM


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


KEPT = """
    SELECT t.kind, t.source_id, t.step, p.line, p.type, p.currency, p.amount, d.code AS debit, c.code AS credit,
           r.digest = row_digest(t) AS is_digested
    FROM ledger_transactions t JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts d ON d.id = p.debit_account_id AND d.mode = t.mode
    JOIN ledger_accounts c ON c.id = p.credit_account_id AND c.mode = t.mode
    LEFT JOIN row_digests r ON r.kind = 'ledger' AND r.id = t.id
    WHERE t.source_id = ANY ($1::uuid[]) ORDER BY t.id, p.line
"""


def of_the_platform(*amounts_minor: int, currency: str = "EUR") -> JournalEntry:
    """An entry between accounts of the platform, of as many lines."""
    postings = tuple(Posting("bank_entry", currency, minor, rail("sandbox"), equity("dismissed")) for minor in amounts_minor)
    return JournalEntry("test", "bank_entry", Source("test", new_id()), postings)


async def test_entries_between_accounts_of_the_platform_are_written_together(books: Books, service: Service) -> None:
    """As if each was posted by itself; many at once may make the same accounts."""

    async def write(*entries: JournalEntry) -> None:
        await books.services.transact(lambda work: post_platform(work, entries), clock.now())

    first, second = of_the_platform(5, 7), of_the_platform(9)
    await write(first, second)
    third = of_the_platform(5, 7)
    await books.services.transact(lambda work: post_now(work, third), clock.now())
    kept = [tuple(row) for row in await books.pool.fetch(KEPT, [one.source.id for one in (first, second, third)])]
    lines = [(first, 1, 5), (first, 2, 7), (second, 1, 9), (third, 1, 5), (third, 2, 7)]
    assert kept == [
        ("bank_entry", one.source.id, 0, line, "bank_entry", "EUR", minor, "rail:sandbox", "equity:dismissed", True)
        for one, line, minor in lines
    ]
    await asyncio.gather(*(write(of_the_platform(1, currency="LTC"), of_the_platform(2, currency="DOGE")) for _ in range(9)))
    fourth = of_the_platform(3)
    with pytest.raises(AlreadyPosted):
        await write(fourth, second)
    assert await books.pool.fetch(KEPT, [fourth.source.id]) == []
    await write()
    with pytest.raises(ValueError, match="the platform's"):
        await write(
            JournalEntry("test", "hold", Source("test", new_id()), (Posting("hold", "EUR", 1, books.mine, rail("x")),))
        )
    with pytest.raises(ValueError, match="one mode"):
        await write(fourth, JournalEntry("live", "bank_entry", fourth.source, fourth.postings))
    assert await broken_invariants(service.dsn) == []


@pytest.mark.parametrize("change", [{"nth": 2}, {"debit": "available"}, {"amount": 0}, {"credit": "rail:sandbox"}])
async def test_the_database_refuses_wrong_entries_of_the_platform(books: Books, change: dict[str, Any]) -> None:
    facts: dict[str, Any] = {"nth": 1, "amount": 5, "debit": "rail:sandbox", "credit": "equity:dismissed"} | change
    ids = [new_id(), new_id()] if facts["nth"] == 2 else [new_id()]
    texts = (["adjustment"] * len(ids), ["test"] * len(ids), ids, [0] * len(ids))
    posting = ([facts["nth"]], [1], ["adjustment"], ["EUR"], [facts["amount"]], [facts["debit"]], [facts["credit"]])
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await books.pool.execute(POST_PLATFORM, "test", clock.now(), ids, *texts, *posting)


async def test_thirty_at_once_race_for_one_balance(books: Books, service: Service) -> None:
    """Ten can be paid out of the balance, however many ask; the entries are numbered without gaps."""
    await books.fund(1_000)
    ended = await asyncio.gather(*(books.spend(100) for _ in range(30)), return_exceptions=True)
    assert sum(isinstance(outcome, PostedTransaction) for outcome in ended) == 10
    assert sum(isinstance(outcome, InsufficientFunds) for outcome in ended) == 20
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
    for name in ("ledger_post", "ledger_post_platform"):
        row = await books.services.db.fetchrow("SELECT proconfig FROM pg_proc WHERE proname = $1", name)
        assert row is not None
        assert row["proconfig"] == ["plan_cache_mode=force_generic_plan"]


async def test_no_statement_parses_a_function_of_a_constraint_again(books: Books) -> None:
    rows = await books.services.db.fetch("""
        SELECT DISTINCT p.proname FROM pg_constraint c
        JOIN pg_depend d ON (d.classid, d.objid) = ('pg_constraint'::regclass, c.oid) AND d.refclassid = 'pg_proc'::regclass
        JOIN pg_proc p ON p.oid = d.refobjid JOIN pg_language l ON l.oid = p.prolang
        WHERE c.contype = 'c' AND c.connamespace = 'public'::regnamespace AND l.lanname = 'sql'
    """)
    assert rows == []
