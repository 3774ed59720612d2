"""The node of a rail of Bitcoin with its wallet, for jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tollhouse.rails.bitcoin.network.node import BitcoinNode, ChainState
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.json_rpc import NodeResponseError
from tollhouse.rails.settings import current_secret


def url_of(network: BitcoinNetwork) -> str | None:
    """The address of the node, with user and password; None if none is set."""
    return current_secret(network.settings.node_url, network.settings.node_url_file)


@asynccontextmanager
async def opened(network: BitcoinNetwork) -> AsyncIterator[tuple[BitcoinNode, ChainState]]:
    """The node with its wallet, if it follows the right chain. Raises `NodeError`."""
    url = url_of(network)
    if url is None:
        raise AssertionError("only called for a rail with a node")
    async with BitcoinNode(url, network.settings.wallet) as node:
        state = await node.state()
        if state.chain != network.settings.network or state.initialblockdownload:
            raise NodeResponseError("the node is part of another network, or has not downloaded the chain")
        await node.open_wallet()
        yield node, state
