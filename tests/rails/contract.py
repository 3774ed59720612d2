"""The contract of a rail: what must hold whatever it reports, and however often, late or garbled. Every rail passes it.

A rail's own test subclasses `RailContract`, says which rail it is and how it phrases what it saw, and runs. What a rail
cannot have is in its `without`, with the reason, and is skipped.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.payments.bank import fresh, purse, refund
from tests.payments.shop import COFFEE, choose, visit
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.provider import Attempt, Health, Observation, Payer, Provider, RefundOrder
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.sandbox.provider import PAYER


class RailContract:
    """What every rail must withstand. A subclass says which one, by which method it is tried, and who gets money back."""

    provider: Provider
    method_id: str
    currency = "EUR"
    receiver: str | None = None
    """Who is paid back, where the rail must be told."""
    impossible_receivers: tuple[str, ...] = ("",)
    without: ClassVar[Mapping[str, str]] = {}
    """What this rail cannot have, of `decline`, `currency`, `refund`, `reversal` and `early reversal`, and why."""

    def need(self, what: str) -> None:
        """Skip the test if the rail cannot have this."""
        if what in self.without:
            pytest.skip(self.without[what])

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
        return [
            await reversals.observe(services, self.provider.name, self.provider.mode, observation, clock.now())
            for observation in seen
        ]

    async def now(self, actor: Actor, transaction_id: UUID) -> dict[str, Any]:
        """The payment as it is now."""
        return await fresh(actor, {"id": transaction_id}, mode=self.provider.mode)

    async def purse(self, actor: Actor, currency: str | None = None) -> tuple[int, int, int]:
        """What is available, reserved and owed."""
        return await purse(actor, currency or self.currency, mode=self.provider.mode)

    def attempt(self) -> Attempt:
        """An attempt of 10.00."""
        return Attempt(new_id(), self.method_id, self.currency, 1_000)

    async def release(self, services: Services, refund_id: UUID) -> None:
        """What the job does before it submits a refund, where the rail looks at it."""

    async def test_starting_twice_starts_once(self) -> None:
        attempt = self.attempt()
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
        self.need("currency")
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
        self.need("refund")
        _, paid, name = await self.waiting(alice, services)
        await self.report(services, self.confirmed(paid.instructions.reference, name, 1_000))
        to = {} if self.receiver is None else {"receiver": self.receiver}
        back = (await refund(alice, {"id": paid.id}, "4.00", mode=self.provider.mode, **to)).ok(201).body
        reference = paid.instructions.reference
        order = RefundOrder(UUID(back["id"]), reference, self.currency, 400, back["receiver"], 1_000, clock.now())
        await self.release(services, order.id)
        first, second = await self.provider.refund(order), await self.provider.refund(order)
        assert first == second
        assert first.outcome == "accepted"
        assert (await self.provider.refund_state(order, order.ordered_at)).outcome in {"pending", "succeeded"}

    async def test_money_that_vanishes_can_come_in_another_block(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        await self.report(
            services,
            self.on_its_way(reference, name, 1_000),
            Observation(reference=reference, outcome="vanished", external_ref=name),
            self.on_its_way(reference, name + "b", 1_000),
            self.confirmed(reference, name + "b", 1_000),
        )
        assert (await self.now(alice, paid.id))["status"] == "succeeded"
        assert await self.purse(alice) == (1_000, 0, 0)

    async def test_a_declined_payment_has_failed(self, alice: Actor, services: Services) -> None:
        self.need("decline")
        link, paid, name = await self.waiting(alice, services)
        declined = Observation(
            reference=paid.instructions.reference, outcome="failed", external_ref=name, failure_code="insufficient_funds"
        )
        first, second = await self.report(services, declined, declined)
        assert (first is not None, second) == (True, None)
        shown = await self.now(alice, paid.id)
        assert (shown["status"], shown["failure_code"]) == ("failed", "insufficient_funds")
        assert (await alice.get(f"/payment-links/{link['id']}", mode=self.provider.mode)).ok().body["status"] == "active"

    async def test_too_much_at_once_is_credited_as_the_merchant_wants(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        await self.report(services, self.confirmed(paid.instructions.reference, name, 1_250))
        shown = await self.now(alice, paid.id)
        assert (shown["status"], shown["amount_received_minor"], shown["overpaid_minor"]) == ("succeeded", 1_250, 250)
        available, _, _ = await self.purse(alice)
        assert available + shown["refund_required_amount_minor"] == 1_250

    async def test_late_money_awaits_a_decision(self, alice: Actor, services: Services) -> None:
        link, paid, name = await self.waiting(alice, services)
        deadline = clock.now() - timedelta(days=400)
        await alice.sql(
            "UPDATE payment_links SET created_at = $2::timestamptz - interval '1 day', expires_at = $2 WHERE id = $1::uuid",
            link["id"],
            deadline,
        )
        await self.report(services, self.confirmed(paid.instructions.reference, name, 1_000))
        shown = await self.now(alice, paid.id)
        assert (shown["status"], shown["refund_required_reason"], shown["late"]) == ("refund_required", "late", True)
        assert await self.purse(alice) == (0, 0, 0)

    async def test_the_reference_of_another_rail_or_mode_is_not_ours(self, alice: Actor, services: Services) -> None:
        _, paid, name = await self.waiting(alice, services)
        seen = self.confirmed(paid.instructions.reference, name, 1_000)
        other = "live" if self.provider.mode == "test" else "test"
        assert await reversals.observe(services, self.provider.name, other, seen, clock.now()) is None
        assert await reversals.observe(services, "elsewhere", self.provider.mode, seen, clock.now()) is None
        assert (await self.now(alice, paid.id))["status"] == "pending"

    async def test_confirmed_money_that_is_gone_and_comes_back(self, alice: Actor, services: Services) -> None:
        self.need("reversal")
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        gone = Observation(reference=reference, outcome="reversed", external_ref=name, reversal_ref="a")
        back = Observation(reference=reference, outcome="reinstated", external_ref=name, reversal_ref="a")
        await self.report(services, self.confirmed(reference, name, 1_000))
        assert [one is not None for one in await self.report(services, gone, gone)] == [True, False]
        assert ((await self.now(alice, paid.id))["status"], await self.purse(alice)) == ("chargeback", (0, 0, 0))
        assert [one is not None for one in await self.report(services, back, back, gone)] == [True, False, False]
        assert ((await self.now(alice, paid.id))["status"], await self.purse(alice)) == ("succeeded", (1_000, 0, 0))

    async def test_a_reversal_that_is_reported_first_counts_all_the_same(self, alice: Actor, services: Services) -> None:
        self.need("reversal")
        self.need("early reversal")
        _, paid, name = await self.waiting(alice, services)
        reference = paid.instructions.reference
        gone = Observation(reference=reference, outcome="reversed", external_ref=name)
        await self.report(services, gone, self.confirmed(reference, name, 1_000))
        assert ((await self.now(alice, paid.id))["status"], await self.purse(alice)) == ("chargeback", (0, 0, 0))

    @pytest.mark.covers("P-166")
    async def test_while_it_is_down_its_method_is_listed_and_links_are_readable(
        self, alice: Actor, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link, _, _ = await self.waiting(alice, services)
        mode, rails = self.provider.mode, alice.service.rails.providers
        down = _Down(rails[self.provider.name, mode])
        monkeypatch.setitem(rails, (self.provider.name, mode), down)
        listed = (await alice.get("/payment-methods", mode=mode)).ok().body["payment_methods"]
        [method] = [method for method in listed if method["method_id"] == self.method_id]
        assert (method["available"], method["unavailable_reason"]) == (False, "provider_down")
        (await alice.get(f"/payment-links/{link['id']}", mode=mode)).ok()
        (await visit(link, alice)).ok()

    async def test_a_receiver_that_cannot_be_paid_is_named_so(self) -> None:
        for receiver in self.impossible_receivers:
            assert self.provider.receiver_error(receiver)
        if self.receiver is not None:
            assert self.provider.receiver_error(self.receiver) is None
            assert self.provider.account_of(f" {self.receiver} ") == self.provider.account_of(self.receiver)


class _Down:
    """A rail that is out of order, and otherwise itself."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def health(self) -> Health:
        """The provider cannot be reached."""
        return Health(available=False, reason="provider_down")
