"""Balances of many addresses after one block."""

from collections.abc import Sequence

from tollhouse.rails.evm.network.erc20 import balance_call
from tollhouse.rails.evm.network.node import HEX_DATA, QUANTITY, EvmNode, number_of
from tollhouse.rails.json_rpc import NodeResponseError, RpcCall


async def read_balances(node: EvmNode, addresses: Sequence[str], contract: str | None, block_hash: str) -> list[int]:
    """The units of each address, of the coin or of a token, after a block. Raises `NodeError`.

    A node that no longer has the state of the block refuses, as does one that does not know the block.
    """
    at = {"blockHash": block_hash}
    if contract is None:
        found = await node.batch(QUANTITY, [RpcCall("eth_getBalance", (address, at)) for address in addresses])
    else:
        found = await node.batch(
            HEX_DATA, [RpcCall("eth_call", (balance_call(contract, address), at)) for address in addresses]
        )
    if not all(one is not None and one != "0x" for one in found):
        raise NodeResponseError("balances are missing")
    return [number_of(one) for one in found if one is not None]
