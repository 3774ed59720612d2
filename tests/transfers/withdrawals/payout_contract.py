"""The contract of a rail that sends money: asked twice it sends once, and whoever dies while asking is not asked again.

A rail's own test subclasses `PayoutContract`, says which rail it is and how it is asked, and runs.
"""

from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.transfers.withdrawals.rails import Line
from tests.transfers.withdrawals.steps import asked, carry, fresh, review
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import Provider
from tollhouse.transfers.withdrawals import sending, store
from tollhouse.transfers.withdrawals.model import Withdrawal


class PayoutContract:
    """What every rail must withstand. A subclass says which one, what it is asked for, and how its merchant gets money."""

    provider: Provider
    wanted: dict[str, Any]

    async def fund(self, actor: Actor, services: Services) -> None:
        """Give the merchant enough for one."""
        raise NotImplementedError

    async def approved(self, actor: Actor, services: Services) -> Withdrawal:
        """A withdrawal that may be sent."""
        await self.fund(actor, services)
        mode = self.provider.mode
        new = await asked(actor, self.wanted, mode=mode)
        if new["status"] == "pending_review":
            await review(services, new)
        env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), mode)
        found = await store.get(services.db, env, UUID(new["id"]))
        assert found is not None
        return found

    async def test_an_order_that_is_handed_in_twice_is_one(self, shop: Actor, services: Services) -> None:
        """As after a timeout: it had been accepted, and nobody knew."""
        ready = await self.approved(shop, services)
        first, second = await self.provider.payout(ready.order), await self.provider.payout(ready.order)
        assert first == second
        assert first.outcome == "accepted"
        assert (await self.provider.payout_state(ready.order, ready.created_at)).outcome == "pending"

    @pytest.mark.parametrize("dies", ["before it asks", "before it keeps the answer"])
    async def test_a_worker_that_dies_never_sends_twice(
        self, shop: Actor, services: Services, monkeypatch: pytest.MonkeyPatch, dies: str
    ) -> None:
        ready = await self.approved(shop, services)
        line = Line(self.provider)
        monkeypatch.setitem(services.rails.providers, (self.provider.name, self.provider.mode), line)
        begun = await services.transact(lambda work: sending.begin(work, ready.env, ready.id), clock.now())
        if dies == "before it keeps the answer":
            assert (await line.payout(begun.order)).outcome == "accepted"
        for _ in range(4):
            await carry(shop, services)
        assert line.sent.count(ready.id) <= 1
        shown = await fresh(shop, {"id": str(ready.id)}, mode=ready.env.mode)
        assert shown["status"] in {"processing", "completed"}
