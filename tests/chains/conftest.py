"""A node for each process of tests, put back after each of them."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NoReturn

import pytest

from tests.chains import anvil
from tests.chains.anvil import Anvil
from tests.clients.conftest import skip_aloud

__all__ = ["anvil_url", "chain", "skip_aloud"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run the tests that need a node, so that one node is started."""
    for item in items:
        if "anvil_url" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("anvil"))


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
