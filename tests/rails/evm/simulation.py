"""A network that is simulated block by block: its nodes, a merchant, workers that are killed, and their signer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Literal

import msgspec
import pytest

from tests.rails.evm.fake_chain import FakeChain
from tests.rails.evm.fake_node import CHAIN_ID, FakeNode, Killed, Trouble
from tests.rails.evm.receiving import CATALOGUE
from tests.rails.evm.simulated_failures import MortalPool, MortalSigner, Risks
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.refunds import jobs as refund_jobs
from tollhouse.payments.transactions import link_closing as transaction_jobs
from tollhouse.rails.chains import following
from tollhouse.rails.evm import jobs
from tollhouse.rails.evm.network.derivation import AddressDeriver
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings
from tollhouse.rails.evm.signer.policy import AssetPolicy, NetworkPolicy, SigningPolicy
from tollhouse.rails.evm.watcher import look
from tollhouse.rails.sandbox.provider import SANDBOX
from tollhouse.transfers.withdrawals import jobs as withdrawal_jobs

NAME, TOKEN = "simulated", f"0x{'d' * 40}"
DEPTH = 8
"""Blocks below the newest that can be replaced."""
START_BLOCKS = 20
MNEMONIC = "test test test test test test test test test test test junk"
COIN_FLOAT, TOKEN_FLOAT = 10_000 * 10**18, 10**12
STEP = timedelta(seconds=1)
WITHDRAWALS = "".join(
    f"""
