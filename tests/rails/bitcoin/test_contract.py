"""The rail of Bitcoin passes the contract of rails: what it reports is what its worker finds in the wallet of a node."""

from collections.abc import AsyncIterator
from typing import ClassVar
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.shop import approve_project
from tests.rails.bitcoin.core import Core, serving
from tests.rails.bitcoin.receiving import AGE_MAX_S, METHOD
from tests.rails.bitcoin.wallet import FINGERPRINT, THEIRS, ZPUB
from tests.rails.contract import RailContract
from tests.running import CATALOGUE, Service
from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.chain import PayoutsMeasured
from tollhouse.kernel.rails.provider import Attempt, Observation
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Transaction
from tollhouse.rails.bitcoin import watching
from tollhouse.rails.bitcoin.jobs import BitcoinPayouts
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.settings import BitcoinSettings
from tollhouse.rails.bitcoin.watching import look
from tollhouse.rails.chains import following
from tollhouse.transfers.gate import gate

CONFIRMATIONS = 3
OBSERVED = """
    SELECT transaction_id, outcome, external_ref FROM rail_observations WHERE rail = $1
    UNION ALL
    SELECT transaction_id, status, external_ref FROM payment_reversals WHERE rail = $1
"""
MERCHANT = "SELECT merchant_id FROM transactions WHERE id = $1"


class CentNetwork(BitcoinNetwork):
    """A network on which the contract's euros are paid: a satoshi is a cent."""

    @property
    def currencies(self) -> frozenset[str]:
        """Euros."""
        return frozenset({"EUR"})


@pytest.fixture
def core() -> Core:
    """A node."""
    return Core()


@pytest.fixture
def network() -> BitcoinNetwork:
    """A rail of its own."""
    settings = BitcoinSettings(
        network="main", xpub=ZPUB, fingerprint=FINGERPRINT, confirmations=CONFIRMATIONS, tip_age_max_s=AGE_MAX_S
    )
    return CentNetwork(f"t{uuid4().hex[:10]}", settings)


@pytest.fixture
async def services(
    service: Service,
    services: Services,
    alice: Actor,
    core: Core,
    network: BitcoinNetwork,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Services]:
    """Services with the rail, which is available. Alice may sell for real money."""
    since, name = last_id(), network.name
    monkeypatch.setattr(following, "FREE_MIN", 4)
    monkeypatch.setattr(watching, "VERIFIED_AT_ONCE", 4)
    monkeypatch.setattr(watching, "WATCHED_AHEAD", 50)
    monkeypatch.setitem(service.rails.providers, (name, "live"), network)
    method = catalogue_file.read(METHOD.format(name=name).replace("BTC", "EUR").encode()).methods[f"{name}:EUR"]
    monkeypatch.setitem(CATALOGUE.methods, f"{name}:EUR", method)
    await approve_project(alice, "live")
    async with serving(core) as url:
        network.settings = msgspec.structs.replace(network.settings, node_url=url)
        await following.watch_once(services, network, look, clock.now())
        network.payouts = BitcoinPayouts(services.db, network)
        await following.refresh(services)
        network.payouts_measured = PayoutsMeasured(None, frozenset(), clock.now(), {})  # it has no coins
        yield services
    assert await broken_invariants(service.dsn, since) == []


class TestBitcoin(RailContract):
    """In live mode."""

    receiver = THEIRS
    impossible_receivers = ("", "bc1", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", f"0x{'a1' * 20}")
    without: ClassVar = {
        "decline": "A transaction that the network does not take is never seen.",
        "currency": "The network carries nothing but bitcoin.",
    }

    @pytest.fixture(autouse=True)
    def opened(self, network: BitcoinNetwork, core: Core) -> None:
        """The rail."""
        self.provider = self.network = network
        self.method_id = f"{network.name}:EUR"
        self.core = core
        self.transfers: dict[str, str] = {}
        self.reported = set[tuple[str, str, str]]()

    def attempt(self) -> Attempt:
        return Attempt(new_id(), self.method_id, self.currency, 1_000, address=THEIRS)

    async def release(self, services: Services, refund_id: UUID) -> None:
        """Nobody knows who paid, so an operator approves each receiver."""
        now = clock.now()
        await services.db.transact(lambda tx: gate.approve(tx, refund_id, Reviewer("olga"), None, now))
        await services.db.transact(lambda tx: gate.release(tx, refund_id, now))

    async def report(self, services: Services, *seen: Observation) -> list[Transaction | None]:
        """Let it happen on the network, and say which payment changed when the worker looked."""
        return [await self._found(services, observation) for observation in seen]

    async def _found(self, services: Services, seen: Observation) -> Transaction | None:
        txid = self._transfer(seen)
        key = (seen.outcome, seen.external_ref, seen.reversal_ref)
        if key not in self.reported:
            self.reported.add(key)
            if seen.outcome == "reversed" and self.core.place(txid)[0] < CONFIRMATIONS:  # no worker would report it yet
                return (await super().report(services, msgspec.structs.replace(seen, external_ref=f"{txid}:0")))[0]
            self._happen(seen, txid)
        before = {(*row,) for row in await services.db.fetch(OBSERVED, self.network.name)}
        await following.watch_once(services, self.network, look, clock.now())
        [*changed] = {(*row,) for row in await services.db.fetch(OBSERVED, self.network.name)} - before
        if not changed:
            return None
        transaction_id: UUID = changed[0][0]
        [merchant] = await services.db.fetch(MERCHANT, transaction_id)
        env = MerchantEnv(MerchantId(merchant["merchant_id"]), "live")
        return await transaction_store.get(services.db, env, transaction_id)

    def _transfer(self, seen: Observation) -> str:
        """The transaction of this name; a new one that nobody has yet."""
        if seen.external_ref not in self.transfers:
            is_payment = seen.reference.startswith("bc1") and seen.currency in {None, self.currency}
            txid = self.core.pay((seen.reference if is_payment else THEIRS, seen.amount_minor or 1_000))
            self.core.evict(txid)
            self.transfers[seen.external_ref] = txid
        return self.transfers[seen.external_ref]

    def _happen(self, seen: Observation, txid: str) -> None:
        confirmations = self.core.place(txid)[0]
        wanted = {"seen": seen.confirmations or 0, "confirmed": CONFIRMATIONS, "reinstated": CONFIRMATIONS}
        if seen.outcome == "reversed":
            self.core.reorganize(confirmations, keep=False)
        elif seen.outcome == "vanished" and txid in self.core.mempool:
            self.core.evict(txid)
        elif seen.outcome in wanted and confirmations == 0:
            self.core.take(self.core.txs[txid])
        self.core.mine(max(wanted.get(seen.outcome, 0) - confirmations, 0))
