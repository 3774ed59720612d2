"""What tests of cards do again and again."""

from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.cast import Actor, Answer
from tests.payments.shop import COFFEE, choose
from tests.rails.cards.provider import CardProvider, signed
from tollhouse.http.services import Services
from tollhouse.rails.cards import payments

DUE_NOW = """
    UPDATE card_payments SET next_poll_at = created_at
    WHERE next_poll_at IS NOT NULL AND transaction_id = $1::uuid
"""


@dataclass
class Shop:
    """A merchant who takes cards, the service without its worker, and the provider."""

    alice: Actor
    services: Services
    provider: CardProvider

    async def offer(self, **changes: Any) -> tuple[dict[str, Any], str, str]:
        """A customer has chosen to pay by card: the link, the payment's ID, and the ID of the provider's page."""
        link = (await self.alice.post("/payment-links", COFFEE | changes, mode="live")).ok(201).body
        payment_id = (await choose(link, f"card:{link['currency']}")).ok(303).query["payment"]
        return link, payment_id, await self.page_of(payment_id)

    async def page_of(self, payment_id: str) -> str:
        """The ID of the provider's page."""
        [row] = await self.alice.sql("SELECT rail_reference FROM transactions WHERE id = $1::uuid", payment_id)
        return row["rail_reference"]

    async def send(self, raw: bytes, signature: str | None = "", rail: str = "card") -> Answer:
        """The provider sends an event; signed well unless a signature is given. None: without one."""
        headers = {"Content-Type": "application/json"}
        if signature is not None:
            headers["Stripe-Signature"] = signature or signed(raw)
        address = f"{self.alice.service.url}/rails/{rail}/webhook"
        async with aiohttp.ClientSession() as http, http.post(address, data=raw, headers=headers) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def report(self, event_type: str, object_id: str) -> None:
        """An event arrives and is processed."""
        (await self.send(self.provider.event(event_type, object_id))).ok()
        await payments.apply_events(self.services)

    async def poll(self, payment_id: str) -> None:
        """The payment is polled now."""
        await self.alice.sql(DUE_NOW, payment_id)
        await payments.poll_payments(self.services)

    async def sell(self, **changes: Any) -> tuple[str, str]:
        """A customer has paid by card: the payment's ID, and that of the payment at the provider."""
        _, payment_id, page_id = await self.offer(**changes)
        intent = await self.provider.pay(page_id)
        await self.report("payment_intent.succeeded", intent["id"])
        return payment_id, intent["id"]

    async def dispute(self, payment_id: str) -> dict[str, Any] | None:
        """The dispute of a payment as its merchant sees it; None if there is none."""
        listed = (await self.alice.get(f"/disputes?transaction_id={payment_id}", mode="live")).ok().body["disputes"]
        return listed[0] if listed else None

    async def payment(self, payment_id: str) -> dict[str, Any]:
        """The payment as it is now."""
        return (await self.alice.get(f"/transactions/{payment_id}", mode="live")).ok().body

    async def purse(self, currency: str = "EUR") -> tuple[int, int, int]:
        """What is available, reserved and owed."""
        found = (await self.alice.get(f"/balances/{currency}", mode="live")).ok().body
        return found["available_minor"], found["reserved_minor"], found["debt_minor"]

    async def events(self) -> list[str]:
        """The types of the merchant's webhook events."""
        rows = await self.alice.sql(
            "SELECT type FROM webhook_events WHERE merchant_id = $1::uuid ORDER BY type", self.alice.merchant_id
        )
        return [row["type"] for row in rows]
