"""The rail of EVM networks passes the contract of rails: what it reports is what its worker finds in blocks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import ClassVar
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.shop import approve_project
from tests.rails.contract import RailContract
from tests.rails.evm.conftest import is_listening
from tests.rails.evm.fake_chain import FakeChain
from tests.rails.evm.fake_node import CHAIN_ID, FakeNode, answering
from tests.rails.evm.paying import make_payouts
from tests.rails.evm.receiving import new_xpub
from tests.running import CATALOGUE, Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.provider import Attempt, Observation
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.chains import following
from tollhouse.rails.chains.model import BlockId, Cursor, Deposit
from tollhouse.rails.evm import deposits_store, jobs
from tollhouse.rails.evm.network.blocks import Header, Tip
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.reports import Reporter
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings
from tollhouse.rails.evm.signer.journal import SigningJournal, create_journal
from tollhouse.rails.evm.signer.policy import AssetPolicy, NetworkPolicy, SigningPolicy
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.server import serve
from tollhouse.rails.evm.signer.wallet import Wallet, create_mnemonic
from tollhouse.rails.evm.watcher import look
from tollhouse.transfers.gate import gate

NAME, HEAD, FINAL = "evm", 1_000, 2_000
EUROS, DOLLARS = (f"0x{digit * 40}" for digit in "ed")
"""Contracts of tokens that count in cents."""
METHOD = """
[methods."{name}:EUR"]
name = "Euro token"
type = "crypto"
rail = "{name}"
confirmation = "minutes"
"""
REPORTED = """
    SELECT merchant_id, transaction_id, outcome, amount_minor, confirmations, at FROM rail_observations
    WHERE rail = $1 AND strpos(external_ref, $2) = 1
    UNION ALL
    SELECT merchant_id, transaction_id, status, amount_minor, NULL, updated_at FROM payment_reversals
    WHERE rail = $1 AND external_ref = $2
    ORDER BY at, outcome
"""
# Its block was replaced, for the first time; or has come back.
REPLACE_BLOCK = """
    UPDATE chain_deposits SET status = $3 WHERE rail = $1 AND tx_hash = $2 AND (status, $3, reversals)
        IN (('confirmed', 'lost', 0), ('reversed', 'reinstated', 1))
