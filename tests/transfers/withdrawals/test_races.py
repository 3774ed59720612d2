"""Withdrawals that race: each limit, quote and withdrawal has one winner, and nothing is sent that was canceled."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse
from tests.running import CATALOGUE
from tests.transfers.withdrawals.rails import Line
from tests.transfers.withdrawals.steps import (
    BY_SEPA,
    asked,
    cancel,
    carry,
    fresh,
    fund,
    let_due,
    quote,
    reported,
    review,
    withdraw,
)
from tollhouse.http.services import Services
from tollhouse.kernel import tokens
from tollhouse.transfers.withdrawals import jobs


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> AsyncIterator[None]:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []


async def statuses(*calls: Any) -> list[int]:
    """What all of them got, asked at once."""
    return sorted(answer.status for answer in await asyncio.gather(*calls))


@pytest.mark.covers("P-120")
async def test_cancel_against_send(rich: Actor, services: Services, line: Line) -> None:
    for _ in range(8):
        new = await asked(rich, BY_SEPA, mode="live")
        await review(services, new)
        await let_due(rich)
        answer, _ = await asyncio.gather(cancel(rich, new, mode="live"), jobs.advance_withdrawals(services))
        sent = line.times_sent(new)
        assert (answer.status, sent) in {(200, 0), (409, 1)}
        shown = await fresh(rich, new, mode="live")
        assert shown["status"] == ("processing" if sent else "canceled")


@pytest.mark.long
async def test_a_twin_that_waited_for_the_balance_does_not_wait_for_the_key_too(shop: Actor) -> None:
    await fund(shop)
    key = str(uuid4())
    first = await asyncpg.connect(shop.service.dsn)
    try:
        holding = first.transaction()
        await holding.start()
        await first.execute(
            "INSERT INTO idempotency_keys (merchant_id, mode, caller, key_hash, fingerprint, created_at) "
            "VALUES ($1::uuid, 'test', 'merchant', $2, sha256(''), now())",
            shop.merchant_id,
            tokens.digest(key),
        )
        await first.execute("SELECT FROM ledger_accounts WHERE owner = $1::uuid FOR UPDATE", shop.merchant_id)
        (await withdraw(shop, key=key)).refused("idempotency_in_progress", 409)
        await holding.rollback()
    finally:
        await first.close()
    assert (await withdraw(shop, key=key)).status == 201


async def test_two_workers_send_once(rich: Actor, services: Services, line: Line) -> None:
    made = [await asked(rich, BY_SEPA | {"amount": "1.00"}, mode="live") for _ in range(10)]
    for new in made:
        await review(services, new)
    await asyncio.gather(*(carry(rich, services) for _ in range(4)))
    assert [line.times_sent(new) for new in made] == [1] * 10


async def test_a_worker_that_comes_late_sends_nothing(rich: Actor, services: Services, line: Line) -> None:
    """It took the withdrawal, was away for longer than its patience, and comes back when another has sent it."""
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    await let_due(rich)
    taken = await jobs.store.lease_due(services.db, jobs.clock.now(), jobs.LEASE, jobs.BATCH_SIZE)
    [late] = [one for one in taken if one.id == UUID(new["id"])]
    await carry(rich, services)
    await jobs.advance_one(services, late, jobs.clock.now())
    assert line.times_sent(new) == 1


async def test_a_whole_balance_at_once(shop: Actor) -> None:
    await fund(shop)
    assert await statuses(*(withdraw(shop, {"amount": "30.00"}) for _ in range(10))) == [201] * 3 + [422] * 7
    assert await purse(shop) == (1_000, 9_000, 0)


@pytest.mark.covers("P-126")
async def test_over_the_limit_of_a_day_at_once(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sandbox:EUR"], daily_limit_minor=10_000)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sandbox:EUR", method)
    await fund(shop, "1000.00")
    assert await statuses(*(withdraw(shop, {"amount": "60.00"}) for _ in range(6))) == [201] + [422] * 5
    assert await purse(shop) == (94_000, 6_000, 0)


async def test_two_uses_of_one_quote(shop: Actor) -> None:
    await fund(shop)
    quoted = (await quote(shop)).ok(201).body
    responses = await asyncio.gather(*(withdraw(shop, {"quote_id": quoted["id"]}) for _ in range(5)))
    won, *lost = sorted(responses, key=lambda answer: answer.status)
    won.ok(201)
    for answer in lost:
        answer.refused("quote_already_used", 409)
    assert await purse(shop) == (9_000, 1_000, 0)


async def test_one_external_id_at_once(shop: Actor) -> None:
    await fund(shop)
    assert await statuses(*(withdraw(shop, {"external_id": "e-1"}) for _ in range(5))) == [201] + [409] * 4
    assert await purse(shop) == (9_000, 1_000, 0)


async def test_one_key_at_once(shop: Actor) -> None:
    await fund(shop)
    key = str(uuid4())
    responses = await asyncio.gather(*(withdraw(shop, key=key) for _ in range(8)))
    assert {answer.status for answer in responses} <= {201, 409}
    assert len({answer.raw for answer in responses if answer.status == 201}) == 1
    assert await purse(shop) == (9_000, 1_000, 0)


async def test_cancels_and_ends_at_once(shop: Actor) -> None:
    await fund(shop)
    for _ in range(5):
        new = await asked(shop)
        ends = [cancel(shop, new), cancel(shop, new)]
        ends += [
            shop.post(f"/test/withdrawals/{new['id']}/simulate", {"outcome": outcome})
            for outcome in ("fail", "reject", "fail")
        ]
        assert await statuses(*ends) == [200, 409, 409, 409, 409]
    assert await purse(shop) == (10_000, 0, 0)
    assert set(await reported(shop)) <= {"withdrawal.processing", "withdrawal.failed"}
