"""A rail of the node of the tests that takes deposits, and links that are paid by it."""

import os
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from bip32 import BIP32

from tests.cast import Actor
from tests.rails.evm.anvil import CHAIN_ID, Anvil, Contract
from tests.rails.evm.offering import Offering, address
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.chains import following
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings
from tollhouse.rails.evm.watcher import look
from tollhouse.rails.sandbox.provider import SANDBOX

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


class DepositRail(Offering):
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
            catalogue=catalogue_file.read(CATALOGUE.format(name=self.name).encode()),
        )

    async def look(self, later: timedelta = timedelta()) -> None:
        """The worker follows the chain once, and every process knows what it measured."""
        await following.watch_once(self.services, self.network, look, clock.now() + later)
        await following.refresh(self.services)

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