[withdrawal_methods."{NAME}:{currency}"]
name = "{currency}"
rail = "{NAME}"
receiver_type = "evm_address"
provider_fields = {{ type = "object", additionalProperties = false }}
"""
    for currency in ("ETH", "USDC")
)
Job = Callable[[Services], Awaitable[None]]


def signing_policy(folder: Path) -> SigningPolicy:
    """Whatever the history asks for is within its limits."""
    ether = AssetPolicy(per_transfer="1000", per_day="1000000", others_per_transfer="1000", others_per_day="1000000")
    dollars = AssetPolicy(
        contract=TOKEN,
        decimals=6,
        per_transfer="100000",
        per_day="100000000",
        others_per_transfer="100000",
        others_per_day="100000000",
    )
    network = NetworkPolicy(
        chain_id=CHAIN_ID, assets={"ETH": ether, "USDC": dollars}, fees_per_day="10000", gas_per_sweep="1"
    )
    return SigningPolicy(socket=folder / "s", journal=folder / "j", mnemonic_file=folder / "m", networks={NAME: network})


class Simulation:
    """The network and everybody on it. `now` is the clock of all of them."""

    def __init__(
        self, services: Services, service: Service, random: Random, folder: Path, finality: Literal["finalized"] | int
    ) -> None:
        self.random, self.risks, self.finality = random, Risks(random), finality
        self.chain = FakeChain(random)
        self.node = FakeNode(self.chain, f"fake://{NAME}", None if finality == "finalized" else finality)
        self.signer = MortalSigner(self.risks, signing_policy(folder), MNEMONIC)
        self.chain.mint(None, self.signer.wallet.address, COIN_FLOAT)
        self.chain.mint(TOKEN, self.signer.wallet.address, TOKEN_FLOAT)
        self.chain.mine(START_BLOCKS)
        self.settings = EvmSettings(
            chain_id=CHAIN_ID,
            node_url=self.node.url,
            xpub=self.signer.wallet.xpub,
            tokens={"USDC": TokenSettings(TOKEN, 6)},
            finality=finality,
            tip_age_max_s=10**9,
            signer_socket=str(folder / "s"),
            sweep_above={"ETH": "0.5", "USDC": "50"},
        )
        self.now = datetime.fromtimestamp(self.chain.head.timestamp, UTC)
        catalogue = catalogue_file.read((CATALOGUE.format(name=NAME) + WITHDRAWALS).encode())
        self.web = msgspec.structs.replace(
            services, rails=Rails([SANDBOX, EvmNetwork(NAME, self.settings)]), catalogue=catalogue
        )
        self.pool = MortalPool(service.dsn, 6, partitions=services.db.partitions)
        self.pool.risks = self.risks
        self.workers = [self._start(), self._start()]

    @property
    def network(self) -> EvmNetwork:
        """The network as the worker that follows it has it."""
        return self.workers[0].rails.of(EvmNetwork)[0]

    def endanger(self) -> None:
        """Let everything fail now and then; how often changes from time to time."""
        often = self.random.choice((0.2, 1, 1, 2))
        self.node.trouble = Trouble(
            refused=0.004 * often, lost=0.008 * often, repeated=0.005 * often, stale=0.03 * often, killed=0.003 * often
        )
        self.risks.killed, self.risks.signer, self.risks.lost = 0.003 * often, 0.02 * often, 0.01 * often

    def calm(self) -> None:
        """Let nothing fail."""
        self.node.trouble, self.risks.killed, self.risks.signer, self.risks.lost = Trouble(), 0, 0, 0

    def finalize(self) -> None:
        """Blocks become final that cannot be replaced."""
        self.chain.finalized = max(self.chain.finalized, self.chain.head.number - DEPTH)

    @property
    def replaceable(self) -> int:
        """How many of the newest blocks may still be replaced."""
        return self.chain.head.number - self.chain.finalized

    async def work(self) -> None:
        """A round of jobs: mostly one after the other, at times all at once and by two workers."""
        self.now += STEP
        chosen = [job for likelihood, job in self._jobs() if self.random.random() < likelihood]
        self.random.shuffle(chosen)
        if self.random.random() < 0.3:
            shared = [(other, job) for other in self.workers[1:] for job in chosen if job in BY_ANY_WORKER]
            await self._run([(self.workers[0], job) for job in chosen] + shared)
        else:
            for job in chosen:
                await self._run([(self.workers[0], job)])
        await following.refresh(self.web)

    async def work_all(self, but: Sequence[Job] = ()) -> None:
        """Every job once but these, by one worker."""
        for _, job in self._jobs():
            if job not in but:
                await self._run([(self.workers[0], job)])
        await following.refresh(self.web)

    def _jobs(self) -> Sequence[tuple[float, Job]]:
        return (
            (0.9, self._watch),
            (0.7, following.refresh),
            (0.4, jobs.measure_payouts),
            (0.6, jobs.advance_payouts),
            (0.6, withdrawal_jobs.advance_withdrawals),
            (0.6, refund_jobs.submit_refunds),
            (0.2, jobs.collect_deposits),
            (0.1, transaction_jobs.close_links),
        )

    async def _watch(self, services: Services) -> None:
        await following.watch_once(services, services.rails.of(EvmNetwork)[0], look, clock.now())

    async def _run(self, chosen: Sequence[tuple[Services, Job]]) -> None:
        """These at once. Where one is killed, so is everything of these processes; others start in their place."""
        bystanders = asyncio.all_tasks()
        running = [asyncio.create_task(_job(job, services)) for services, job in chosen]
        try:
            await asyncio.gather(*running)
        except Killed:
            rest = asyncio.all_tasks() - bystanders
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, *running, return_exceptions=True)
            self.risks.counts["workers killed"] += 1
            self.workers = [self._start(), self._start()]

    def _start(self) -> Services:
        """A process without any memory."""
        return msgspec.structs.replace(self.web, db=self.pool, rails=Rails([SANDBOX, EvmNetwork(NAME, self.settings)]))


@contextmanager
def remembered_addresses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each address be derived once: workers verify them at each look, which takes half of the time."""
    derive, known = AddressDeriver.address, dict[int, str]()

    def address(deriver: AddressDeriver, index: int) -> str:
        if index not in known:
            known[index] = derive(deriver, index)
        return known[index]

    with monkeypatch.context() as patch:
        patch.setattr(AddressDeriver, "address", address)
        yield


BY_ANY_WORKER: tuple[Job, ...] = (
    jobs.advance_payouts,
    withdrawal_jobs.advance_withdrawals,
    refund_jobs.submit_refunds,
    transaction_jobs.close_links,
)
"""Jobs that several workers run at once. A chain is followed by one."""


async def _job(job: Job, services: Services) -> None:
    await job(services)
