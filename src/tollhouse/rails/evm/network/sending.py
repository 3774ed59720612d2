"""Sending on an EVM network: what a transfer needs in gas, handing signed bytes to the node, and what became of them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct

from tollhouse.rails.evm.network.node import (
    HEX_DATA,
    TRANSFER_TOPIC,
    EvmNode,
    Quantity,
    address_word,
    balance_call,
    final_number,
    newest_of,
    number_of,
    transfer_data,
)
from tollhouse.rails.json_rpc import NodeCallError, NodeResponseError, RpcCall

WEI_PER_GWEI = 10**9
USUAL_TIP = WEI_PER_GWEI
GAS_RESERVE_PERCENT = 25
"""How much more gas than estimated a transfer may use. What it does not use costs nothing."""
KNOWN = ("already known", "known transaction", "already imported", "already in mempool")
SPENT = ("nonce too low", "nonce is too low", "oldnonce", "invalid transaction nonce")
UNDERPRICED = ("underpriced",)
POOR = ("insufficient funds",)
REVERTED = ("revert",)

_NUMBER: type[str] = cast("Any", Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{0,64}$")])
"""A number as a call or a contract returns it; `0x` where there is no contract."""

Sent = Literal["sent", "nonce_used", "underpriced", "insufficient_funds", "refused"]
"""`nonce_used` and `underpriced`: another transaction has the nonce, perhaps one of the same payout."""


class FeeHeader(Struct, frozen=True, rename="camel"):
    """What of a block tells the price of gas."""

    number: Quantity
    hash: str
    base_fee_per_gas: Quantity = "0x0"


class LogEntry(Struct, frozen=True):
    """An event of a contract."""

    address: str
    topics: tuple[str, ...]
    data: str


class SentReceipt(Struct, frozen=True, rename="camel"):
    """What became of a transaction that is in a block. `l1_fee`: what rollups charge besides gas."""

    transaction_hash: str
    block_number: Quantity
    block_hash: str
    status: Quantity
    gas_used: Quantity
    effective_gas_price: Quantity
    logs: tuple[LogEntry, ...] = ()
    l1_fee: Quantity = "0x0"

    @property
    def was_reverted(self) -> bool:
        """Whether it has moved nothing, for certain."""
        return number_of(self.status) == 0

    @property
    def fee_wei(self) -> int:
        """What it cost."""
        return number_of(self.gas_used) * number_of(self.effective_gas_price) + number_of(self.l1_fee)


class ChainTransfer(Struct, frozen=True):
    """What leaves: an amount in the smallest unit, of a token or, without a contract, of the network's currency."""

    sender: str
    receiver: str
    contract: str | None
    amount_units: int

    @property
    def call(self) -> dict[str, str]:
        """The transaction object that a node estimates or calls."""
        if self.contract is None:
            return {"from": self.sender, "to": self.receiver, "value": hex(self.amount_units)}
        return {"from": self.sender, "to": self.contract, "data": transfer_data(self.receiver, self.amount_units)}

    def arrived(self, receipt: SentReceipt) -> bool:
        """Whether a transaction that was not reverted has moved it: some tokens return false instead of reverting."""
        expected = (TRANSFER_TOPIC, f"0x{address_word(self.sender)}", f"0x{address_word(self.receiver)}")
        return self.contract is None or any(
            (log.address.lower(), tuple(map(str.lower, log.topics))) == (self.contract.lower(), expected)
            for log in receipt.logs
        )


