"""A wallet with a signer on the node of the tests, a rail for it, and orders that have passed the gate."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from tests.rails.evm.anvil import Anvil, Contract
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import PayoutOrder, Submission
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.evm import jobs
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings
from tollhouse.rails.evm.signer.client import SignerClient
from tollhouse.rails.evm.signer.journal import SigningJournal, create_journal
from tollhouse.rails.evm.signer.policy import AssetPolicy, NetworkPolicy, SigningPolicy
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.wallet import Wallet, create_mnemonic

ETHER, MINOR = 10**18, 10**10
"""Wei of an ether, and of the smallest part of it that the ledger has."""
RELEASED = """
    INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, review,
                                    approvals_needed, created_at)
    VALUES ($1, $2, $3::uuid, 'live', $4, $5, $6, $7, 'required', 1, now())
"""
BOOKED = """
    SELECT coalesce(sum(p.amount), 0)::bigint AS booked
    FROM ledger_postings p
    JOIN ledger_accounts c ON c.id = p.credit_account_id JOIN ledger_accounts d ON d.id = p.debit_account_id
    WHERE c.code = $1 AND d.code = 'expense:network_fee' AND p.currency = 'ETH' AND p.type = 'network_fee'
"""
APPROVE = """
    UPDATE outgoing_transfers SET review = 'approved', approvals = '{olga}', reviewed_at = now(), released_at = now()
    WHERE id = $1
"""


def make_network(name: str, node_url: str, token: str, socket: str = "unused") -> EvmNetwork:
    """The rail of the node of the tests."""
    tokens = {"USDC": TokenSettings(token, 6)}
    return EvmNetwork(name, EvmSettings(chain_id=31337, node_url=node_url, tokens=tokens, signer_socket=socket))


def make_payouts(db: Pool, catalogue: Catalogue, network: EvmNetwork, socket: Path) -> ChainPayouts:
    """The payouts of a rail, which its provider has from now on."""
    payouts = ChainPayouts(db, catalogue, network, network.settings.node_url or "", SignerClient(socket))
    network.payouts = payouts
    return payouts


def make_signer(folder: Path, name: str, token: str) -> Signer:
    """A signer for this network. Every receiver gets up to 5 ether or 500 dollars at once."""
    ether = AssetPolicy(per_transfer="5", per_day="50", others_per_transfer="5", others_per_day="50")
    dollars = AssetPolicy(
        contract=token, decimals=6, per_transfer="500", per_day="5000", others_per_transfer="500", others_per_day="5000"
    )
    assets = {"ETH": ether, "USDC": dollars}
    network = NetworkPolicy(chain_id=31337, assets=assets, fees_per_day="1")
    policy = SigningPolicy(socket=folder / "s", journal=folder / "j", mnemonic_file=folder / "m", networks={name: network})
    wallet = Wallet(create_mnemonic(policy.mnemonic_file))  # one of its own: nonces of wallets are kept
    create_journal(policy.journal, wallet.address)
    return Signer(policy, wallet, SigningJournal(policy.journal))


class Payer:
    """A rail with a signer and a token, and orders for it."""

    def __init__(
        self, merchant_id: str, services: Services, payouts: ChainPayouts, chain: Anvil, signer: Signer, token: Contract
    ) -> None:
        self.services = services
        self.merchant_id, self.payouts, self.chain, self.signer, self.token = merchant_id, payouts, chain, signer, token
        self.network, self.db, self.name = payouts.network, payouts.db, payouts.network.name
        self.receiver = "0x" + uuid4().hex.ljust(40, "0")

    async def order(
        self, amount_minor: int, currency: str = "ETH", receiver: str | None = None, kind: str = "withdrawal"
    ) -> PayoutOrder:
        """A released withdrawal, or refund."""
        order = PayoutOrder(new_id(), "m", currency, amount_minor, receiver or self.receiver, {}, clock.now())
        values = (self.merchant_id, self.name, currency, amount_minor, order.receiver)
        await self.db.execute(RELEASED, order.id, kind, *values)
        await self.db.execute(APPROVE, order.id)
        return order

    async def pay(self, order: PayoutOrder) -> Submission:
        """Submit the order, as jobs do."""
        return await self.network.payout(order)

    async def stored(self, order: PayoutOrder) -> ChainPayout:
        """The payout as it is in the database."""
        found = await store.get(self.db, order.id)
        assert found is not None
        return found

    async def hashes(self, order: PayoutOrder) -> list[str]:
        """The hashes of what was signed for it."""
        return [transaction.tx_hash for transaction in await store.list_transactions(self.db, order.id)]

    async def check(self, order: PayoutOrder, later: timedelta = timedelta()) -> str:
        """Let the job look after it, and say its status."""
        await jobs.check(self.services, self.payouts, await self.stored(order), clock.now() + later)
        return (await self.stored(order)).status

    async def booked(self) -> int:
        """The fees of the network that are expenses."""
        [row] = await self.db.fetch(BOOKED, f"rail:{self.name}")
        return row["booked"]

    async def settle(self) -> None:
        """Let what waits be mined, and become final."""
        await self.chain.mine()
        await self.chain.finalize()

    async def received_wei(self) -> int:
        """What the receiver has."""
        return await self.chain.balance_wei(self.receiver)
