"""Reads blocks of an EVM network: their links, and what they transfer in coin and in the configured tokens.

Nothing is believed that another answer can contradict. Blocks are read by number and linked by their parents. Events are
asked for by the hash of their block: a node that does not know the block refuses, where it would return none for a range.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, cast

from msgspec import Struct, field

from tollhouse.rails.evm.network.node import (
    QUANTITY,
    TRANSFER_TOPIC,
    EvmNode,
    Hash,
    HexAddress,
    HexData,
    Quantity,
    balance_call,
    final_number,
    newest_of,
    number_of,
)
from tollhouse.rails.evm.network.provider import Asset
from tollhouse.rails.json_rpc import NodeCallError, NodeResponseError, RpcCall

TOPICS = 3
WORD_CHARS = 66
HEADERS_AT_ONCE = 50
BLOCKS_AT_ONCE = 10
SUCCEEDED = "0x1"


class Header(Struct, frozen=True):
    """A block, as far as it links to others. `timestamp` is in seconds."""

    number: Quantity
    hash: Hash
    parent_hash: Hash = field(name="parentHash")
    timestamp: Quantity

    @property
    def height(self) -> int:
        """The number."""
        return number_of(self.number)

    @property
    def at(self) -> datetime:
        """When the block was made, as it says itself."""
        return datetime.fromtimestamp(number_of(self.timestamp), UTC)


class BlockTransaction(Struct, frozen=True):
    """A transaction in a block. Without a receiver it creates a contract."""

    hash: Hash
    value: Quantity
    sender: HexAddress = field(name="from")
    to: HexAddress | None = None


class FullBlock(Header, frozen=True):
    """A block with its transactions."""

    transactions: tuple[BlockTransaction, ...] = ()


class TransferLog(Struct, frozen=True, rename="camel"):
    """An event of a contract."""

    address: HexAddress
    topics: tuple[Hash, ...]
    data: HexData
    block_hash: Hash
    transaction_hash: Hash
    removed: bool = False


class ChainReceipt(Struct, frozen=True, rename="camel"):
    """Whether a transaction succeeded, and in which block."""

    block_hash: Hash
    status: Quantity | None = None


class BlockTransfer(Struct, frozen=True):
    """What one transaction sends to one address in one currency: the sum. The sender is None where there are several."""

    tx_hash: str
    address: str
    asset: Asset
    sender: str | None
    units: int


COIN_BALANCE: type[Header | str] = cast("Any", Header | Quantity)
TOKEN_BALANCE: type[Header | str] = cast("Any", Header | HexData)
"""A balance, and the block that it is asked for with."""


class Tip(Struct, frozen=True):
    """The newest block, and the newest that the chain calls final; None if it does not say."""

    head: Header
    finalized: Header | None


class BlockReader:
    """Reads a network through a node."""

    def __init__(self, node: EvmNode, assets: Mapping[str, Asset]) -> None:
        self._node = node
        self._tokens = {asset.contract: asset for asset in assets.values() if asset.contract is not None}
        self._coin = next(asset for asset in assets.values() if asset.contract is None)

    async def chain_id(self) -> int:
        """The network that the node is part of."""
        return await self._node.quantity("eth_chainId")

    async def tip(self) -> Tip:
        """The newest blocks, as this answer has them: a later one may have older blocks."""
        head = await self._node.call(Header, "eth_getBlockByNumber", "latest", False)
        try:
            finalized = await self._node.find(Header, "eth_getBlockByNumber", "finalized", False)
        except NodeCallError:
            finalized = None
        return Tip(head, finalized)

    async def headers(self, first: int, last: int) -> list[Header]:
        """The blocks of these numbers, as far as the node has them. Not linked yet."""
        found: list[Header] = []
        for start in range(first, last + 1, HEADERS_AT_ONCE):
            numbers = range(start, min(start + HEADERS_AT_ONCE, last + 1))
            calls = [RpcCall("eth_getBlockByNumber", (hex(number), False)) for number in numbers]
            for number, header in zip(numbers, await self._node.batch(Header, calls), strict=True):
                if header is None:
                    return found
                if header.height != number:
                    raise NodeResponseError(f"block {number} has another number")
                found.append(header)
        return found

    async def final_headers(self, first: int, last: int, finality: Literal["finalized"] | int) -> list[Header]:
        """The blocks of these numbers where they are final for the node that has them; else none. Not linked yet.

        One batch, so one node: another one, which is on a branch that was left, can have other blocks of these numbers.
        """
        numbers = range(first, min(last, first + HEADERS_AT_ONCE - 1) + 1)
        calls = [RpcCall("eth_getBlockByNumber", (number, False)) for number in (*map(hex, numbers), newest_of(finality))]
        *found, top = await self._node.batch(Header, calls)
        final = -1 if top is None else final_number(top.height, finality)
        headers = [header for header in found if header is not None]
        if [header.height for header in headers] != [*numbers] or final < numbers[-1]:
            return []
        return headers

    async def transfers(self, headers: Sequence[Header]) -> list[list[BlockTransfer]]:
        """What each of these blocks transfers, in their order. Transfers of coin may have failed: see `succeeded`."""
        found: list[list[BlockTransfer]] = []
        for start in range(0, len(headers), BLOCKS_AT_ONCE):
            some = headers[start : start + BLOCKS_AT_ONCE]
            blocks = await self._node.batch(FullBlock, [RpcCall("eth_getBlockByHash", (block.hash, True)) for block in some])
            logs = await self._logs(some)
            for header, block, events in zip(some, blocks, logs, strict=True):
                if block is None or block.hash != header.hash:
                    raise NodeResponseError(f"block {header.height} is not known")
                found.append([*self._of_coin(block), *self._of_tokens(header, events)])
        return found

    async def succeeded(self, header: Header, tx_hashes: Sequence[str]) -> set[str]:
        """Those of these transactions of a block that were not reverted."""
        calls = [RpcCall("eth_getTransactionReceipt", (tx_hash,)) for tx_hash in tx_hashes]
        receipts = await self._node.batch(ChainReceipt, calls)
        if not all(receipt is not None and receipt.block_hash == header.hash for receipt in receipts):
            raise NodeResponseError(f"receipts of block {header.height} are missing")
        return {
            tx_hash
            for tx_hash, receipt in zip(tx_hashes, receipts, strict=True)
            if receipt is not None and receipt.status == SUCCEEDED
        }

    async def balance(self, address: str, asset: Asset, block_hash: str | None) -> int:
        """The units of an address after a block, or now. Raises `NodeCallError` if the node no longer has that state.

        A node that does not know the block is behind, and has not forgotten it. The same node says so in one batch.
        """
        at = "latest" if block_hash is None else {"blockHash": block_hash}
        call, kind = RpcCall("eth_getBalance", (address, at)), COIN_BALANCE
        if asset.contract is not None:
            call, kind = RpcCall("eth_call", (balance_call(asset.contract, address), at)), TOKEN_BALANCE
        calls = [call] if block_hash is None else [RpcCall("eth_getBlockByHash", (block_hash, False)), call]
        *block, found = await self._node.outcomes(kind, calls)
        if block and not isinstance(block[0], Header):
            raise NodeResponseError(f"block {block_hash} is not known")
        if isinstance(found, NodeCallError):
            raise found
        if not isinstance(found, str):
            raise NodeResponseError("the balance is missing")
        if asset.contract is not None and len(found) != WORD_CHARS:
            raise NodeCallError(0, "the contract has no balances")
        return number_of(found)

    async def coin_balances(self, addresses: Sequence[str], block_hash: str) -> list[int]:
        """The units of coin of addresses after a block. Raises `NodeCallError` if the node no longer has that state."""
        calls = [RpcCall("eth_getBalance", (address, {"blockHash": block_hash})) for address in addresses]
        found = [quantity for quantity in await self._node.batch(QUANTITY, calls) if quantity is not None]
        if len(found) != len(calls):
            raise NodeResponseError("balances are missing")
        return [number_of(quantity) for quantity in found]

    async def _logs(self, headers: Sequence[Header]) -> list[list[TransferLog]]:
        if not self._tokens:
            return [[] for _ in headers]
        wanted = {"address": list(self._tokens), "topics": [TRANSFER_TOPIC]}
        calls = [RpcCall("eth_getLogs", ({**wanted, "blockHash": header.hash},)) for header in headers]
        logs = await self._node.batch(list[TransferLog], calls)
        if not all(some is not None for some in logs):
            raise NodeResponseError("events are missing")
        return [some or [] for some in logs]

    def _of_coin(self, block: FullBlock) -> list[BlockTransfer]:
        return [
            BlockTransfer(
                transaction.hash,
                transaction.to.lower(),
                self._coin,
                transaction.sender.lower(),
                number_of(transaction.value),
            )
            for transaction in block.transactions
            if transaction.to is not None
            and transaction.to.lower() != transaction.sender.lower()
            and number_of(transaction.value) > 0
        ]

    def _of_tokens(self, header: Header, events: Sequence[TransferLog]) -> list[BlockTransfer]:
        sums: dict[tuple[str, str, str], BlockTransfer] = {}
        for event in events:
            asset = self._tokens.get(event.address.lower())
            if asset is None or event.removed or event.block_hash != header.hash:
                raise NodeResponseError(f"events of block {header.height} are not those that were asked for")
            if len(event.topics) != TOPICS or event.topics[0] != TRANSFER_TOPIC or len(event.data) != WORD_CHARS:
                continue
            sender, receiver, units = _address(event.topics[1]), _address(event.topics[2]), int(event.data, 16)
            if sender == receiver or units == 0:
                continue
            key = (event.transaction_hash, receiver, asset.currency)
            before = sums.get(key)
            if before is not None:
                units, sender = units + before.units, sender if sender == before.sender else None
            sums[key] = BlockTransfer(event.transaction_hash, receiver, asset, sender, units)
        return list(sums.values())


def is_linked(headers: Sequence[Header], parent_hash: str | None = None) -> bool:
    """Whether each block is the parent of the next, and `parent_hash` the parent of the first."""
    parents = [parent_hash, *(header.hash for header in headers)]
    return all(parent in {None, header.parent_hash} for parent, header in zip(parents, headers, strict=False))


def _address(topic: str) -> str:
    return f"0x{topic[-40:].lower()}"
