"""The card rail passes the contract of rails: what is confirmed is paid at the provider, and read from its API."""

from collections.abc import AsyncIterator
from typing import ClassVar

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.shop import approve_project
from tests.rails.cards.provider import CardProvider
from tests.rails.contract import RailContract
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.observed import observe


@pytest.fixture
async def services(service: Service, services: Services, alice: Actor) -> AsyncIterator[Services]:
    """The services of the card rail, where Alice may sell for real money."""
    first_id = last_id()
    await approve_project(alice, "live")
    yield services
    assert await broken_invariants(service.dsn, first_id) == []


class TestStripeCards(RailContract):
    """In live mode, by the provider's API."""

    method_id = "card:EUR"
    impossible_receivers = ("", "DE89370400440532013000", "ch_1", "pi_1/../x", "pi_ä")
    without: ClassVar = {"decline": "A declined card ends nothing: the customer tries another one on the same page."}

    @pytest.fixture(autouse=True)
    def opened(self, provider: CardProvider) -> None:
        """The provider, and the IDs of its payments by the contract's names of transfers."""
        self.front, self.intents = provider, dict[str, str]()
        self.provider = self.cards = StripeCards(provider.account)

    async def report(self, services: Services, *seen: Observation) -> list[Transaction | None]:
        """What is confirmed is read from the provider; the rest is told in its words."""
        return [
            (await super(TestStripeCards, self).report(services, await self._said(observation)))[0] for observation in seen
        ]

    async def _said(self, seen: Observation) -> Observation:
        """What the provider says of it."""
        page = self.front.sessions.get(seen.reference)
        if page is None:
            return seen
        name = seen.external_ref
        if name not in self.intents:
            amount, currency = seen.amount_minor or page["amount_total"], seen.currency or self.currency
            self.intents[name] = await self.front.begin_payment(amount, currency.lower())
        if seen.outcome != "confirmed":
            return msgspec.structs.replace(seen, external_ref=self.intents[name])
        await self.front.charge(seen.reference, self.intents[name])
        said = observe(await self.cards.read_page(seen.reference))
        assert said is not None
        assert (said.outcome, said.external_ref, said.amount_minor) == ("confirmed", self.intents[name], seen.amount_minor)
        return said
