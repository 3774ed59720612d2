"""What tests of balance payments do again and again: connect an application, fund a merchant, pay, look into purses."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer, Application, application
from tests.payments.bank import purse

SCOPES = "balance-payments:read balance-payments:write"


class Till:
    """Bob's application, connected to Alice, who has some test money."""

    def __init__(self, app: Application, payer: Actor, token: str) -> None:
        self.app = app
        self.payer = payer
        self.token = token

    async def post(self, path: str, body: Any = None, key: str | None = None) -> Answer:
        """A POST with the application's token and an Idempotency-Key of its own."""
        return await self.app.api(self.token, "POST", f"/balance-payments{path}", body or {}, key or str(uuid4()))

    async def pay(self, amount: str = "10.00", **changes: Any) -> Answer:
        """Pay Bob so much in euros."""
        return await self.post("", {"amount": amount, "currency": "EUR"} | changes)

    async def reserve(self, amount: str = "10.00", **changes: Any) -> dict[str, Any]:
        """Set so much aside."""
        return (await self.pay(amount, capture=False, **changes)).ok(201).body

    async def act(self, payment: dict[str, Any], action: str, amount: str | None = None, key: str | None = None) -> Answer:
        """Capture, release or refund."""
        return await self.post(f"/{payment['id']}/{action}", {} if amount is None else {"amount": amount}, key)

    async def read(self, payment: dict[str, Any]) -> Answer:
        """The payment as the application sees it."""
        return await self.app.api(self.token, "GET", f"/balance-payments/{payment['id']}")

    async def as_owner(self, payment: dict[str, Any], action: str = "", body: Any = None, by: Actor | None = None) -> Answer:
        """What the owner does at the dashboard."""
        path = f"/oauth/clients/{self.app.client_id}/balance-payments/{payment['id']}"
        owner = by or self.app.owner
        return (
            await owner.dashboard("POST", f"{path}/{action}", body or {}) if action else await owner.dashboard("GET", path)
        )

    async def purses(self) -> tuple[int, int, int]:
        """What the payer has available and reserved, and what the owner has available."""
        available, reserved, _ = await purse(self.payer)
        return available, reserved, (await purse(self.app.owner))[0]


async def fund(actor: Actor, amount: str) -> None:
    """Put test money on a balance."""
    (await actor.post("/test/balances/fund", {"currency": "EUR", "amount": amount})).ok(201)


async def open_till(
    payer: Actor, owner: Actor, money: str = "100.00", client_type: str = "confidential", **changes: Any
) -> Till:
    """An application of the owner, connected to a payer who has so much."""
    app = await application(owner, client_type)
    token = (await app.connect(payer, SCOPES, **changes))["access_token"]
    await fund(payer, money)
    return Till(app, payer, token)


async def reported(actor: Actor) -> list[dict[str, Any]]:
    """The sources of the balance.updated events of a merchant, oldest first."""
    listed = (await actor.get("/webhook-events?limit=100")).ok().body["webhook_events"]
    return [row["payload"]["data"]["source"] for row in reversed(listed) if row["type"] == "balance.updated"]


async def let_expire(payer: Actor, payment: dict[str, Any]) -> None:
    """Turn the reservation's clock: it was made long ago."""
    await payer.sql(
        "UPDATE balance_payments SET created_at = now() - interval '8 d', expires_at = now() - interval '1 s'"
        " WHERE id = $1::uuid",
        payment["id"],
    )
