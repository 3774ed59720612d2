"""A crash at every single step of a withdrawal: afterwards all of it is there, or nothing; and nothing is sent twice."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.payments.test_crashes import TABLES as TABLES_OF_PAYMENTS
from tests.running import Service
from tests.transfers.withdrawals.rails import Line, PaperBank
from tests.transfers.withdrawals.steps import BY_SEPA, TO_NINA, asked, carry, fresh, fund, let_due, quote, review
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import PayoutState, Submission
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.withdrawals import actions, jobs, sending
from tollhouse.transfers.withdrawals import changes as reviewing
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

pytestmark = pytest.mark.long

TABLES = (*TABLES_OF_PAYMENTS, "withdrawals", "withdrawal_quotes")
ARRIVED = PayoutState("succeeded", network_fee_minor=7)


@pytest.fixture(params=[False, True], ids=["statement by statement", "deferred"])
async def services(still: Service, request: pytest.FixtureRequest) -> AsyncIterator[Services]:
    """Services there whose connections can be cut."""
    async with fused_services(still, defers=request.param) as services:
        yield services


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> AsyncIterator[None]:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []


async def look(actor: Actor) -> list[Any]:
    """Everything there is."""
    return await every_row(actor, TABLES)


async def survive(actor: Actor, services: Services, action: Callable[[Tx], Awaitable[Any]], *, at_least: int) -> None:
    """Kill the action at every fault point, then let it be."""
    assert isinstance(services.db, FusedPool)
    steps, _ = await kill_everywhere(services.db, lambda: services.db.transact(action), lambda: look(actor))
    assert steps >= (2 if services.db.defers else at_least)


def env_of(actor: Actor, mode: str = "test") -> MerchantEnv:
    """One of the merchant's environments."""
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live" if mode == "live" else "test")


async def test_asking(shop: Actor, services: Services) -> None:
    await fund(shop)
    quoted = (await quote(shop)).ok(201).body
    new = NewWithdrawal(**TO_NINA, quote_id=UUID(quoted["id"]), external_id="e-1")
    await survive(
        shop, services, lambda tx: actions.request(Work(tx, services, clock.now()), env_of(shop), new), at_least=10
    )


@pytest.mark.parametrize("action", ["cancel", "begin", "complete", "fail", "record_return", "reject"])
async def test_each_step(shop: Actor, services: Services, action: str) -> None:
    await fund(shop)
    withdrawal_id, env, now = UUID((await asked(shop))["id"]), env_of(shop), clock.now()
    before: list[Callable[[Tx], Awaitable[Any]]] = []
    if action in {"complete", "fail", "record_return"}:
        before.append(lambda tx: sending.begin(Work(tx, services, now), env, withdrawal_id))
    if action == "record_return":
        before.append(lambda tx: sending.complete(Work(tx, services, now), env, withdrawal_id, ARRIVED))
    for step in before:
        await services.db.transact(step)

    async def reject(tx: Tx) -> Any:
        return await reviewing.reject(Work(tx, services, now), await reviewing.lock(tx, withdrawal_id), "No")

    actions_listed: dict[str, tuple[Callable[[Tx], Awaitable[Any]], int]] = {
        "cancel": (lambda tx: actions.cancel(Work(tx, services, now), env, withdrawal_id), 6),
        "begin": (lambda tx: sending.begin(Work(tx, services, now), env, withdrawal_id), 3),
        "complete": (lambda tx: sending.complete(Work(tx, services, now), env, withdrawal_id, ARRIVED), 6),
        "fail": (lambda tx: sending.fail(Work(tx, services, now), env, withdrawal_id, "payout_declined"), 7),
        "record_return": (lambda tx: sending.record_return(Work(tx, services, now), env, withdrawal_id), 6),
        "reject": (reject, 8),
    }
    await survive(shop, services, actions_listed[action][0], at_least=actions_listed[action][1])


async def test_the_worker_dies_at_every_step_and_the_next_one_goes_on(
    rich: Actor, services: Services, line: Line, bank: PaperBank
) -> None:
    """Whether it died before the order was handed in, or before its answer was kept: it is sent once, and arrives once."""
    assert isinstance(services.db, FusedPool)
    for step in range(1, 20):
        bank.state = PayoutState("pending")
        new = await asked(rich, BY_SEPA | {"amount": "1.00"}, mode="live")
        await review(services, new)
        await let_due(rich)
        [due] = [
            one for one in await jobs.store.lease_due(services.db, clock.now(), jobs.LEASE, 50) if str(one.id) == new["id"]
        ]
        services.db.fuse.left = step
        await jobs.advance_one(services, due, clock.now())  # it logs its own death
        burnt, services.db.fuse.left = services.db.fuse.left <= 0, None
        assert await broken_invariants(rich.service.dsn) == []
        await carry(rich, services)
        await carry(rich, services)
        assert line.times_sent(new) == 1, f"killed at step {step}"
        bank.state = PayoutState("succeeded")
        await carry(rich, services)
        assert (await fresh(rich, new, mode="live"))["status"] == "completed"
        if not burnt:
            assert step > 6
            return
    raise AssertionError("it never came to its end")


async def test_a_worker_that_dies_between_prepared_and_accepted(rich: Actor, services: Services, line: Line) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    env, now = env_of(rich, "live"), clock.now()
    begun = await services.transact(lambda work: sending.begin(work, env, UUID(new["id"])), now)
    assert (await line.payout(begun.order)).outcome == "accepted"
    for _ in range(3):
        await carry(rich, services)
    assert line.times_sent(new) == 1
    assert (await fresh(rich, new, mode="live"))["status"] == "processing"


async def test_what_is_said_after_the_end_changes_nothing(rich: Actor, services: Services, line: Line) -> None:
    del line
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    await carry(rich, services)
    env, withdrawal_id, now = env_of(rich, "live"), UUID(new["id"]), clock.now()
    await services.transact(lambda work: sending.complete(work, env, withdrawal_id, ARRIVED), now)
    before = await look(rich)
    late: list[Callable[[Tx], Awaitable[Any]]] = [
        lambda tx: sending.record_submission(tx, env, withdrawal_id, Submission("unknown"), now, now),
        lambda tx: sending.complete(Work(tx, services, now), env, withdrawal_id, ARRIVED),
        lambda tx: sending.fail(Work(tx, services, now), env, withdrawal_id, "payout_declined"),
        lambda tx: sending.begin(Work(tx, services, now), env, withdrawal_id),
    ]
    for one in late:
        with pytest.raises(jobs.ApiError):
            await services.db.transact(one)
    assert await look(rich) == before
