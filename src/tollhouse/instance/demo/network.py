"""The network of `tollhouse demo --rail evm`: a test node with a token, a signer with a wallet, and the rails file.

Each start removes the data of the one before, since the chain of the node is a new one.
"""

import asyncio
import shutil
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.demo import programs
from tollhouse.instance.demo.programs import DemoError
from tollhouse.rails.evm.network.node import EvmNode, HexAddress, address_word
from tollhouse.rails.evm.signer.client import SignerClient, SignerUnavailable
from tollhouse.rails.evm.signer.messages import WalletFacts
from tollhouse.rails.json_rpc import NodeError

RAIL, CHAIN_ID = "ethereum", 31337
RAILS_FILE = "rails.toml"
BLOCK_TIME_S = 3
FINALITY = 5
"""Confirmations until a payment succeeds: the customer sees each of them."""
STARTS_WITHIN_S = 60
ETHER, DOLLAR = 10**18, 10**6
FUNDS = {"ETH": 100, "USDC": 10_000}
"""What the wallet that pays is given, by currency."""
TOKEN = ("USD Coin", "USDC", 6)
MINT = "0x40c10f19"
"""The selector of `mint(address,uint256)`."""
GAS = 5_000_000
SIGNER = """\
socket = "{folder}/signer.socket"
journal = "{folder}/signer-journal"
mnemonic_file = "{folder}/signer-mnemonic"
[networks.{rail}]
chain_id = {chain_id}
fees_per_day = "1"
[networks.{rail}.assets.ETH]
per_transfer = "10"
per_day = "100"
others_per_transfer = "10"
others_per_day = "100"
[networks.{rail}.assets.USDC]
contract = "{token}"
decimals = 6
per_transfer = "1000"
per_day = "10000"
others_per_transfer = "1000"
others_per_day = "10000"
"""
RAILS = """\
[{rail}]
kind = "evm"
chain_id = {chain_id}
node_url = "{node_url}"
xpub = "{xpub}"
finality = {finality}
poll_interval_s = 1
signer_socket = "{folder}/signer.socket"
[{rail}.tokens.USDC]
contract = "{token}"
decimals = 6
"""


class NodeReceipt(Struct, frozen=True, rename="camel"):
    """What the demo reads of a receipt."""

    status: str
    block_number: str
    contract_address: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it was not reverted."""
        return self.status == "0x1"


def find_node(program: str) -> str:
    """The path of the node's program. Raises `DemoError` where it is not installed."""
    found = shutil.which(program)
    if found is None:
        raise DemoError(
            f"There is no program {program}. The demo with --rail evm needs anvil, a test node. Install Foundry, "
            "or its npm package @foundry-rs/anvil-linux-amd64. Put anvil in the PATH, or name it with --anvil."
        )
    return found


def remove_data(folder: Path) -> None:
    """Remove what an earlier run left in the demo's folder. Raises `EmbeddedError` if a demo runs in it."""
    with embedded.sole_supervisor(folder):
        if (folder / data_folder.DATABASE).exists():
            cluster = embedded.locate(folder)
            if cluster.responses:  # the supervisor was killed
                embedded.Server(cluster, None).stop()
        for path in folder.iterdir():
            if path.name == "lock":
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


@asynccontextmanager
async def running(folder: Path, node_program: str) -> AsyncIterator[None]:
    """Run the node and the signer, with the rails file for them. Raises `DemoError` and `EmbeddedError`."""
    remove_data(folder)
    async with AsyncExitStack() as stack:
        log = folder / "anvil.log"
        options = ("--host", "127.0.0.1", "--port", "0", "--chain-id", str(CHAIN_ID), "--threads", "1")
        command = (node_program, *options, "--block-time", str(BLOCK_TIME_S))
        node_url = await _node_url(await stack.enter_async_context(programs.running(log, *command)), log)
        try:
            async with EvmNode(node_url) as node:
                await _set_up(node, node_url, folder, stack)
        except NodeError as error:
            raise DemoError(f"anvil: {error}") from None
        yield