class GasPrice(Struct, frozen=True):
    """In wei for a unit of gas: the most in all, and the validator's part."""

    fee_per_gas: int
    tip_per_gas: int

    @property
    def usual_per_gas(self) -> int:
        """What the newest block costs: its base fee, which `fee_per_gas` has twice, and the tip."""
        return -(-(self.fee_per_gas + self.tip_per_gas) // 2)


class PayingWallet(Struct, frozen=True):
    """What a node knows of a wallet now: units of the coin and of one token, and the next nonce with what waits."""

    chain_id: int
    next_nonce: int
    coins: int
    tokens: int = 0


class WouldRevert(Exception):
    """The node says that the transfer fails, for example since the token's issuer blocks the receiver."""


async def read_price(node: EvmNode) -> GasPrice:
    """Enough for the next blocks, even if the base fee doubles. Raises `NodeError`."""
    header = await node.call(FeeHeader, "eth_getBlockByNumber", "latest", False)
    try:
        tip = await node.quantity("eth_maxPriorityFeePerGas")
    except NodeCallError:
        tip = USUAL_TIP
    return GasPrice(max(2 * number_of(header.base_fee_per_gas) + tip, 1), tip)


async def read_wallet(node: EvmNode, address: str, contract: str | None) -> PayingWallet:
    """What a wallet has of the coin and of a token, in one request. Raises `NodeError`."""
    calls = [
        RpcCall("eth_chainId"),
        RpcCall("eth_getTransactionCount", (address, "pending")),
        RpcCall("eth_getBalance", (address, "latest")),
    ]
    if contract is not None:
        calls.append(RpcCall("eth_call", (balance_call(contract, address), "latest")))
    found = await node.batch(_NUMBER, calls)
    if None in found:
        raise NodeResponseError("the node returned nothing for the wallet")
    return PayingWallet(*(number_of(f"0x0{number[2:]}") for number in found if number is not None))


async def estimate_gas(node: EvmNode, transfer: ChainTransfer) -> int:
    """The gas to allow. Raises `WouldRevert` and `NodeError`."""
    try:
        gas = await node.quantity("eth_estimateGas", transfer.call)
    except NodeCallError as error:
        if _says(error, REVERTED):
            raise WouldRevert(error.message) from None
        raise
    return gas if gas == 21_000 else gas * (100 + GAS_RESERVE_PERCENT) // 100  # noqa: PLR2004 - a transfer to no contract


async def read_balance(node: EvmNode, address: str, contract: str | None) -> int:
    """What an address has in the newest block, in the smallest unit. Raises `NodeError`."""
    if contract is None:
        return await node.quantity("eth_getBalance", address, "latest")
    found = await node.call(HEX_DATA, "eth_call", balance_call(contract, address), "latest")
    return int(found, 16) if len(found) > len("0x") else 0


async def count_sent(node: EvmNode, address: str, block: str) -> int:
    """The next nonce of an address: in a block, or with the ones that wait as `pending`. Raises `NodeError`."""
    return await node.quantity("eth_getTransactionCount", address, block)


async def send(node: EvmNode, raw: str) -> Sent:
    """Give signed bytes to the node. Raises `NodeError` where it is unknown whether the node has them."""
    try:
        await node.call(str, "eth_sendRawTransaction", raw)
    except NodeCallError as error:
        if _says(error, KNOWN):
            return "sent"
        if _says(error, SPENT):
            return "nonce_used"
        if _says(error, UNDERPRICED):
            return "underpriced"
        return "insufficient_funds" if _says(error, POOR) else "refused"
    return "sent"


async def find_receipts(node: EvmNode, tx_hashes: Sequence[str]) -> list[SentReceipt]:
    """The receipts of those that are in a block. Raises `NodeError`."""
    calls = [RpcCall("eth_getTransactionReceipt", (tx_hash,)) for tx_hash in tx_hashes]
    receipts = [receipt for receipt in await node.batch(SentReceipt, calls) if receipt is not None]
    if not {receipt.transaction_hash for receipt in receipts} <= {*tx_hashes}:
        raise NodeResponseError("the receipts are those of other transactions")
    return receipts


async def final_block(node: EvmNode, finality: Literal["finalized"] | int) -> int:
    """The number of the newest block that is final: as the chain says, or by confirmations. Raises `NodeError`."""
    newest = await node.call(FeeHeader, "eth_getBlockByNumber", newest_of(finality), False)
    return final_number(number_of(newest.number), finality)


async def final_above(node: EvmNode, receipt: SentReceipt, finality: Literal["finalized"] | int) -> int | None:
    """The newest final block of a node that has the receipt's block at its number; None if it has another one there.

    Both from one node: another one can be on a branch that was left. Raises `NodeError`.
    """
    calls = [RpcCall("eth_getBlockByNumber", (number, False)) for number in (receipt.block_number, newest_of(finality))]
    header, top = await node.batch(FeeHeader, calls)
    if header is None or header.hash != receipt.block_hash:
        return None
    if top is None:
        raise NodeResponseError("the newest block is missing")
    return final_number(number_of(top.number), finality)


def _says(error: NodeCallError, words: Sequence[str]) -> bool:
    return any(word in error.message.lower() for word in words)
