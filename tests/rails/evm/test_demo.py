"""`tollhouse demo --rail evm` as its user runs it: a wallet pays the printed link, and the checkout shows confirmations."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import aiohttp
import pytest

from tests.processes import Serving
from tests.rails.evm import anvil
from tests.running import free_port
from tollhouse.instance.demo import network
from tollhouse.instance.demo.programs import DemoError
from tollhouse.rails import configured
from tollhouse.rails.evm.network.node import EvmNode
from tollhouse.rails.evm.settings import EvmSettings

pytestmark = pytest.mark.long

ENDS_WITHIN_S = 300
LINK = re.compile(r"^Live link, ethereum:USDC +(\S+)$", re.MULTILINE)
WATCH = re.compile(r"^Watch them on (\S+)$", re.MULTILINE)


def test_the_token_of_the_demo_is_the_one_of_the_tests() -> None:
    code = Path(network.__file__).with_name("token.hex").read_text("ascii")
    assert code.strip() == anvil.CONTRACTS["Token"]["bytecode"], (
        "run: node compile.mjs in tests/rails/evm, and copy the bytecode"
    )


def test_without_a_node_the_demo_says_what_to_install() -> None:
    with pytest.raises(DemoError, match="Install Foundry"):
        network.find_node("no-anvil-of-this-name")


async def test_a_wallet_pays_the_demo(skip_aloud: Callable[[str], NoReturn]) -> None:
    anvil.require_node(skip_aloud)
    with tempfile.TemporaryDirectory(prefix="tollhouse-demo-") as folder:
        data_dir = Path(folder) / "t"
        data_dir.mkdir()
        options = ("--receiver-port", str(free_port()), "--anvil", str(anvil.program()))
        serving = Serving(data_dir, "demo", "--rail", "evm", *options)
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                await serving.start()
                while "Ctrl-C stops everything." not in serving.said:
                    await asyncio.sleep(0.05)
                async with node_of(data_dir.with_name("t-demo-evm")) as node:
                    await node.find(object, "evm_setIntervalMining", 0)
                    part = await pay(node, data_dir, LINK.findall(serving.said)[0], "--amount", "5")
                    at_once, _ = await follow(
                        node, WATCH.findall(part)[0], ("underpaid", "0.000000"), ("underpaid", "5.000000")
                    )
                    rest = await pay(node, data_dir, WATCH.findall(part)[0])
                    seen, succeeded = await follow(
                        node, WATCH.findall(rest)[0], ("processing", "5.000000"), ("succeeded", "12.500000")
                    )
        finally:
            assert serving.stop() == []
    assert at_once["amount_detected"] == "5.000000"
    assert "Paying 7.5 USDC" in rest
    assert (seen["confirmations"], seen["required_confirmations"]) == (1, network.FINALITY)
    assert (succeeded["status"], succeeded["amount_received"]) == ("succeeded", "12.500000")


def node_of(folder: Path) -> EvmNode:
    """The node of the demo in this folder."""
    described = configured.load(folder / network.RAILS_FILE)[network.RAIL]
    assert isinstance(described, EvmSettings)
    return EvmNode(described.node_url or "")


async def pay(node: EvmNode, data_dir: Path, *link: str) -> str:
    """What the wallet prints. Its transaction gets a block."""
    environment = {**os.environ, "TOLLHOUSE_DATA_DIR": str(data_dir)}
    words = (sys.executable, "-m", "tollhouse", "demo", "pay", *link)
    wallet = await asyncio.create_subprocess_exec(*words, env=environment, stdout=asyncio.subprocess.PIPE)
    while (await node.call(dict[str, str], "txpool_status"))["pending"] == "0x0":
        assert wallet.returncode is None
        await asyncio.sleep(0.05)
    await node.find(object, "anvil_mine", hex(1))
    printed = (await wallet.communicate())[0].decode()
    assert wallet.returncode == 0
    return printed


async def follow(node: EvmNode, page: str, first: tuple[str, str], last: tuple[str, str]) -> list[dict[str, Any]]:
    """What the checkout shows with the first confirmation, and with the last. Both are a status and the amount received."""
    url, _, query = page.partition("?")
    shown = list[dict[str, Any]]()
    async with aiohttp.ClientSession() as http:
        for blocks, awaited in ((0, first), (network.FINALITY - 1, last)):
            if blocks:
                await node.find(object, "anvil_mine", hex(blocks))
            while True:
                async with http.get(f"{url}/status?{query}") as response:
                    found = await response.json()
                if (found["status"], found["amount_received"]) == awaited and found["confirmations"] != 0:
                    break
                await asyncio.sleep(0.05)
            shown.append(found)
    return shown
