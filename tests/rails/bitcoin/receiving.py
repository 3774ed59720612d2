"""A rail of Bitcoin that takes deposits by the node of the tests."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec

from tests.cast import Actor
from tests.rails.bitcoin.core import Core
from tests.rails.bitcoin.wallet import FINGERPRINT, ZPUB
from tests.rails.evm.offering import Offering, address
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.settings import BitcoinSettings
from tollhouse.rails.bitcoin.watching import look
from tollhouse.rails.chains import following
from tollhouse.rails.sandbox.provider import SANDBOX

METHOD = """
[methods."{name}:BTC"]
name = "Bitcoin"
type = "crypto"
rail = "{name}"
confirmation = "minutes"
"""
AGE_MAX_S = 10**9
"""Blocks of the tests have times of their own."""

PRICE = 150_000
"""0.0015 BTC in satoshis."""

Shown = tuple[str, int, int | None]


class BitcoinReceiver(Offering):
    """A rail of its own, whose worker looks when it is told to."""

    def __init__(self, actor: Actor, services: Services, core: Core, url: str, **settings: Any) -> None:
        self.actor, self.core, self.url = actor, core, url
        self.name = f"t{uuid4().hex[:10]}"
        self.env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")
        described: dict[str, Any] = {"node_url": url, "xpub": ZPUB, "fingerprint": FINGERPRINT, "tip_age_max_s": AGE_MAX_S}
        self.network = BitcoinNetwork(self.name, BitcoinSettings(network="main", **(described | settings)))
        self.services = msgspec.structs.replace(
            services,
            rails=Rails([SANDBOX, self.network]),
            catalogue=catalogue_file.read(METHOD.format(name=self.name).encode()),
        )

    async def look(self, later: timedelta = timedelta()) -> None:
        """The worker follows the wallet once, so much later, and every process knows what it measured."""
        await following.watch_once(self.services, self.network, look, clock.now() + later)
        await following.refresh(self.services)

    async def bought(self, amount: str = "0.0015") -> tuple[Transaction, str]:
        """An attempt to pay a new link, and its address."""
        made = await self.offer("BTC", amount)
        return made, address(made)

    async def shown(self, payment: Transaction) -> Shown:
        """Status, satoshis received, and confirmations of a payment now."""
        found = await self.payment(payment.id)
        return found.status, found.received_minor, found.confirmations

    async def measured(self) -> tuple[str | None, dict[str, Any]]:
        """Why the rail is unavailable, and what was measured."""
        sql = "SELECT reason, facts FROM rail_health WHERE rail = $1"
        [row] = await self.services.db.fetch(sql, self.name)
        return row["reason"], msgspec.json.decode(row["facts"])
