"""Holds: money set aside is taken or given back, by whoever is first, and never both."""

import asyncio
from uuid import UUID

import asyncpg
import pytest

from tests.invariants import broken_invariants
from tests.ledger.books.books import Books
from tests.running import Service
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import Hold, HoldNotActive, InsufficientFunds, LedgerTransaction, Source, payable
from tollhouse.ledger.books.store import get_balance


async def reserve(books: Books, amount_minor: int, source: Source | None = None) -> Hold:
    whose = source or Source("experiment", new_id())
    hold, _ = await books.services.transact(
        lambda work: holds.reserve(work, books.env, whose, "EUR", amount_minor), clock.now()
    )
    return hold


async def capture(books: Books, hold_id: UUID, amount_minor: int) -> tuple[Hold, LedgerTransaction]:
    return await books.services.transact(
        lambda work: holds.capture(work, books.env, hold_id, (HoldCapture("adjustment", amount_minor, payable("sandbox")),)),
        clock.now(),
    )


async def release(books: Books, hold_id: UUID) -> tuple[Hold, LedgerTransaction]:
    return await books.services.transact(lambda work: holds.release(work, books.env, hold_id), clock.now())


async def test_a_hold_moves_money_to_reserved(books: Books) -> None:
    await books.fund(1_000)
    await reserve(books, 300)
    balance = await get_balance(books.pool, books.env, "EUR")
    assert (balance.available_minor, balance.reserved_minor, balance.total_minor) == (700, 300, 1_000)


async def test_a_hold_is_captured_in_parts_and_the_rest_released(books: Books, service: Service) -> None:
    await books.fund(1_000)
    hold = await reserve(books, 300)
    await capture(books, hold.id, 100)
    await capture(books, hold.id, 50)
    ended, _ = await release(books, hold.id)
    assert (ended.amount_minor, ended.captured_minor, ended.released_minor) == (300, 150, 150)
    balance = await get_balance(books.pool, books.env, "EUR")
    assert (balance.available_minor, balance.reserved_minor) == (850, 0)
    for again in (release(books, hold.id), capture(books, hold.id, 1)):
        with pytest.raises(HoldNotActive):
            await again
    assert await broken_invariants(service.dsn) == []


async def test_no_more_is_captured_than_is_held(books: Books) -> None:
    await books.fund(1_000)
    hold = await reserve(books, 300)
    for amount_minor in (301, 0, -1):
        with pytest.raises((HoldNotActive, ValueError)):
            await capture(books, hold.id, amount_minor)
    assert (await get_balance(books.pool, books.env, "EUR")).reserved_minor == 300


async def test_what_is_not_there_cannot_be_held(books: Books) -> None:
    await books.fund(100)
    with pytest.raises(InsufficientFunds):
        await reserve(books, 101)
    assert await books.pool.fetch("SELECT 1 FROM ledger_holds WHERE merchant_id = $1", books.env.merchant_id) == []


async def test_a_source_holds_once(books: Books) -> None:
    await books.fund(100)
    source = Source("experiment", new_id())
    await reserve(books, 10, source)
    with pytest.raises(asyncpg.UniqueViolationError):
        await reserve(books, 10, source)


async def test_another_merchants_hold_is_out_of_reach(books: Books) -> None:
    await books.fund(100)
    hold = await reserve(books, 10)
    carol = Books(books.services, MerchantEnv(MerchantId(new_id()), "test"))
    with pytest.raises(HoldNotActive):
        await release(carol, hold.id)
    live = Books(books.services, MerchantEnv(books.env.merchant_id, "live"))
    with pytest.raises(HoldNotActive):
        await capture(live, hold.id, 10)


async def test_capture_and_release_race_and_one_wins(books: Books, service: Service) -> None:
    await books.fund(1_000)
    for _ in range(5):
        hold = await reserve(books, 100)
        racers = [capture(books, hold.id, 100) if place % 2 else release(books, hold.id) for place in range(20)]
        ended = await asyncio.gather(*racers, return_exceptions=True)
        assert sum(isinstance(outcome, tuple) for outcome in ended) == 1
        assert sum(isinstance(outcome, HoldNotActive) for outcome in ended) == 19
    assert (await get_balance(books.pool, books.env, "EUR")).reserved_minor == 0
    assert await broken_invariants(service.dsn) == []
