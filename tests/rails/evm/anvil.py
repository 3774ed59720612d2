"""A real node of an EVM network for tests: anvil, with contracts of ours and what only a test node can do."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from eth_abi.abi import decode, encode
from eth_hash.auto import keccak
from msgspec import Struct

from tests import npm
from tollhouse.rails.evm.network.node import EvmNode, HexAddress

HERE = Path(__file__).parent
CHAIN_ID = 31337
BLOCKS_PER_EPOCH = 2
FINAL_DEPTH = 2 * BLOCKS_PER_EPOCH
"""The `finalized` block is this far behind the newest."""
STARTS_WITHIN_S = 60
GAS_MAX = 10_000_000
CONTRACTS: dict[str, Any] = json.loads((HERE / "contracts.json").read_text())


class Receipt(Struct, frozen=True, rename="camel"):
    """What the tests read of a receipt."""

    status: str
    transaction_hash: str
    block_number: str
    block_hash: str
    contract_address: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it was not reverted."""
        return self.status == "0x1"


class Contract(Struct, frozen=True):
    """A deployed contract."""

    address: str
    abi: list[dict[str, Any]]

    def data(self, function: str, *values: Any) -> str:
        """The data of a call."""
        types = self._types(function, "inputs")
        selector = keccak(f"{function}({','.join(types)})".encode())[:4]
        return f"0x{(selector + encode(types, values)).hex()}"

    def result(self, function: str, data: str) -> Any:
        """The value that a call returned."""
        return decode(self._types(function, "outputs"), bytes.fromhex(data[2:]))[0]

    def _types(self, function: str, which: str) -> list[str]:
        (found,) = (entry for entry in self.abi if entry.get("name") == function and entry["type"] == "function")
        return [value["type"].replace("enum Token.Transfers", "uint8") for value in found[which]]


class Anvil:
    """A running node. Transactions wait for `mine`, unless `set_automine` was called; its accounts need no signatures."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.node = EvmNode(url)
        self.accounts: list[str] = []

    async def rpc(self, method: str, *params: Any) -> Any:
        """Any call; None if the result is null."""
        return await self.node.find(object, method, *params)

    async def set_automine(self, *, on: bool) -> None:
        """Whether each transaction gets a block of its own at once."""
        await self.rpc("evm_setAutomine", on)

    async def mine(self, blocks: int = 1) -> None:
        """Add blocks; the first contains the transactions that wait."""
        await self.rpc("anvil_mine", hex(blocks))

    async def finalize(self) -> None:
        """Add blocks until the one that is the newest now is final."""
        await self.mine(FINAL_DEPTH)

    async def reorganize(self, depth: int) -> None:
        """Replace the last blocks by as many empty ones. Their transactions are lost, as if they had never been sent."""
        await self.rpc("anvil_reorg", depth, [])

    async def head(self) -> int:
        """The number of the newest block."""
        return await self.node.quantity("eth_blockNumber")

    async def send(self, to: str | None, value_wei: int = 0, data: str = "0x", sender: str | None = None) -> str:
        """Send a transaction from an account of the node; its hash. A reverting one is sent as well."""
        order = {"from": sender or self.accounts[0], "value": hex(value_wei), "data": data, "gas": hex(GAS_MAX)}
        return await self.node.call(str, "eth_sendTransaction", order if to is None else {**order, "to": to})

    async def sent(self, to: str | None, value_wei: int = 0, data: str = "0x", sender: str | None = None) -> Receipt:
        """The same, mined in a block; its receipt."""
        tx_hash = await self.send(to, value_wei, data, sender)
        await self.mine()
        return await self.receipt(tx_hash)

    async def receipt(self, tx_hash: str) -> Receipt:
        """The receipt of a mined transaction."""
        return await self.node.call(Receipt, "eth_getTransactionReceipt", tx_hash)

    async def deploy(self, name: str, *values: Any) -> Contract:
        """Deploy a contract of `Token.sol`, mined in a block."""
        compiled = CONTRACTS[name]
        types = [given["type"] for entry in compiled["abi"] if entry["type"] == "constructor" for given in entry["inputs"]]
        receipt = await self.sent(None, data=f"{compiled['bytecode']}{encode(types, values).hex()}")
        assert receipt.succeeded
        assert receipt.contract_address
        return Contract(receipt.contract_address, compiled["abi"])

    async def transact(self, contract: Contract, function: str, *values: Any, sender: str | None = None) -> Receipt:
        """Call a function of a contract in a transaction, mined in a block."""
        return await self.sent(contract.address, data=contract.data(function, *values), sender=sender)

    async def read(self, contract: Contract, function: str, *values: Any) -> Any:
        """The value that a function returns in the newest block."""
        call = {"to": contract.address, "data": contract.data(function, *values)}
        return contract.result(function, await self.rpc("eth_call", call, "latest"))

    async def balance_wei(self, address: HexAddress) -> int:
        """The ether of an account in the newest block."""
        return await self.node.quantity("eth_getBalance", address, "latest")


@contextmanager
def running(folder: Path, port: int = 0) -> Iterator[str]:
    """The URL of a node of our own, with its log in this folder. Port 0: the kernel chooses."""
    log = folder / "anvil.log"
    options = ("--port", str(port), "--chain-id", str(CHAIN_ID), "--slots-in-an-epoch", str(BLOCKS_PER_EPOCH), "--no-mining")
    with log.open("wb") as output:
        command = (program() or "anvil", *options, "--threads", "1", "--host", "127.0.0.1")
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield f"http://{_listening_address(process, log)}"
    finally:
        process.kill()
        process.wait()


def program() -> str | None:
    """The node that is installed here, else the one in PATH."""
    found = [*HERE.glob("node_modules/@foundry-rs/anvil-*/bin/anvil")]
    return str(found[0]) if found else shutil.which("anvil")


@cache
def why_missing() -> str | None:
    """Install the node, unless it is there; why that cannot be."""
    missing = npm.why_missing(HERE)
    return missing or (None if program() is not None else "npm has no anvil for this machine")


def require_node(skip_aloud: Callable[[str], NoReturn]) -> None:
    """Skip the test where the node cannot be installed."""
    if (missing := why_missing()) is not None:
        skip_aloud(f"NOT TESTED: rails on a node of an EVM network, because {missing}")


def _listening_address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        _, listening, address = log.read_text(errors="replace").partition("Listening on ")
        if listening and "\n" in address:
            return address.split()[0]
        time.sleep(0.02)
    raise AssertionError(f"anvil did not start: {log.read_text(errors='replace')[-500:]}")
