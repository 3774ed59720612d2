"""What tests of fulfillments do again and again: order, let the worker look, look into the purse."""

from typing import Any
from uuid import UUID, uuid4

import msgspec

from tests.cast import Actor, Answer
from tests.payments.bank import purse
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.products import BUILT_IN, Product
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, available, equity
from tollhouse.ledger.books.post import post_now
from tollhouse.transfers.fulfillments import jobs

GEMS = {"product_id": "sandbox:gems", "quantity": 5, "recipient": {"player_id": "p-1"}}
GOLD: Product = msgspec.structs.replace(
    BUILT_IN["sandbox:gems"], product_id="quest:gold", game="Quest", name="Gold", server="quest", maximum_quantity=10_000
)
SECRET = b"a secret of the two of us"


class Depot:
    """A merchant with 10 euros in each environment, and a worker that looks when it is told to."""

    def __init__(self, actor: Actor, services: Services) -> None:
        self.actor = actor
        self.services = services

    async def order(self, *, mode: str = "test", key: str | None = None, **changes: Any) -> Answer:
        """Order five gems for a player."""
        return await self.actor.post("/fulfillments", GEMS | changes, key=key or str(uuid4()), mode=mode)

    async def order_gold(self, **changes: Any) -> dict[str, Any]:
        """Order five pieces of gold, in live mode."""
        return (await self.order(mode="live", product_id="quest:gold", **changes)).ok(201).body

    async def order_for(self, player: str, **changes: Any) -> dict[str, Any]:
        """Order five gems for this player."""
        return (await self.order(recipient={"player_id": player}, **changes)).ok(201).body

    async def read(self, ordered: dict[str, Any]) -> dict[str, Any]:
        """The fulfillment as it is now."""
        return (await self.actor.get(f"/fulfillments/{ordered['id']}", mode=ordered["mode"])).ok().body

    async def work(self) -> None:
        """Let the worker look at everything that waits, as if its time had come."""
        await self.actor.sql(
            "UPDATE fulfillments SET next_look_at = now() - interval '1 s'"
            " WHERE merchant_id = $1::uuid AND next_look_at IS NOT NULL",
            self.actor.merchant_id,
        )
        await jobs.deliver(self.services)

    async def done(self, ordered: dict[str, Any]) -> dict[str, Any]:
        """The fulfillment after the worker has looked."""
        await self.work()
        return await self.read(ordered)

    async def simulate(self, ordered: dict[str, Any], outcome: str) -> Answer:
        """Play the game server."""
        return await self.actor.post(f"/test/fulfillments/{ordered['id']}/simulate", {"outcome": outcome})

    async def cancel(self, ordered: dict[str, Any]) -> Answer:
        """Cancel."""
        return await self.actor.post(f"/fulfillments/{ordered['id']}/cancel", mode=ordered["mode"])

    async def purse(self) -> tuple[int, int]:
        """What is available and reserved in test mode."""
        return (await purse(self.actor))[:2]

    async def live_purse(self) -> tuple[int, int]:
        """What is available and reserved in live mode."""
        found = (await self.actor.get("/balances/EUR", mode="live")).ok().body
        return found["available_minor"], found["reserved_minor"]

    async def reported(self) -> list[tuple[str, int]]:
        """Status and version of the fulfillments that the balance's events name as their source, oldest first."""
        listed = (await self.actor.get("/webhook-events?limit=100")).ok().body["webhook_events"]
        sources = [row["payload"]["data"]["source"] for row in reversed(listed)]
        return [(source["status"], source["version"]) for source in sources if source["type"] == "fulfillment"]

    async def fund(self, mode: Mode) -> None:
        """Put ten euros on the balance."""
        env = MerchantEnv(MerchantId(UUID(self.actor.merchant_id)), mode)
        posting = Posting("adjustment", "EUR", 1_000, equity("adjustment"), available(env))
        journal_entry = JournalEntry(mode, "adjustment", Source("test", uuid4()), (posting,))
        await self.services.transact(lambda work: post_now(work, journal_entry), clock.now())