async def _set_up(node: EvmNode, node_url: str, folder: Path, stack: AsyncExitStack) -> None:
    """Deploy the token, start the signer with a new wallet, fund it, and write the rails file."""
    funder, customer, *_ = await node.call(list[HexAddress], "eth_accounts")
    token = await _deploy(node, funder)
    names = {"folder": folder, "rail": RAIL, "chain_id": CHAIN_ID, "token": token}
    settings, log = folder / "signer.toml", folder / "signer.log"
    settings.write_text(SIGNER.format(**names))
    tollhouse, named = (*programs.TOLLHOUSE, "signer"), ("--settings", str(settings))
    await programs.output_of(*tollhouse, "new", *named)
    signer = await stack.enter_async_context(programs.running(log, *tollhouse, "run", *named))
    xpub = (await programs.output_of(*tollhouse, "xpub", *named)).strip()
    await _fund(node, token, await _wallet(signer, log, folder / "signer.socket"), customer=customer, sender=funder)
    (folder / RAILS_FILE).write_text(RAILS.format(**names, node_url=node_url, xpub=xpub, finality=FINALITY))


async def send(node: EvmNode, sender: str, to: str | None, data: str = "0x", value_wei: int = 0) -> str:
    """Send a transaction from an account of the test node, which needs no signature; its hash. Raises `NodeError`."""
    order = {"from": sender, "data": data, "value": hex(value_wei), "gas": hex(GAS)}
    return await node.call(str, "eth_sendTransaction", order if to is None else {**order, "to": to})


async def wait_for_receipt(node: EvmNode, tx_hash: str) -> NodeReceipt:
    """The receipt of a transaction, when it is in a block. Raises `DemoError` and `NodeError`."""
    async with asyncio.timeout(STARTS_WITHIN_S):
        while True:
            receipt = await node.find(NodeReceipt, "eth_getTransactionReceipt", tx_hash)
            if receipt is not None:
                return receipt
            await programs.pause()


async def _node_url(node: Process, log: Path) -> str:
    async with asyncio.timeout(STARTS_WITHIN_S):
        while node.returncode is None:
            _, listening, address = log.read_text(errors="replace").partition("Listening on ")
            if listening and "\n" in address:
                return f"http://{address.split()[0]}"
            await programs.pause()
    raise DemoError(f"anvil did not start; see {log}")


async def _wallet(signer: Process, log: Path, socket: Path) -> str:
    """The address of the wallet that pays, from the signer when it answers."""
    async with asyncio.timeout(STARTS_WITHIN_S):
        while signer.returncode is None:
            try:
                facts = await SignerClient(socket).describe_wallet(RAIL)
            except SignerUnavailable:
                await programs.pause()
                continue
            if isinstance(facts, WalletFacts):
                return facts.address
            break
    raise DemoError(f"the signer did not start; see {log}")


async def _deploy(node: EvmNode, sender: str) -> str:
    """Deploy the test token; its address."""
    code = Path(__file__).with_name("token.hex").read_text("ascii").strip()
    receipt = await _mined(node, await send(node, sender, None, code + _constructor_arguments(*TOKEN)))
    if receipt.contract_address is None:
        raise DemoError("anvil did not deploy the token")
    return receipt.contract_address


async def _fund(node: EvmNode, token: str, wallet: str, *, customer: str, sender: str) -> None:
    """Give the customer tokens, and the wallet that pays tokens and ether."""
    await send(node, sender, token, _mint(customer, 1_000_000 * DOLLAR))
    await send(node, sender, token, _mint(wallet, FUNDS["USDC"] * DOLLAR))
    await _mined(node, await send(node, sender, wallet, value_wei=FUNDS["ETH"] * ETHER))


async def _mined(node: EvmNode, tx_hash: str) -> NodeReceipt:
    """The receipt of a transaction in a block that is added at once. Raises `DemoError`."""
    await node.find(object, "anvil_mine", hex(1))
    receipt = await wait_for_receipt(node, tx_hash)
    if not receipt.succeeded:
        raise DemoError("anvil reverted a transaction of the demo")
    return receipt


def _mint(receiver: str, units: int) -> str:
    return f"{MINT}{address_word(receiver)}{units:064x}"


def _constructor_arguments(name: str, symbol: str, decimals: int) -> str:
    """The ABI encoding of two texts of up to 32 bytes and a number."""
    heads: tuple[Any, ...] = (0x60, 0xA0, decimals)
    tails = "".join(f"{len(text):064x}{text.encode().hex():0<64}" for text in (name, symbol))
    return "".join(f"{head:064x}" for head in heads) + tails
