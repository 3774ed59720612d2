"""The contract of a rail: what must hold whatever it reports, and however often, late or garbled. Every rail passes it.

A rail's own test subclasses `RailContract`, says which rail it is and how it phrases what it saw, and runs.
"""

from typing import Any
from uuid import UUID

from tests.cast import Actor
from tests.payments.bank import fresh, purse, refund
from tests.payments.shop import COFFEE, choose
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.rails.provider import Attempt, Observation, Payer, Provider, RefundOrder
from tollhouse.rails.sandbox import PAYER
from tollhouse.refunds import reversals
from tollhouse.transactions import store as transaction_store
from tollhouse.transactions.model import Transaction


class RailContract:
    """What every rail must withstand. A subclass says which one, by which method it is tried, and who gets money back."""

    provider: Provider
    method_id: str
    currency = "EUR"
    receiver: str | None = None

    def confirmed(self, reference: str, name: str, minor: int, currency: str | None = None) -> Observation:
        """The money is there for good, as this rail says it."""
        return Observation(
            reference=reference,
            outcome="confirmed",
            external_ref=name,
            amount_minor=minor,
            currency=currency,
            payer=Payer(self.receiver or PAYER),
        )

    def on_its_way(self, reference: str, name: str, minor: int, confirmations: int = 0) -> Observation:
        """The money is seen, as this rail says it."""
        return Observation(
            reference=reference, outcome="seen", external_ref=name, amount_minor=minor, confirmations=confirmations
        )

    async def waiting(self, actor: Actor, services: Services) -> tuple[dict[str, Any], Transaction, str]:
        """A customer who has chosen this rail: the link, the payment, and a name for the transfer."""
        wanted = COFFEE | {"amount": "10.00", "currency": self.currency}
        link = (await actor.post("/payment-links", wanted, mode=self.provider.mode)).ok(201).body
        chosen = (await choose(link, self.method_id)).ok(303)
        env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), self.provider.mode)
        found = await transaction_store.get(services.db, env, UUID(chosen.query["payment"]))
        assert found is not None
        return link, found, str(new_id())

    async def report(self, services: Services, *seen: Observation) -> list[Transaction | None]:
        """Let the rail report these, in this order."""
        return [await reversals.observe(services, self.provider.name, self.provider.mode, one, clock.now()) for one in seen]

    async def now(self, actor: Actor, transaction_id: UUID) -> dict[str, Any]:
        """The payment as it is now."""
        return await fresh(actor, {"id": transaction_id}, mode=self.provider.mode)

    async def purse(self, actor: Actor, currency: str | None = None) -> tuple[int, int, int]:
        """What is available, reserved and owed."""
        return await purse(actor, currency or self.currency, mode=self.provider.mode)

    async def test_starting_twice_starts_once(self) -> None:
        attempt = Attempt(new_id(), self.method_id, self.currency, 1_000)
        assert await self.provider.start_payment(attempt) == await self.provider.start_payment(attempt)

    async def test_a_repeated_callback_changes_nothing(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        seen = self.confirmed(paid.instructions.reference, name, 1_000)
        first, *others = await self.report(services, seen, seen, seen)
        assert first is not None
        assert others == [None, None]
        assert await self.purse(alice) == (1_000, 0, 0)

    async def test_callbacks_in_the_wrong_order(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        await self.report(
            services,
            self.on_its_way(reference, name, 1_000, 2),
            self.confirmed(reference, name, 1_000),
            self.on_its_way(reference, name, 1_000, 1),
            Observation(reference=reference, outcome="vanished", external_ref=name),
            Observation(reference=reference, outcome="failed", external_ref=name, failure_code="card_declined"),
        )
        assert (await self.now(alice, paid.id))["status"] == "succeeded"
        assert await self.purse(alice) == (1_000, 0, 0)

    async def test_a_straggler_of_a_part_does_not_wake_it(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        await self.report(services, self.confirmed(reference, name, 400), self.on_its_way(reference, name, 400))
        assert (await self.now(alice, paid.id))["status"] == "pending"

    async def test_money_that_vanishes_was_never_there(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        await self.report(services, self.on_its_way(reference, name, 1_000))
        assert (await self.now(alice, paid.id))["status"] == "processing"
        await self.report(services, Observation(reference=reference, outcome="vanished", external_ref=name))
        assert (await self.now(alice, paid.id))["status"] == "pending"
        assert await self.purse(alice) == (0, 0, 0)

    async def test_another_currency_is_kept_apart(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        other = "USD" if self.currency != "USD" else "EUR"
        [unmatched] = await self.report(services, self.confirmed(paid.instructions.reference, name, 1_000, other))
        assert unmatched is not None
        shown = await self.now(alice, unmatched.id)
        assert (shown["status"], shown["refund_required_reason"], shown["currency"]) == (
            "refund_required",
            "wrong_asset",
            other,
        )
        (await alice.post(f"/transactions/{unmatched.id}/accept", {}, mode=self.provider.mode)).refused("invalid_state", 409)
        assert (await self.now(alice, paid.id))["status"] == "pending"
        assert await self.purse(alice) == await self.purse(alice, other) == (0, 0, 0)

    async def test_an_unknown_currency_and_an_unknown_reference_change_nothing(
        self, alice: Actor, services: Services
    ) -> None:
        _, paid, name = await self.waiting(alice, services)
        reported = await self.report(
            services, self.confirmed(paid.instructions.reference, name, 1_000, "XXX"), self.confirmed("nobody", name, 1_000)
        )
        assert reported == [None, None]
        assert (await self.now(alice, paid.id))["status"] == "pending"

    async def test_too_little_and_then_the_rest_and_then_too_much(self, alice: Actor, services: Services) -> None:
        link, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        await self.report(services, self.confirmed(reference, name, 400), self.confirmed(reference, name + "b", 600))
        assert await self.purse(alice) == (1_000, 0, 0)
        [again] = await self.report(services, self.confirmed(reference, name + "c", 50))
        assert again is not None
        assert (again.id != paid.id, again.refund_required_reason) == (True, "duplicate")
        assert await self.purse(alice) == (1_000, 0, 0)
        assert (await alice.get(f"/payment-links/{link['id']}", mode=self.provider.mode)).ok().body["payments_count"] == 1

    async def test_an_order_that_is_handed_in_twice_is_one(self, alice: Actor, services: Services) -> None:
        """As after a timeout: it had been accepted, and nobody knew."""
        _, paid, name = await self.waiting(alice, services)
        await self.report(services, self.confirmed(paid.instructions.reference, name, 1_000))
        to = {} if self.receiver is None else {"receiver": self.receiver}
        back = (await refund(alice, {"id": paid.id}, "4.00", mode=self.provider.mode, **to)).ok(201).body
        reference = paid.instructions.reference
        order = RefundOrder(UUID(back["id"]), reference, self.currency, 400, back["receiver"], 1_000, clock.now())
        first, second = await self.provider.refund(order), await self.provider.refund(order)
        assert first == second
        assert first.outcome == "accepted"
        assert (await self.provider.refund_state(order, order.ordered_at)).outcome in {"pending", "succeeded"}
