"""The rail of EVM networks passes the contract of rails on a real node: each report is of what happened in its blocks."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails import test_evm_contract as in_memory
from tests.rails.evm.anvil import CHAIN_ID, Anvil, Contract
from tests.rails.evm.receiving import new_xpub
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.chains import following
from tollhouse.rails.evm.network.node import number_of
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.watcher import look

FINALITY = 3
"""Confirmations: final blocks can be replaced by deeper reorganisations."""
REPORTED = """
    SELECT merchant_id, transaction_id, outcome, amount_minor, confirmations, at FROM rail_observations
    WHERE rail = $1 AND strpos(external_ref, $2) = 1
    UNION ALL
    SELECT merchant_id, transaction_id, status, amount_minor, NULL, updated_at FROM payment_reversals
    WHERE rail = $1 AND strpos(external_ref, $2) = 1
    ORDER BY at, outcome
"""


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service whose worker does not look at the rail as well."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def tokens(chain: Anvil) -> dict[str, Contract]:
    """Tokens that count in cents, of which the customer has some."""
    made = {code: await chain.deploy("Token", code, code, 2) for code in ("EUR", "USD")}
    for token in made.values():
        await chain.transact(token, "mint", chain.accounts[0], 10**6)
    return made


@pytest.fixture
def network(chain: Anvil, tokens: dict[str, Contract], tmp_path: Path) -> EvmNetwork:
    """A rail of its own for each test: the node is put back after each."""
    settings = EvmSettings(
        chain_id=CHAIN_ID,
        node_url=chain.url,
        xpub=new_xpub(),
        tokens={code: TokenSettings(token.address, 2) for code, token in tokens.items()},
        finality=FINALITY,
        tip_age_max_s=10**9,
        signer_socket=str(tmp_path / "s"),
    )
    return EvmNetwork(f"t{uuid4().hex[:10]}", settings)


@pytest.fixture
def signer(network: EvmNetwork, tokens: dict[str, Contract], tmp_path: Path) -> Iterator[Signer]:
    """The signer of its wallet."""
    made = in_memory.make_signer(tmp_path, network.name, tokens["EUR"].address)
    yield made
    made.journal.close()


@pytest.fixture
async def services(
    service: Service,
    services: Services,
    alice: Actor,
    chain: Anvil,
    tokens: dict[str, Contract],
    network: EvmNetwork,
    signer: Signer,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Services]:
    """Services with the rail, which is available, and its signer, whose wallet has a coin and some euros."""
    first_id = last_id()
    await chain.sent(signer.wallet.address, 10**18)
    await chain.transact(tokens["EUR"], "mint", signer.wallet.address, 10**6)
    await chain.mine(FINALITY)
    async with in_memory.offered(service, services, alice, network, signer, monkeypatch):
        yield services
    assert await broken_invariants(service.dsn, first_id) == []


class TestEvmNetworkOnAnvil(in_memory.TestEvmNetwork):
    """In live mode, by a token."""

    @pytest.fixture(autouse=True)
    def opened(self, network: EvmNetwork, chain: Anvil, tokens: dict[str, Contract]) -> None:
        """The rail and its node."""
        self.provider = self.network = network
        self.method_id = f"{network.name}:EUR"
        elsewhere = [
            impossible_receiver
            for impossible_receiver in self.impossible_receivers
            if impossible_receiver != in_memory.EUROS
        ]
        self.impossible_receivers = (*elsewhere, tokens["EUR"].address)
        self.chain, self.tokens, self.receiver = chain, tokens, chain.accounts[0]
        self.sent: dict[str, tuple[str, str, int]] = {}
        """Hash, bytes and block of a transaction, by its name."""
        self.done = set[Observation]()

    async def _found(self, services: Services, seen: Observation) -> Transaction | None:
        """Let it happen on the network, unless it has happened, and say which payment the worker's report changed."""
        if (seen.currency or self.currency) not in self.tokens:
            return None
        fresh = seen not in self.done
        self.done.add(seen)
        if seen.outcome in {"seen", "confirmed"} and seen.external_ref not in self.sent:
            await self._send(seen)
        tx_hash, raw, block = self.sent.get(seen.external_ref, ("none", "", 0))
        before = await services.db.fetch(REPORTED, self.network.name, tx_hash)
        depth = await self.chain.head() - block + 1
        match seen.outcome:
            case "seen":
                await self.chain.mine(max((seen.confirmations or 1) - depth, 0))
            case "confirmed":
                await self.chain.mine(max(FINALITY - depth, 0))
            case "vanished" if depth < FINALITY:  # what is final stays
                await self.chain.reorganize(depth)
            case "reversed" if fresh:
                await self.chain.reorganize(depth)
                await self._look(services)
                await self.chain.mine(FINALITY)
            case "reinstated" if fresh:
                await self.chain.rpc("eth_sendRawTransaction", raw)
                await self.chain.mine(FINALITY)
            case _:
                pass
        await self._look(services)
        after = await services.db.fetch(REPORTED, self.network.name, tx_hash)
        if after == before:
            return None
        env = MerchantEnv(MerchantId(after[-1]["merchant_id"]), "live")
        return await transaction_store.get(services.db, env, after[-1]["transaction_id"])

    async def _send(self, seen: Observation) -> None:
        """The customer pays by a transaction that is in the newest block."""
        token = self.tokens[seen.currency or self.currency]
        receiver = seen.reference if seen.reference.startswith("0x") else f"0x{'9' * 40}"
        receipt = await self.chain.transact(token, "transfer", receiver, seen.amount_minor)
        raw = await self.chain.node.call(str, "eth_getRawTransactionByHash", receipt.transaction_hash)
        self.sent[seen.external_ref] = (receipt.transaction_hash, raw, number_of(receipt.block_number))

    async def _look(self, services: Services) -> None:
        for _ in range(2):
            await following.watch_once(services, self.network, look, clock.now())
