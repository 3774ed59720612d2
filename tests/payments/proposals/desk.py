"""What tests of proposals do again and again: an application that proposes, and a merchant who decides."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer, Application, application
from tests.transfers.balance_payments.till import fund

SCOPES = (
    "account:read payments:write balance-payments:write withdrawals:write withdrawals:read conversions:write"
    " fulfillments:write offline_access"
)
WITHDRAWAL = {"method_id": "sandbox:EUR", "amount": "10.00", "receiver": "Nina Nowak"}
BODIES: dict[str, dict[str, Any]] = {
    "withdrawals": WITHDRAWAL,
    "balance_payments": {"amount": "10.00", "currency": "EUR"},
    "conversions": {"from_currency": "EUR", "to_currency": "USD", "amount": "10.00"},
    "fulfillments": {"product_id": "sandbox:gems", "quantity": 5, "recipient": {"player_id": "p-1"}},
}


class Desk:
    """Bob's application, connected to Alice, who has test money and decides about proposals."""

    def __init__(self, app: Application, merchant: Actor, tokens: dict[str, Any]) -> None:
        self.app, self.merchant, self.tokens = app, merchant, tokens

    async def api(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """A call with the application's token."""
        return await self.app.api(self.tokens["access_token"], method, path, body, key)

    async def request(
        self, operation: str = "withdrawals", body: Any = None, key: str | None = None, **changes: Any
    ) -> Answer:
        """Propose an operation."""
        proposed = (BODIES[operation] if body is None else body) | changes
        return await self.api("POST", "/proposals", {"operation": operation, "body": proposed}, key or str(uuid4()))

    async def propose(self, operation: str = "withdrawals", body: Any = None, **changes: Any) -> dict[str, Any]:
        """A proposal that waits."""
        return (await self.request(operation, body, **changes)).ok(201).body

    async def read(self, proposal: dict[str, Any]) -> dict[str, Any]:
        """The proposal as the application sees it."""
        return (await self.api("GET", f"/proposals/{proposal['id']}")).ok().body

    async def seen(self, proposal: dict[str, Any]) -> dict[str, Any]:
        """The proposal as the merchant sees it."""
        listed = (await self.merchant.dashboard("GET", "/proposals?limit=100")).ok().body["proposals"]
        return next(row for row in listed if row["id"] == proposal["id"])

    async def cancel(self, proposal: dict[str, Any]) -> Answer:
        """Cancel it, as its proposer."""
        return await self.api("POST", f"/proposals/{proposal['id']}/cancel", {})

    async def decide(self, proposal: dict[str, Any], decision: str = "approve") -> Answer:
        """Approve or reject it, as the merchant."""
        return await self.merchant.dashboard("POST", f"/proposals/{proposal['id']}/{decision}", {})

    async def grant(self) -> dict[str, Any]:
        """The newest connection of the merchant."""
        return (await self.merchant.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]

    async def version(self) -> int:
        """The version of the application."""
        owner, path = self.app.owner, f"/oauth/clients/{self.app.client_id}"
        return (await owner.dashboard("GET", path)).ok().body["client"]["version"]


async def open_desk(merchant: Actor, owner: Actor, money: str = "100.00", **changes: Any) -> Desk:
    """An application of the owner, connected to a merchant who has so much."""
    app = await application(owner, name="Stall manager")
    tokens = await app.connect(merchant, SCOPES, **changes)
    if money:
        await fund(merchant, money)
    return Desk(app, merchant, tokens)
