"""A rail of the node of the tests that takes deposits, and links that are paid by it."""

import os
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from bip32 import BIP32

from tests.cast import Actor
from tests.chains.anvil import CHAIN_ID, Anvil, Contract
from tests.payments.shop import approve_project
from tollhouse.catalogue import extension
from tollhouse.chains import health, jobs
from tollhouse.checkout import attempts
from tollhouse.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payment_links import store as link_store
from tollhouse.payment_links.offers import offers_for
from tollhouse.rails.configured import SANDBOX, Rails
from tollhouse.rails.evm.provider import EvmNetwork
from tollhouse.rails.settings import EvmSettings, TokenSettings
from tollhouse.transactions import store as transaction_store
from tollhouse.transactions.model import Transaction

ETHER, MINOR = 10**18, 10**10
CATALOGUE = """
[methods."{name}:ETH"]
name = "Ether"
type = "crypto"
rail = "{name}"
confirmation = "minutes"
[methods."{name}:USDC"]
name = "USD Coin"
type = "crypto"
rail = "{name}"
confirmation = "minutes"
"""


def new_xpub() -> str:
    """The extended public key of a wallet that nobody has."""
    bip32: Any = BIP32
    return bip32.from_seed(os.urandom(32)).get_xpub_from_path("m/44'/60'/0'/0")


class DepositRail:
    """A rail of its own on a node, whose worker looks when it is told to."""

    def __init__(self, actor: Actor, services: Services, node_url: str, token: str, **settings: Any) -> None:
        self.actor, self.name = actor, f"t{uuid4().hex[:10]}"
        self.env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")
        tokens = {"USDC": TokenSettings(token, 6)}
        described: dict[str, Any] = {"node_url": node_url, "xpub": new_xpub(), "tokens": tokens, "tip_age_max_s": 10**9}
        self.network = EvmNetwork(self.name, EvmSettings(chain_id=CHAIN_ID, **(described | settings)))
        self.services = msgspec.structs.replace(
            services,
            rails=Rails([SANDBOX, self.network]),
            catalogue=extension.read(CATALOGUE.format(name=self.name).encode()),
        )

    async def look(self, later: timedelta = timedelta()) -> None:
        """The worker follows the chain once, and every process knows what it measured."""
        await jobs.watch_once(self.services, self.network, clock.now() + later)
        await health.refresh(self.services)

    async def error(self, currency: str = "ETH") -> str | None:
        """Why the rail is unavailable."""
        await health.refresh(self.services)
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
        new = await attempts.start(shown.link, "Alice", offers, f"{self.name}:{currency}", self.services, now)
        if isinstance(new, UUID):  # the open attempt of the link, which its visitors share
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

    async def rows(self, payment: Transaction) -> list[tuple[str, int]]:
        """Status and minor units of the deposits at the address of a payment."""
        sql = "SELECT status, amount_minor FROM chain_deposits WHERE rail = $1 AND address = lower($2) ORDER BY block_number"
        return [
            (row["status"], row["amount_minor"]) for row in await self.services.db.fetch(sql, self.name, address(payment))
        ]


class Receiver(DepositRail):
    """A rail on the node of the tests, with a token."""

    def __init__(self, actor: Actor, services: Services, chain: Anvil, token: Contract, **settings: Any) -> None:
        super().__init__(actor, services, chain.url, token.address, **settings)
        self.chain, self.token = chain, token

    async def settle(self) -> None:
        """What was mined becomes final, and the worker sees it."""
        await self.chain.finalize()
        await self.look()


def address(payment: Transaction) -> str:
    """The address that the customer pays to."""
    found = payment.instructions.address
    assert found is not None
    return found
