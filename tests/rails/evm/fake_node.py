"""Nodes of the network in memory, behind one name: they answer JSON-RPC calls, below the client `EvmNode`.

They answer as the execution API of Ethereum documents its calls. On demand they fail as nodes do.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import msgspec
import pytest
from msgspec import Struct

from tests.rails.evm.fake_chain import GWEI, TOKEN_GAS, TRANSFER_GAS, Block, FakeChain, MinedTx
from tollhouse.rails.evm.network.node import TRANSFER_TOPIC, address_word
from tollhouse.rails.json_rpc import JsonRpcNode, NodeUnreachableError

CHAIN_ID: Final = 31337


class RefusedCallError(Exception):
    """The error that a node answers to a call."""


class Trouble(Struct):
    """How likely each failure is for a request, from 0 to 1."""

    refused: float = 0
    """Nobody listens. The next few requests are refused, too."""
    lost: float = 0
    """The request had its effect, and the answer is lost."""
    repeated: float = 0
    """The answer has a part twice, or is that to an earlier request."""
    stale: float = 0
    """Another node answers, which is behind, or on a branch that was left."""
    killed: float = 0
    """The process of the caller dies."""


class Killed(BaseException):
    """The process died here."""


class FakeNode:
    """What answers at a URL."""

    def __init__(self, chain: FakeChain, url: str, finality: int | None = None) -> None:
        self.chain, self.url = chain, url
        self.random: Random = chain.random
        self.trouble = Trouble()
        self.counts: dict[str, int] = {}
        self.has_finalized = finality is None
        self.is_behind: Callable[[Any], bool] = lambda _: False
        """Which requests the node that is behind answers, besides those by chance."""
        self._stale = chain.head, chain.finalized
        self._refusing = 0
        self._last = b"{}"
        self._head, self._finalized = self._stale

    def lag(self) -> None:
        """Let the node that is behind come to the newest block of now."""
        self._stale = self.chain.head, self.chain.finalized

    async def post(self, body: bytes) -> bytes:
        """The answer to a request, or one of its failures."""
        trouble, dice = self.trouble, self.random.random
        if dice() < trouble.killed:
            self._count("killed")
            raise Killed
        if self._refusing > 0 or dice() < trouble.refused:
            self._refusing = self._refusing - 1 if self._refusing else self.random.randrange(4)
            self._count("refused")
            raise NodeUnreachableError("no response: ClientConnectorError")
        self._head, self._finalized = self.chain.head, self.chain.finalized
        asked: Any = msgspec.json.decode(body)
        if dice() < trouble.stale or self.is_behind(asked):
            self._count("stale")
            self._head, self._finalized = self._stale
        answers: Any = self._answer(asked) if "id" in asked else [self._answer(call) for call in asked]
        if dice() < trouble.lost:
            self._count("lost")
            raise NodeUnreachableError("no response: ServerDisconnectedError")
        if dice() < trouble.killed:
            self._count("killed")
            raise Killed
        if dice() < trouble.repeated:
            self._count("repeated")
            if isinstance(answers, list) and self.random.random() < 0.5:
                return msgspec.json.encode([*answers, answers[-1]])
            return self._last
        self._last = msgspec.json.encode(answers)
        return self._last

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _answer(self, call: Any) -> dict[str, Any]:
        function = getattr(self, f"_{call['method']}", None)
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        if function is None:
            return answer | {"error": {"code": -32601, "message": "the method does not exist"}}
        try:
            return answer | {"result": function(*call["params"])}
        except RefusedCallError as error:
            return answer | {"error": {"code": -32000, "message": str(error)}}

    # Calls, by the names of their methods

    def _eth_chainId(self) -> str:  # noqa: N802 - the method's own name
        return hex(CHAIN_ID)

    def _eth_blockNumber(self) -> str:  # noqa: N802
        return hex(self._head.number)

    def _eth_getBlockByNumber(self, number: str, full: bool) -> Any:  # noqa: N802
        if number == "finalized" and not self.has_finalized:
            raise RefusedCallError("finalized block not found")
        return _shown(self._by_number(number), full=full)

    def _eth_getBlockByHash(self, name: str, full: bool) -> Any:  # noqa: N802
        return _shown(self._by_hash(name), full=full)

    def _eth_getLogs(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        block = self._by_hash(wanted["blockHash"])
        if block is None:
            raise RefusedCallError("unknown block")
        contracts = {contract.lower() for contract in wanted["address"]}
        return [log for tx in block.txs for log in _logs(block, tx) if log["address"] in contracts]

    def _eth_getTransactionReceipt(self, tx_hash: str) -> Any:  # noqa: N802
        found = self.chain.find(self._head, tx_hash)
        if found is None:
            return None
        block, one = found
        return {
            "transactionHash": tx_hash,
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
            "status": "0x0" if one.was_reverted else "0x1",
            "gasUsed": hex(one.gas_used),
            "effectiveGasPrice": hex(one.fee_wei // one.gas_used),
            "logs": _logs(block, one),
        }

    def _eth_getBalance(self, address: str, at: Any) -> str:  # noqa: N802
        return hex(self._balance(None, address, at))

    def _eth_call(self, call: dict[str, str], at: Any) -> str:
        return f"0x{self._balance(call['to'].lower(), '0x' + call['data'][-40:], at):064x}"

    def _eth_getTransactionCount(self, address: str, at: str) -> str:  # noqa: N802
        pending = at == "pending"
        block = self._head if pending else self._by_number(at)
        if block is None:
            raise RefusedCallError("header not found")
        return hex(self.chain.next_nonce(block, address.lower(), pending=pending))

    def _eth_estimateGas(self, call: dict[str, str]) -> str:  # noqa: N802
        return hex(TOKEN_GAS if "data" in call else TRANSFER_GAS)

    def _eth_maxPriorityFeePerGas(self) -> str:  # noqa: N802
        return hex(GWEI)

    def _eth_sendRawTransaction(self, raw: str) -> str:  # noqa: N802
        try:
            return self.chain.send(raw)
        except ValueError as error:
            raise RefusedCallError(str(error)) from None

    # What a node knows: the blocks below its newest one, and others by their hash

    def _by_number(self, number: str) -> Block | None:
        if number == "finalized":
            return self.chain.at(self._head, min(self._finalized, self._head.number))
        return self._head if number in {"latest", "pending"} else self.chain.at(self._head, int(number, 16))

    def _by_hash(self, name: str) -> Block | None:
        block = self.chain.blocks.get(name)
        return None if block is None or block.number > self._head.number else block

    def _balance(self, contract: str | None, address: str, at: Any) -> int:
        block = self._by_number(at) if isinstance(at, str) else self._by_hash(at["blockHash"])
        if block is None or not (isinstance(at, str) or self.chain.has_state(block)):
            raise RefusedCallError("missing trie node" if block else "header not found")
        return block.balances.get((contract, address.lower()), 0)


@contextmanager
def answering(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNode]:
    """Let clients of the node's URL get its answers. Other URLs are those of real nodes."""
    usual: Any = vars(JsonRpcNode)["_post"]  # below it are only the network and its timeouts

    async def post(client: JsonRpcNode, body: bytes) -> bytes:
        return await (node.post(body) if vars(client)["_url"] == node.url else usual(client, body))

    with monkeypatch.context() as patch:
        patch.setattr(JsonRpcNode, "_post", post)
        yield node


def _shown(block: Block | None, *, full: bool) -> Any:
    if block is None:
        return None
    shown: dict[str, Any] = {
        "number": hex(block.number),
        "hash": block.hash,
        "parentHash": block.parent_hash,
        "timestamp": hex(block.timestamp),
        "baseFeePerGas": hex(block.base_fee),
    }
    if full:
        shown["transactions"] = [
            {"hash": tx.tx.hash, "value": hex(tx.tx.value), "from": tx.tx.sender, "to": tx.tx.to} for tx in block.txs
        ]
    return shown


def _logs(block: Block, one: MinedTx) -> list[dict[str, Any]]:
    """The events of a transaction. Tokens that keep a fee say what was meant."""
    if one.was_reverted:
        return []
    return [
        {
            "address": move.contract,
            "topics": [TRANSFER_TOPIC, f"0x{address_word(one.tx.sender)}", f"0x{address_word(move.receiver)}"],
            "data": f"0x{move.units:064x}",
            "blockHash": block.hash,
            "transactionHash": one.tx.hash,
            "removed": False,
        }
        for move in one.tx.moves
        if move.contract is not None
    ]
