"""A crash at every single step of a balance payment: afterwards all of it is there, or nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import pytest

from tests.cast import sign_up
from tests.invariants import broken_invariants
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.running import Service, settings_for
from tests.transfers.balance_payments.till import Till, let_expire, open_till
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.services import Services, Work
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.scopes import ALL
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.balance_payments import actions
from tollhouse.transfers.balance_payments.model import NewBalancePayment, PartialAmount

pytestmark = pytest.mark.long

TABLES = (
    "balance_payments", "ledger_accounts", "ledger_transactions", "ledger_postings", "ledger_entries", "ledger_holds",
    "webhook_events", "webhook_deliveries", "webhook_deliveries_later", "idempotency_keys",
)  # fmt: skip


@pytest.fixture(scope="module")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, so that nothing happens but what the test does."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def till(still: Service) -> AsyncIterator[Till]:
    """A till there."""
    async with AsyncExitStack() as stack:
        payer = await stack.enter_async_context(sign_up(still, "payer", "The Payer"))
        owner = await stack.enter_async_context(sign_up(still, "owner", "The Owner"))
        yield await open_till(payer, owner)


@pytest.fixture
async def services(still: Service) -> AsyncIterator[Services]:
    """A house whose connections can be cut."""
    async with fused_services(still) as services:
        yield services


def caller_of(till: Till) -> Caller:
    """The application, as its token makes it known."""
    env = MerchantEnv(MerchantId(UUID(till.payer.merchant_id)), "test")
    return Caller(env, "The Payer", ALL, client_id=ClientId(till.app.client_id))


async def survive(till: Till, services: Services, action: Callable[[Tx], Awaitable[Any]], *, at_least: int) -> None:
    """Kill the action at every fault point, then let it be; the books are in order."""

    async def look() -> list[Any]:
        return await every_row(till.payer, TABLES)

    assert isinstance(services.db, FusedPool)
    steps, _ = await kill_everywhere(services.db, lambda: services.db.transact(action), look)
    assert steps >= at_least
    assert await broken_invariants(till.payer.service.dsn) == []


@pytest.mark.parametrize("capture", [True, False])
async def test_paying(till: Till, services: Services, capture: bool) -> None:
    new = NewBalancePayment(amount="10.00", currency="EUR", capture=capture, external_id="o-1")
    await survive(
        till,
        services,
        lambda tx: actions.pay(Work(tx, services, clock.now()), caller_of(till), new),
        at_least=9 if capture else 8,
    )
    assert await till.purses() == ((9_000, 0, 1_000) if capture else (9_000, 1_000, 0))


@pytest.mark.parametrize("action", ["capture", "release", "expire", "capture_as_owner", "release_as_owner"])
async def test_ending_a_reservation(till: Till, services: Services, action: str) -> None:
    reserved = await till.reserve()
    payment_id, owner, client_id = UUID(reserved["id"]), MerchantId(UUID(till.app.owner.merchant_id)), till.app.client_id
    caller, part, now = caller_of(till), PartialAmount(amount="4.00"), clock.now()
    if action == "expire":
        await let_expire(till.payer, reserved)
    actions_listed: dict[str, Callable[[Tx], Awaitable[Any]]] = {
        "capture": lambda tx: actions.capture(Work(tx, services, now), caller, payment_id, part),
        "release": lambda tx: actions.release(Work(tx, services, now), caller, payment_id),
        "expire": lambda tx: actions.expire(Work(tx, services, now), caller.env, payment_id),
        "capture_as_owner": lambda tx: actions.capture_as_owner(Work(tx, services, now), owner, client_id, payment_id, part),
        "release_as_owner": lambda tx: actions.release_as_owner(Work(tx, services, now), owner, client_id, payment_id),
    }
    await survive(till, services, actions_listed[action], at_least=6)
    assert await till.purses() == ((9_600, 0, 400) if "capture" in action else (10_000, 0, 0))


async def test_refunding(till: Till, services: Services) -> None:
    paid = (await till.pay()).ok(201).body
    payment_id, part = UUID(paid["id"]), PartialAmount(amount="3.00")
    await survive(
        till,
        services,
        lambda tx: actions.refund(Work(tx, services, clock.now()), caller_of(till), payment_id, part),
        at_least=7,
    )
    assert await till.purses() == (9_300, 0, 700)