"""


def make_network(folder: Path) -> EvmNetwork:
    """A network with tokens that count as the contract does."""
    tokens = {"EUR": TokenSettings(EUROS, 2), "USD": TokenSettings(DOLLARS, 2)}
    settings = EvmSettings(
        chain_id=CHAIN_ID,
        node_url=f"fake://{NAME}",
        xpub=new_xpub(),
        tokens=tokens,
        tip_age_max_s=10**9,
        signer_socket=str(folder / "s"),
    )
    return EvmNetwork(NAME, settings)


def make_signer(folder: Path, name: str = NAME, contract: str = EUROS) -> Signer:
    """A signer that pays refunds in euros."""
    euros = AssetPolicy(
        contract=contract, decimals=2, per_transfer="50", per_day="5000", others_per_transfer="50", others_per_day="5000"
    )
    network = NetworkPolicy(chain_id=CHAIN_ID, assets={"EUR": euros}, fees_per_day="1")
    policy = SigningPolicy(socket=folder / "s", journal=folder / "j", mnemonic_file=folder / "m", networks={name: network})
    wallet = Wallet(create_mnemonic(policy.mnemonic_file))
    create_journal(policy.journal, wallet.address)
    return Signer(policy, wallet, SigningJournal(policy.journal))


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service whose worker does not look at the rail as well."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> EvmNetwork:
    """The rail of these tests: its addresses are derived once."""
    return make_network(tmp_path_factory.mktemp(NAME))


@pytest.fixture(scope="module")
def signer(network: EvmNetwork) -> Iterator[Signer]:
    """The signer of its wallet."""
    made = make_signer(Path(network.settings.signer_socket or "").parent)
    yield made
    made.journal.close()


@pytest.fixture
async def services(
    service: Service, services: Services, alice: Actor, network: EvmNetwork, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Services]:
    """Services with the rail, which is available, and its signer. Alice may sell for real money."""
    first_id = last_id()
    chain = FakeChain(Random(1))  # noqa: S311 - the same each time
    chain.mint(None, signer.wallet.address, 10**18)
    chain.mint(EUROS, signer.wallet.address, 10**6)
    with answering(FakeNode(chain, network.settings.node_url or ""), monkeypatch):
        async with offered(service, services, alice, network, signer, monkeypatch):
            yield services
    assert await broken_invariants(service.dsn, first_id) == []


@asynccontextmanager
async def offered(
    service: Service, services: Services, actor: Actor, network: EvmNetwork, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """The rail is available, its signer runs, and the actor may sell for real money."""
    stop, method_id = asyncio.Event(), f"{network.name}:EUR"
    monkeypatch.setitem(service.rails.providers, (network.name, "live"), network)
    method = catalogue_file.read(METHOD.format(name=network.name).encode()).methods[method_id]
    monkeypatch.setitem(CATALOGUE.methods, method_id, method)
    await approve_project(actor, "live")
    payouts = make_payouts(services.db, services.catalogue, network, signer.policy.socket)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(signer, signer.policy.socket, stop))
        while not await is_listening(payouts.signer, network.name):
            await asyncio.sleep(0.01)
        await following.watch_once(services, network, look, clock.now())
        await jobs.measure(payouts, clock.now())
        await following.refresh(services)
        yield
        stop.set()


class TestEvmNetwork(RailContract):
    """In live mode, by a token."""

    method_id = f"{NAME}:EUR"
    receiver = f"0x{'a1' * 20}"
    impossible_receivers = ("", "0x12", f"0x{'0' * 40}", EUROS, "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9b")
    without: ClassVar = {
        "decline": "A transaction that is reverted moves nothing and is not reported.",
        "early reversal": "A report and its mark in the deposit are one transaction, so none overtakes another.",
    }

    @pytest.fixture(autouse=True)
    def opened(self, network: EvmNetwork) -> None:
        """The rail."""
        self.provider = self.network = network

    def attempt(self) -> Attempt:
        return Attempt(new_id(), self.method_id, self.currency, 1_000, address=self.receiver)

    async def release(self, services: Services, refund_id: UUID) -> None:
        await services.db.transact(lambda tx: gate.release(tx, refund_id, clock.now()))

    async def report(self, services: Services, *seen: Observation) -> list[Transaction | None]:
        """Let the worker find them in blocks, and say which payment each of its reports changed."""
        return [await self._found(services, observation) for observation in seen]

    async def _found(self, services: Services, seen: Observation) -> Transaction | None:
        now, deposit = clock.now(), self._deposit(seen)
        if deposit.currency not in self.network.assets:
            return None  # only configured assets are read
        match seen.outcome:
            case "seen":
                await services.db.transact(lambda tx: deposits_store.see(tx, NAME, "live", [deposit], now))
            case "vanished":
                await deposits_store.vanish(services.db, NAME, "live", FINAL, [], now)
            case "confirmed":
                await services.db.transact(lambda tx: deposits_store.finalize(tx, NAME, "live", [deposit], now))
            case "reversed" if await services.db.execute(REPLACE_BLOCK, NAME, deposit.tx_hash, "lost") == 1:
                pass
            case "reinstated":
                await services.db.execute(REPLACE_BLOCK, NAME, deposit.tx_hash, "reinstated")
            case _:
                ref = deposit.block_hash if seen.reversal_ref else ""
                renamed = msgspec.structs.replace(seen, external_ref=deposit.reference, reversal_ref=ref)
                return (await super().report(services, renamed))[0]
        before = await services.db.fetch(REPORTED, NAME, deposit.reference)
        cursor = Cursor(BlockId(FINAL, _header(FINAL).hash), (), FINAL)
        await Reporter(services, self.network, Tip(_header(HEAD), None), cursor, now).report()
        after = await services.db.fetch(REPORTED, NAME, deposit.reference)
        if after == before:
            return None
        env = MerchantEnv(MerchantId(after[-1]["merchant_id"]), "live")
        return await transaction_store.get(services.db, env, after[-1]["transaction_id"])

    def _deposit(self, seen: Observation) -> Deposit:
        number = HEAD + 1 - (seen.confirmations or 1)
        return Deposit(
            tx_hash=seen.external_ref,
            address=seen.reference.lower(),
            currency=seen.currency or self.currency,
            sender=None if seen.payer is None else seen.payer.account,
            units=seen.amount_minor,
            amount_minor=seen.amount_minor,
            block_number=number,
            block_hash=_header(number).hash,
            block_at=clock.now() - timedelta(seconds=1),
            status="seen",
        )


def _header(number: int) -> Header:
    return Header(hex(number), f"0x{number:064x}", f"0x{number - 1:064x}", hex(int(clock.now().timestamp())))
