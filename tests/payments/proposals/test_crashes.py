"""A crash at every single step of an approval: afterwards the operation has run and the proposal is approved, or neither."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import pytest

from tests.cast import person_of, sign_up
from tests.invariants import broken_invariants
from tests.payments.bank import purse
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.payments.proposals.desk import Desk, open_desk
from tests.running import Service, settings_for
from tests.transfers.balance_payments.test_crashes import TABLES
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.proposals import actions, store

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, so that nothing happens but what the test does."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def desk(still: Service) -> AsyncIterator[Desk]:
    """A desk there."""
    async with AsyncExitStack() as stack:
        merchant = await stack.enter_async_context(sign_up(still, "payer", "The Payer"))
        yield await open_desk(merchant, await stack.enter_async_context(sign_up(still, "owner", "The Owner")))


@pytest.fixture
async def services(still: Service) -> AsyncIterator[Services]:
    """Services whose connections can be cut."""
    async with fused_services(still) as services:
        yield services


@pytest.mark.parametrize(("operation", "runs"), [("withdrawals", True), ("balance_payments", True), ("conversions", False)])
async def test_an_approval_is_made_or_not(desk: Desk, services: Services, operation: str, runs: bool) -> None:
    proposed = await desk.propose(operation, **({} if runs else {"min_to_amount": "9999.00"}))
    [user] = await desk.merchant.sql("SELECT id FROM users WHERE merchant_id = $1::uuid", desk.merchant.merchant_id)
    proposal = await store.get_of_merchant(
        services.db, MerchantId(UUID(desk.merchant.merchant_id)), UUID(proposed["id"]), clock.now()
    )
    by, person = Actor("person", str(user["id"])), person_of(user["id"], UUID(desk.merchant.merchant_id))

    async def approve() -> Any:
        return await actions.approve(lambda act: services.transact(act, clock.now(), by), person, proposal)

    async def look() -> list[Any]:
        return await every_row(desk.merchant, ("proposals", "audit_lines", "withdrawals", "conversions", *TABLES))

    assert isinstance(services.db, FusedPool)
    steps, done = await kill_everywhere(services.db, approve, look)
    assert steps >= 8
    assert done.status == ("approved" if runs else "failed")
    assert await broken_invariants(desk.merchant.service.dsn) == []
    assert (await purse(desk.merchant))[0] == (9_000 if runs else 10_000)
