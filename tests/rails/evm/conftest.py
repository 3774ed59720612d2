"""A node for each process of tests, put back after each of them."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails.evm import anvil
from tests.rails.evm.anvil import Anvil
from tests.rails.evm.paying import ETHER, Payer, make_network, make_payouts, make_signer
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.rails.evm.signer.client import SignerClient, SignerUnavailable
from tollhouse.rails.evm.signer.messages import WalletFacts
from tollhouse.rails.evm.signer.server import serve

__all__ = ["anvil_url", "chain"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run the tests that need a node, so that one node is started."""
    for item in items:
        if "anvil_url" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("anvil"))


@pytest.fixture(scope="package")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of their own: its outgoing transfers are of no withdrawal or refund."""
    with Service(settings_for(server.cluster.dsn, fresh=True)) as running:
        yield running


@pytest.fixture(scope="session")
def anvil_url(skip_aloud: Callable[[str], NoReturn], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The node of this test process. Skips, and says so aloud, where npm is missing."""
    anvil.require_node(skip_aloud)
    folder = tmp_path_factory.mktemp("anvil")
    with anvil.running(folder) as url:
        yield url
    shutil.rmtree(folder)


@pytest.fixture
async def chain(anvil_url: str) -> AsyncIterator[Anvil]:
    """The node as it was started, whatever earlier tests did to it. A test that starts and ends nodes uses its own."""
    node = Anvil(anvil_url)
    async with node.node:
        snapshot = await node.rpc("evm_snapshot")
        await node.set_automine(on=False)
        node.accounts = await node.node.call(list, "eth_accounts")
        yield node
        await node.rpc("anvil_dropAllTransactions")
        assert await node.rpc("evm_revert", snapshot)


@pytest.fixture
async def payer(alice: Actor, services: Services, chain: Anvil, tmp_path: Path) -> AsyncIterator[Payer]:
    """The wallet has 10 ether and 1,000 dollars. Whatever left is explained after each test."""
    since = last_id()
    token, name = await chain.deploy("Token", "USD Coin", "USDC", 6), f"t{uuid4().hex[:10]}"
    signer, stop = make_signer(tmp_path, name, token.address), asyncio.Event()
    await chain.sent(signer.wallet.address, 10 * ETHER)
    await chain.transact(token, "mint", signer.wallet.address, 1000 * 10**6)
    network = make_network(name, chain.url, token.address)
    payouts = make_payouts(services.db, services.catalogue, network, signer.policy.socket)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(signer, signer.policy.socket, stop))
        while not await is_listening(payouts.signer, name):
            await asyncio.sleep(0.01)
        yield Payer(alice.merchant_id, services, payouts, chain, signer, token)
        stop.set()
    signer.journal.close()
    broken = await broken_invariants(alice.service.dsn, since)
    assert [line for line in broken if line.startswith("I23 every outgoing amount")] == []


async def is_listening(client: SignerClient, name: str) -> bool:
    try:
        return isinstance(await client.describe_wallet(name), WalletFacts)
    except SignerUnavailable:
        return False
