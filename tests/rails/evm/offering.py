"""Links that are paid by a rail with an address for each payment."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tests.cast import Actor
from tests.payments.shop import approve_project
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.pages.checkout import attempts
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.offers import offers_for
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.chains import following


class Offering:
    """A merchant who sells by a rail of this name."""

    actor: Actor
    env: MerchantEnv
    services: Services
    name: str

    async def error(self, currency: str = "ETH") -> str | None:
        """Why the rail is unavailable."""
        await following.refresh(self.services)
        return self.services.rails.error(self.name, "live", currency)

    async def offer(self, currency: str = "ETH", amount: str = "1.5", **changes: Any) -> Transaction:
        """An attempt to pay a new link: its address is the reference."""
        if not (await self.actor.get("/projects", mode="live")).ok().body["projects"]:
            await approve_project(self.actor, "live")
        body = {"display_name": "Coffee", "amount": amount, "currency": currency} | changes
        made = (await self.actor.post("/payment-links", body, mode="live")).ok(201).body
        return await self.choose(made["url"].rsplit("/", 1)[1], currency, clock.now())

    async def choose(self, token: str, currency: str, now: datetime) -> Transaction:
        """The customer chooses the rail on the page of the link."""
        shown = await link_store.get_by_token(self.services.db, token)
        assert shown is not None
        offers = offers_for(shown.link, PaymentSettings(), self.services.rails, self.services.catalogue)
        choice = attempts.Choice(shown.link.suggested_price, offers, f"{self.name}:{currency}")
        new = await attempts.start(shown.link, "Alice", choice, self.services, now)
        if isinstance(new, UUID):
            return await self.payment(new)
        begun = await self.services.db.transact(lambda tx: attempts.begin(tx, shown.link, new, now, "en"))
        if begun != new.id:
            await attempts.abandon(self.services, shown.link, new)
        assert begun is not None
        return await self.payment(begun)

    async def payment(self, payment_id: UUID) -> Transaction:
        """The payment as it is now."""
        found = await transaction_store.get(self.services.db, self.env, payment_id)
        assert found is not None
        return found

    async def status(self, payment: Transaction) -> tuple[str, int]:
        """Status and minor units received, of the payment now."""
        found = await self.payment(payment.id)
        return found.status, found.received_minor


def address(payment: Transaction) -> str:
    """The address that the customer pays to."""
    found = payment.instructions.address
    assert found is not None
    return found
